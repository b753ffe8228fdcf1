#pragma once
// What the header lines of an answer say, as far as callers need it. Lines come from anywhere: what
// is not understood counts as not said.

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
  bool has_bytes = true;  ///< false for that of a 416, which tells `total` alone
  bool operator==(const ContentRange&) const = default;
};

/// Nothing for other units than bytes, for a total that is not told, and for what cannot be.
std::optional<ContentRange> parse_content_range(std::string_view value);

/// An entity tag that may be sent back, else empty.
std::string parse_etag(std::string_view value);
inline bool is_strong(std::string_view etag) { return etag.starts_with('"'); }

/// A date that may be sent back, else empty.
std::string parse_date(std::string_view value);

struct AnswerHeaders {
  int status = 0;
  std::string etag, last_modified;  ///< empty where not told
  std::string date;      ///< when it was sent, by the server's clock; empty where not told
  std::string location;  ///< of a redirect, as it came
  std::optional<ContentRange> range;
  bool encoded = false;  ///< by gzip or the like: its bytes are not those of the object
  bool chunked = false;  ///< the body tells its own end
  /// content-type, content-length and all of x-amz-, by lower-case names; the first of a name.
  std::map<std::string, std::string> fields = {};

  /// Of `fields`; empty where there is none.
  std::string field(const std::string& name) const;
  /// What was put with an object, x-amz-meta-*, by names without that.
  std::map<std::string, std::string> metadata() const;

  /// A line as it came. A status line forgets what was before it: the answer follows that.
  void add_line(std::string_view line);
};

}  // namespace bloscfs::frame::inline remote
