#pragma once
// A process that stays outside of the sandbox.

#include <functional>

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

}  // namespace bloscfs::fs
