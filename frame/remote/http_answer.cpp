#include "frame/remote/http_answer.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace bloscfs::frame::inline remote {
namespace {

/// Well-behaved servers send no longer ETags and dates.
constexpr std::size_t kMaxEtag = 1024, kMaxDate = 64;
/// File offsets are signed.
constexpr std::uint64_t kMaxTotal = std::numeric_limits<std::int64_t>::max();

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

char lower_letter(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_word(std::string_view text, std::string_view lower_case) {
  const auto same = [](char wanted, char c) { return wanted == lower_letter(c); };
  return std::equal(lower_case.begin(), lower_case.end(), text.begin(), text.end(), same);
}

/// Removes a number from the front of `text` and returns it.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value > kMaxTotal) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

bool take(std::string_view& text, char wanted) {
  if (!text.starts_with(wanted)) return false;
  text.remove_prefix(1);
  return true;
}

bool is_size(std::string_view text) { return take_number(text) && text.empty(); }

/// True for the fields that are kept unchanged.
bool is_field(std::string_view lower_case) {
  return lower_case == "content-type" || lower_case == "content-length" ||
         lower_case.starts_with("x-amz-");
}

int parse_status(std::string_view line) {
  const std::size_t space = line.find(' ');
  if (space == std::string_view::npos) return 0;
  std::string_view rest = line.substr(space + 1);
  const auto status = take_number(rest);
  return status && *status <= 999 ? static_cast<int>(*status) : 0;
}

}  // namespace

std::optional<ContentRange> parse_content_range(std::string_view value) {
  value = trimmed(value);
  const std::size_t space = value.find(' ');
  if (space == std::string_view::npos || !same_word(value.substr(0, space), "bytes"))
    return std::nullopt;
  value = trimmed(value.substr(space));
  ContentRange range;
  if (take(value, '*')) {
    range.has_bytes = false;
  } else {
    const auto first = take_number(value);
    if (!first || !take(value, '-')) return std::nullopt;
    const auto last = take_number(value);
    if (!last || *last < *first) return std::nullopt;
    range.first = *first;
    range.last = *last;
  }
  if (!take(value, '/')) return std::nullopt;
  const auto total = take_number(value);
  if (!total || !value.empty() || (range.has_bytes && range.last >= *total)) return std::nullopt;
  range.total = *total;
  return range;
}

std::string parse_etag(std::string_view value) {
  value = trimmed(value);
  if (value.size() > kMaxEtag) return {};
  std::string_view quoted = value;
  if (quoted.starts_with("W/")) quoted.remove_prefix(2);
  if (quoted.size() < 2 || !quoted.starts_with('"') || !quoted.ends_with('"')) return {};
  const auto may_stand = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte > ' ' && byte != '"' && byte != 0x7F;
  };
  const std::string_view inner = quoted.substr(1, quoted.size() - 2);
  return std::all_of(inner.begin(), inner.end(), may_stand) ? std::string(value) : std::string();
}

std::string parse_date(std::string_view value) {
  value = trimmed(value);
  const auto may_stand = [](char c) { return c >= ' ' && c < 0x7F; };
  if (value.size() > kMaxDate || !std::all_of(value.begin(), value.end(), may_stand)) return {};
  return std::string(value);
}

void AnswerHeaders::add_line(std::string_view line) {
  if (line.starts_with("HTTP/")) {
    *this = {};
    status = parse_status(line);
    return;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view name = line.substr(0, colon), value = trimmed(line.substr(colon + 1));
  if (same_word(name, "etag"))
    etag = parse_etag(value);
  else if (same_word(name, "last-modified"))
    last_modified = parse_date(value);
  else if (same_word(name, "date"))
    date = parse_date(value);
  else if (same_word(name, "location"))
    location = value;
  else if (same_word(name, "content-range"))
    range = parse_content_range(value);
  else if (same_word(name, "content-encoding"))
    encoded = !value.empty() && !same_word(value, "identity");
  else if (same_word(name, "content-length"))
    has_bad_length = !is_size(value);
  else if (same_word(name, "transfer-encoding"))
    chunked = same_word(value, "chunked");
  std::string key(name);
  std::transform(key.begin(), key.end(), key.begin(), lower_letter);
  if (is_field(key)) fields.try_emplace(std::move(key), value);
}

std::map<std::string, std::string> AnswerHeaders::metadata() const {
  constexpr std::string_view kPrefix = "x-amz-meta-";
  std::map<std::string, std::string> result;
  for (const auto& [name, value] : fields)
    if (name.starts_with(kPrefix)) result.emplace(name.substr(kPrefix.size()), value);
  return result;
}

std::string AnswerHeaders::field(const std::string& name) const {
  const auto found = fields.find(name);
  return found == fields.end() ? std::string() : found->second;
}

}  // namespace bloscfs::frame::inline remote
