#include "frame/remote/s3_listing.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <pugixml.hpp>

#include "frame/remote/http_answer.hpp"
#include "frame/remote/index_names.hpp"
#include "frame/remote/percent.hpp"
#include "frame/remote/remote_error.hpp"
#include "frame/store/sframe_names.hpp"

namespace bloscfs::frame::inline remote {
namespace {

constexpr std::size_t kMaxWord = 64, kMaxMessage = 200;
constexpr std::size_t kMaxListedKey = 1024;
/// Most keys of one page. Servers that ignore `max-keys` send 1,000, or some thousands.
constexpr std::size_t kMaxPageKeys = 10'000;
/// A token consists of a key and what the object store adds to it.
constexpr std::size_t kMaxPageToken = 8192;
/// Limit for a parsed answer: six times its size. A hostile one, with elements of four bytes, would
/// take twenty times its size.
constexpr std::size_t kTimesParsed = 6, kParsedAtLeast = std::size_t{128} << 10;

/// Bytes that the parser may still allocate in this thread. pugixml has one allocator for the whole
/// process, which gets only a size.
thread_local std::size_t parser_memory = 0;

/// Precedes each allocation and holds its size.
union PieceHead {
  std::size_t size;
  std::max_align_t aligned;
};

void* allocate_for_parser(std::size_t size) {
  if (size > parser_memory) return nullptr;
  auto* const head = static_cast<PieceHead*>(std::malloc(sizeof(PieceHead) + size));
  if (head == nullptr) return nullptr;
  head->size = size;
  parser_memory -= size;
  return head + 1;
}

void free_of_parser(void* piece) {
  if (piece == nullptr) return;
  PieceHead* const head = static_cast<PieceHead*>(piece) - 1;
  parser_memory += head->size;
  std::free(head);
}

std::size_t memory_to_parse(Bytes xml) { return kTimesParsed * xml.size() + kParsedAtLeast; }

[[noreturn]] void throw_no_listing(const char* what) {
  throw RemoteError(EIO, std::string("the S3 listing ") + what);
}

/// Returns false if the text is not XML, or the document would take more than memory_to_parse().
bool parse_xml(pugi::xml_document& document, Bytes xml) {
  [[maybe_unused]] static const bool is_bounded = [] {
    pugi::set_memory_management_functions(allocate_for_parser, free_of_parser);
    return true;
  }();
  parser_memory = memory_to_parse(xml);
  return static_cast<bool>(
      document.load_buffer(xml.data(), xml.size(), pugi::parse_default, pugi::encoding_utf8));
}

std::string text_of(const pugi::xml_node& parent, const char* name) {
  return parent.child_value(name);
}

/// Stores write a space as '+' or as %20.
std::string decoded_key(std::string text) {
  std::replace(text.begin(), text.end(), '+', ' ');
  return percent_decoded(text);
}

std::int64_t seconds_of(const std::string& text) {
  std::tm parts{};
  const int fields =
      std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d", &parts.tm_year, &parts.tm_mon,
                  &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &parts.tm_sec);
  if (fields != 6) return 0;
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return std::max<std::int64_t>(0, ::timegm(&parts));
}

/// Returns nothing if the listing does not show the whole state.
std::optional<ListedState> state_in(const pugi::xml_node& contents) {
  ListedState state;
  state.tag = quoted_etag(text_of(contents, "ETag"));
  state.modified = seconds_of(text_of(contents, "LastModified"));
  const std::string size = text_of(contents, "Size");
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), state.size);
  if (state.tag.empty() || error != std::errc() || end != size.data() + size.size() ||
      state.size > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
    return std::nullopt;
  return state;
}

ObjectEntry directory_named(std::string_view name) {
  return {.name = std::string(name), .is_directory = true};
}

