#pragma once
// The sockets of a client's connections. libcurl does not tell a transfer which socket it uses.

#include <set>

#include <curl/curl.h>

namespace bloscfs::frame::inline remote {

/// For one thread. Must outlive the handles for which its sockets were opened.
class Connections {
 public:
  /// Makes `handle` close its sockets through this object. Its CURLOPT_OPENSOCKETFUNCTION must call
  /// open().
  void take_closing(CURL* handle);
  /// Opens a socket. Returns CURL_SOCKET_BAD on failure.
  curl_socket_t open(const curl_sockaddr& address);
  /// Returns the socket with that local port, or CURL_SOCKET_BAD.
  curl_socket_t with_port(int port) const;

 private:
  static int on_close(void* self, curl_socket_t socket);

  std::set<curl_socket_t> sockets_;
};

}  // namespace bloscfs::frame::inline remote
