#pragma once
// The sockets of a client's connections, which libcurl does not tell the transfers that use them.

#include <set>

#include <curl/curl.h>

namespace bloscfs::frame::inline remote {

/// Belongs to one thread, and outlives the handles that its sockets were opened for.
class Connections {
 public:
  /// The socket that `handle` opens is to be one of these; CURLOPT_OPENSOCKETFUNCTION calls open().
  void take_closing(CURL* handle);
  /// CURL_SOCKET_BAD where none can be had.
  curl_socket_t open(const curl_sockaddr& address);
  /// Of our end, or CURL_SOCKET_BAD.
  curl_socket_t with_port(int port) const;

 private:
  static int on_close(void* self, curl_socket_t socket);

  std::set<curl_socket_t> sockets_;
};

}  // namespace bloscfs::frame::inline remote