class PageParser {
 public:
  PageParser(const pugi::xml_node& root, const std::string& prefix, MemoryCharge& charge)
      : root_(root),
        prefix_(prefix),
        charge_(charge),
        is_encoded_(text_of(root, "EncodingType") == "url") {}

  S3Page parse() {
    for (const pugi::xml_node& contents : root_.children("Contents")) add_object(contents);
    for (const pugi::xml_node& prefixes : root_.children("CommonPrefixes"))
      for (const pugi::xml_node& prefix : prefixes.children("Prefix"))
        add_directory(key_in(prefix.child_value()));
    if (text_of(root_, "IsTruncated") == "true") {
      page_.next = text_of(root_, "NextContinuationToken");
      if (page_.next.empty()) throw_no_listing("is cut off and has no token for the rest");
      if (page_.next.size() > kMaxPageToken) throw_no_listing("has a token that is too long");
    }
    return std::move(page_);
  }

 private:
  std::string key_in(std::string text) const {
    return is_encoded_ ? decoded_key(std::move(text)) : text;
  }

  /// Returns the key without the prefix; empty for the key of the directory itself.
  std::string_view below(const std::string& key) const {
    if (!key.starts_with(prefix_)) throw_no_listing("has keys outside the requested prefix");
    return std::string_view(key).substr(prefix_.size());
  }

  void add_object(const pugi::xml_node& contents) {
    const std::string key = key_in(text_of(contents, "Key"));
    count_key(key);
    const std::string_view name = below(key);
    const std::size_t slash = name.find('/');
    if (slash == std::string_view::npos)
      return add_name({.name = std::string(name), .state = state_in(contents)});
    ObjectEntry entry = directory_named(name.substr(0, slash));
    entry.lists_all_keys = true;
    const std::string_view rest = name.substr(slash + 1);
    if (rest == kSframeIndexName) entry.state = state_in(contents);
    entry.has_other = !entry.state && !chunk_file_number(rest);
    add_name(std::move(entry));
  }

  void add_directory(const std::string& key) {
    count_key(key);
    const std::string_view name = below(key);
    add_name(directory_named(name.substr(0, name.find('/'))));
  }

  void add_name(ObjectEntry entry) {
    if (!is_entry_name(entry.name) || prefix_.size() + entry.name.size() > kMaxListedKey) return;
    charge_.take(cost_of(entry));
    if (!page_.entries.empty() && page_.entries.back().is_directory && entry.is_directory &&
        page_.entries.back().name == entry.name) {
      merge_directory(page_.entries.back(), entry);
      // `entry` was merged into the one before it. Only the tag of the index stays charged.
      return charge_.give_back(cost_of(directory_named(entry.name)));
    }
    page_.entries.push_back(std::move(entry));
  }

  void count_key(const std::string& key) {
    page_.last_key = std::max(page_.last_key, key);
    if (++page_.keys > kMaxPageKeys) throw_no_listing("has more keys than requested");
  }

  const pugi::xml_node& root_;
  const std::string& prefix_;
  MemoryCharge& charge_;
  const bool is_encoded_;
  S3Page page_;
};

/// Returns the text if it is a short word, otherwise nothing, because it goes into messages.
std::string word_in(const pugi::xml_node& parent, const char* name) {
  std::string text = text_of(parent, name);
  const auto may_stand = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-';
  };
  if (text.size() > kMaxWord || !std::all_of(text.begin(), text.end(), may_stand)) return {};
  return text;
}

std::string line_in(const pugi::xml_node& parent, const char* name) {
  std::string text = text_of(parent, name);
  if (text.size() > kMaxMessage) text = text.substr(0, kMaxMessage) + "...";
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, ' ');
  return text;
}

