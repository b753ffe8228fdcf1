#pragma once
// The header lines of an answer, as far as callers need them. Servers may send anything, so lines
// that make no sense are ignored.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace bloscfs::frame::inline remote {

inline constexpr int kHttpOk = 200, kHttpPartial = 206, kHttpNotModified = 304, kHttpNotFound = 404,
                     kHttpBadRequest = 400, kHttpConflict = 409, kHttpConditionFailed = 412,
                     kHttpBadRange = 416, kHttpTooMany = 429, kHttpNotImplemented = 501,
                     kHttpBusy = 503;

/// Content-Range: the bytes [first, last] of `total`.
struct ContentRange {
  std::uint64_t first = 0, last = 0;
  std::uint64_t total = 0;
  bool has_bytes = true;  ///< false for a 416, which reports only `total`
  bool operator==(const ContentRange&) const = default;
};

/// Returns nothing for units other than bytes, for an unknown total, and for impossible ranges.
std::optional<ContentRange> parse_content_range(std::string_view value);

/// Returns the entity tag if it is valid, so that a request can repeat it, otherwise an empty text.
std::string parse_etag(std::string_view value);
inline bool is_strong(std::string_view etag) { return etag.starts_with('"'); }

/// Returns the date if it is printable, so that a request can repeat it, otherwise an empty text.
std::string parse_date(std::string_view value);

struct AnswerHeaders {
  int status = 0;
  std::string etag, last_modified;  ///< empty if absent
  std::string date;                 ///< when it was sent, by the server's clock; empty if absent
  std::string location;             ///< of a redirect, unchanged
  std::optional<ContentRange> range;
  bool encoded = false;         ///< compressed by gzip or the like: the bytes are not the object's
  bool chunked = false;         ///< the body marks its own end
  bool has_bad_length = false;  ///< Content-Length is not a number, or larger than any file
  /// content-type, content-length and all x-amz-* fields, by lower-case names. The first field of a
  /// name counts.
  std::map<std::string, std::string> fields = {};

  /// Returns the value of that name in `fields`, or an empty text.
  std::string field(const std::string& name) const;
  /// Returns the user metadata of an object: the x-amz-meta-* fields, by names without that prefix.
  std::map<std::string, std::string> metadata() const;

  /// Parses a header line. A status line discards all earlier lines, because it begins another
  /// answer.
  void add_line(std::string_view line);
};

}  // namespace bloscfs::frame::inline remote
