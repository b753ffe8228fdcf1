#include "frame/remote/connections.hpp"

#include <new>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace bloscfs::frame::inline remote {
namespace {

int port_of(curl_socket_t socket) {
  sockaddr_in6 address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return -1;
  // The port is at the same offset in IPv4 and IPv6 addresses.
  return ntohs(address.sin6_port);
}

}  // namespace

void Connections::take_closing(CURL* handle) {
  ::curl_easy_setopt(handle, CURLOPT_CLOSESOCKETFUNCTION, &Connections::on_close);
  ::curl_easy_setopt(handle, CURLOPT_CLOSESOCKETDATA, static_cast<void*>(this));
}

curl_socket_t Connections::open(const curl_sockaddr& address) {
  const curl_socket_t socket =
      ::socket(address.family, address.socktype | SOCK_CLOEXEC, address.protocol);
  if (socket == CURL_SOCKET_BAD) return socket;
  try {
    sockets_.insert(socket);
  } catch (const std::bad_alloc&) {
    ::close(socket);
    return CURL_SOCKET_BAD;
  }
  return socket;
}

curl_socket_t Connections::with_port(int port) const {
  for (const curl_socket_t socket : sockets_)
    if (port_of(socket) == port) return socket;
  return CURL_SOCKET_BAD;
}

int Connections::on_close(void* self, curl_socket_t socket) {
  static_cast<Connections*>(self)->sockets_.erase(socket);
  return ::close(socket);
}

}  // namespace bloscfs::frame::inline remote