/// Advice for the user, by the code of the object store's answer.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kAdvice{{
    {"AuthorizationHeaderMalformed", "region= may be wrong"},
    {"SignatureDoesNotMatch", "the secret key, endpoint= or region= may be wrong"},
    {"InvalidAccessKeyId", "the store does not know the access key"},
    {"InvalidClientTokenId", "the service does not know the access key"},
    {"RequestTimeTooSkewed", "the clock of this host or of the store is wrong"},
    {"ExpiredToken", "the credentials have expired"},
    {"InvalidToken", "the session token is invalid"},
    {"PermanentRedirect", "endpoint= or region= may be wrong"},
    {"AccessDenied", "the credentials give no access; anonymous sends none"},
}};
/// The codes for which the user must know which credentials were sent.
constexpr std::array<std::string_view, 6> kAboutKeys{"SignatureDoesNotMatch", "InvalidAccessKeyId",
                                                     "InvalidClientTokenId",  "ExpiredToken",
                                                     "InvalidToken",          "AccessDenied"};

}  // namespace

std::string quoted_etag(const std::string& text) {
  std::string etag = parse_etag(text);
  if (etag.empty()) etag = parse_etag("\"" + text + "\"");
  return is_strong(etag) && etag != "\"\"" ? etag : std::string();
}

S3Page parse_s3_listing(Bytes xml, const std::string& prefix, MemoryCharge& charge) {
  if (xml.size() > kMaxListing) throw_no_listing("is too long");
  const MemoryCharge::Part of_document(charge, memory_to_parse(xml));
  pugi::xml_document document;
  if (!parse_xml(document, xml)) throw_no_listing("is not XML; check endpoint=");
  const pugi::xml_node root = document.child("ListBucketResult");
  if (!root) throw_no_listing("has no ListBucketResult; check endpoint=");
  return PageParser(root, prefix, charge).parse();
}

void merge_directory(ObjectEntry& directory, const ObjectEntry& more) {
  directory.lists_all_keys &= more.lists_all_keys;
  directory.has_other |= more.has_other;
  if (more.state) directory.state = more.state;
  if (!directory.lists_all_keys) directory.state.reset();
}

S3Problem parse_s3_problem(Bytes xml) {
  pugi::xml_document document;
  if (xml.size() > kMaxListing || !parse_xml(document, xml)) return {};
  pugi::xml_node root = document.child("Error");
  if (!root) root = document.child("ErrorResponse").child("Error");
  return {word_in(root, "Code"), line_in(root, "Message"), word_in(root, "Region")};
}

std::string describe_problem(int status, Bytes body, const std::string& origin) {
  const S3Problem problem = parse_s3_problem(body);
  std::string text = fmt::format("HTTP status {}", status);
  for (const std::string& told : {problem.code, problem.message})
    if (!told.empty()) text += ": " + told;
  if (!problem.region.empty()) text += ", the region is " + problem.region;
  const auto advice = std::find_if(kAdvice.begin(), kAdvice.end(),
                                   [&](const auto& each) { return each.first == problem.code; });
  if (advice != kAdvice.end()) text += fmt::format(" ({})", advice->second);
  const bool is_about_keys = std::count(kAboutKeys.begin(), kAboutKeys.end(), problem.code) > 0;
  if (is_about_keys && !origin.empty()) text += "; the credentials come from " + origin;
  return text;
}

StsAnswer parse_sts_answer(Bytes xml) {
  pugi::xml_document document;
  if (xml.size() > kMaxListing || !parse_xml(document, xml)) return {};
  const pugi::xml_node given = document.document_element().first_child().child("Credentials");
  return {text_of(given, "AccessKeyId"), text_of(given, "SecretAccessKey"),
          text_of(given, "SessionToken"), text_of(given, "Expiration")};
}

std::optional<std::string> parse_s3_copy(Bytes xml) {
  pugi::xml_document document;
  if (xml.size() > kMaxListing || !parse_xml(document, xml)) return std::nullopt;
  const std::string etag = quoted_etag(text_of(document.child("CopyObjectResult"), "ETag"));
  return etag.empty() ? std::nullopt : std::optional(etag);
}

}  // namespace bloscfs::frame::inline remote
