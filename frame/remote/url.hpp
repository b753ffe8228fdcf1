#pragma once
// URLs of objects that are read over HTTP.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace bloscfs::frame::inline remote {

/// what() says what is wrong with a URL, and quotes no part of it.
class UrlError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Url {
  bool secure = false;  ///< https
  std::string host;     ///< in lower case; an IPv6 address has no brackets
  std::uint16_t port = 0;
  std::string path;   ///< from its first '/' on, encoded
  std::string query;  ///< with its '?', or empty

  /// Returns the host, and the port unless it is the usual one, as in the Host header.
  std::string authority() const;
  /// Returns the URL as it is requested.
  std::string text() const;
  /// Returns the URL for messages, with "?..." in place of the query, which may hold a signature.
  std::string shown() const;
  bool operator==(const Url&) const = default;

 private:
  std::string origin_and_path() const;
};

/// True for a text that begins with http:// or https://.
bool is_url(std::string_view text);

/// Encodes bytes beyond ASCII, and keeps everything else. Throws UrlError for user and password, a
/// fragment, spaces and control characters, and impossible hosts and ports.
Url parse_url(std::string_view text);

/// Returns a text that may be a URL in the form for messages. An http:// or https:// URL loses
/// user, password, query and fragment. An s3:// URL loses user and password. Other text stays as it
/// is.
std::string shown_url(const std::string& text);

}  // namespace bloscfs::frame::inline remote
