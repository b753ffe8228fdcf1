#pragma once
// Addresses of what is read over HTTP.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace bloscfs::frame::inline remote {

/// what() says what is wrong with a URL, and quotes nothing of it.
class UrlError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Url {
  bool secure = false;  ///< https
  std::string host;     ///< in lower case; of an IPv6 address without its brackets
  std::uint16_t port = 0;
  std::string path;   ///< from its '/' on, encoded
  std::string query;  ///< with its '?', or empty

  /// Host, and the port where it is not the usual one, as a request's header Host has them.
  std::string authority() const;
  /// As it is asked for.
  std::string text() const;
  /// For messages: "?..." in place of the query, which may hold a signature.
  std::string shown() const;
  bool operator==(const Url&) const = default;

 private:
  std::string origin_and_path() const;
};

/// True for what begins with http:// or https://, whatever follows.
bool is_url(std::string_view text);

/// Bytes beyond ASCII are encoded, all else is kept as it is. Throws UrlError: for user and
/// password, a fragment, spaces and control characters, and hosts and ports that cannot be.
Url parse_url(std::string_view text);

/// How a URL that may be none is named in messages: without user, password, query and fragment.
/// Of s3:// without user and password. Other text stays as it is.
std::string shown_url(const std::string& text);

}  // namespace bloscfs::frame::inline remote
