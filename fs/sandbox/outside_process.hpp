#pragma once
// A process that stays outside the sandbox.

#include <cerrno>
#include <functional>

#include <sys/socket.h>
#include <sys/types.h>

#include "frame/store/byte_source.hpp"

namespace bloscfs::fs {

/// A second process that serves the daemon over a socket of type SOCK_SEQPACKET. It runs in a
/// session and directory of its own, keeps no other descriptor, and cannot be dumped or traced. It
/// ignores the signals that stop a service, and ends when its work function returns; that function
/// should return once the daemon has closed the socket.
class OutsideProcess {
 public:
  /// Forks: the caller must have no other threads, and no locks or descriptors that the process
  /// must not inherit for a moment. `name` is what ps shows. Throws std::system_error.
  OutsideProcess(const char* name, const std::function<void(int socket)>& work);

  int socket() const { return socket_.get(); }
  pid_t id() const { return process_; }
  void close_socket() { socket_.reset(); }

 private:
  frame::UniqueFd socket_;
  pid_t process_ = -1;
};

/// Receives one message of a fixed size over the socket. Returns false if the other end is gone, or
/// sent another size.
template <typename Part>
bool receive_message(int socket, Part& part) {
  ssize_t got = -1;
  do {
    got = ::recv(socket, &part, sizeof part, 0);
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof part);
}

/// Sends one message over the socket. Returns false if the other end is gone.
template <typename Part>
bool send_message(int socket, const Part& part) {
  return ::send(socket, &part, sizeof part, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof part);
}

}  // namespace bloscfs::fs
