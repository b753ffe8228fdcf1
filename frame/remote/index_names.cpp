#include "frame/remote/index_names.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/core.h>

#include "frame/remote/percent.hpp"
#include "frame/remote/remote_error.hpp"

namespace bloscfs::frame::inline remote {
namespace {

/// Each name costs some hundred bytes.
constexpr std::size_t kMaxIndexNames = 1'000'000;
constexpr std::size_t kMaxNameSize = 1024;

std::string_view without_spaces(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n\f";
  const std::size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
}

/// True for a target such as "mailto:me": it has a ':' before any '/', and characters before that.
bool has_scheme(std::string_view target) {
  const std::size_t end = target.find_first_of(":/");
  return end != std::string_view::npos && end > 0 && target[end] == ':';
}

/// Returns the size of `path` up to the '/' before its last component, which may itself end in '/'.
std::size_t head_size(std::string_view path) {
  if (path.size() < 2) return path.size();
  const std::size_t slash = path.rfind('/', path.size() - 2);
  return slash == std::string_view::npos ? 0 : slash + 1;
}

}  // namespace

bool is_entry_name(std::string_view name) {
  constexpr std::string_view kNever("/\0", 2);
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(kNever) == std::string_view::npos;
}

IndexNames::IndexNames(const Url& page, MemoryCharge& charge)
    : page_(page),
      charge_(charge),
      directory_(percent_decoded(page.path.substr(0, page.path.rfind('/') + 1))) {}

void IndexNames::add(std::string_view name, bool is_directory) {
  if (!is_entry_name(name) || name.size() > kMaxNameSize) return;
  if (count_ == kMaxIndexNames)
    throw RemoteError(EFBIG, fmt::format("an index page of more than {} links", kMaxIndexNames));
  make_room(name.size() + 2);
  text_ += name;
  if (is_directory) text_ += '/';
  text_ += '\0';
  count_++;
}

void IndexNames::make_room(std::size_t bytes) {
  if (bytes <= text_.capacity() - text_.size()) return;
  const std::size_t capacity = std::max(text_.size() + bytes, 2 * text_.capacity());
  auto larger = std::make_unique<MemoryCharge::Part>(charge_, capacity);
  text_.reserve(capacity);
  of_text_ = std::move(larger);
}

void IndexNames::add_link(std::string_view target) {
  target = without_spaces(target);
  if (target.find_first_of("?#") != std::string_view::npos) return;
  std::optional<std::string> rest = below_page(target);
  if (!rest) return;
  const bool is_directory = rest->ends_with('/');
  if (is_directory) rest->pop_back();
  // An encoded '/' does not separate components.
  if (rest->find('/') == std::string::npos) add(percent_decoded(*rest), is_directory);
}

/// Returns `target` relative to the page's directory, still encoded. Returns nothing if it is not
/// below that directory.
std::optional<std::string> IndexNames::below_page(std::string_view target) const {
  std::string path;
  if (has_scheme(target) || target.starts_with("//")) {
    const std::string scheme = page_.secure ? "https:" : "http:";
    try {
      const Url url = parse_url((target.starts_with('/') ? scheme : "") + std::string(target));
      if (url.secure != page_.secure || url.host != page_.host || url.port != page_.port)
        return std::nullopt;
      path = url.path;
    } catch (const UrlError&) {
      return std::nullopt;
    }
  } else if (target.starts_with('/')) {
    path = target;
  } else {
    while (target.starts_with("./")) target.remove_prefix(2);
    return std::string(target);
  }
  const std::size_t head = head_size(path);
  if (percent_decoded(path.substr(0, head)) != directory_) return std::nullopt;
  return path.substr(head);
}

std::vector<ObjectEntry> IndexNames::entries() const {
  struct Name {
    std::string_view text;
    bool is_directory;
  };
  const MemoryCharge::Part of_names(charge_, count_ * sizeof(Name));
  std::vector<Name> names;
  names.reserve(count_);
  for (std::string_view rest = text_; !rest.empty();) {
    std::string_view name = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(name.size() + 1);
    const bool is_directory = name.ends_with('/');
    if (is_directory) name.remove_suffix(1);
    names.push_back({name, is_directory});
  }
  std::sort(names.begin(), names.end(), [](const Name& a, const Name& b) {
    return a.text != b.text ? a.text < b.text : a.is_directory > b.is_directory;
  });
  const auto same = [](const Name& a, const Name& b) { return a.text == b.text; };
  names.erase(std::unique(names.begin(), names.end(), same), names.end());
  std::size_t memory = names.size() * sizeof(ObjectEntry);
  for (const Name& name : names) memory += heap_size(name.text.size());
  charge_.take(memory);
  std::vector<ObjectEntry> entries;
  entries.reserve(names.size());
  for (const Name& name : names)
    entries.push_back({.name = std::string(name.text), .is_directory = name.is_directory});
  return entries;
}

}  // namespace bloscfs::frame::inline remote
