#pragma once
// A process that stays outside of the sandbox.

#include <functional>

#include <sys/types.h>

#include "frame/store/byte_source.hpp"

namespace bloscfs::fs {

/// A second process, which serves the daemon over a socket that keeps messages apart. It has left
/// the daemon's session and directory, has nothing else open, cannot be dumped or traced, and
/// outlives the signals that stop a service, or the end of the terminal: it ends when its work
/// does, which should be when the daemon has closed the socket.
class OutsideProcess {
 public:
  /// To be called while there are no other threads, and nothing is held that the process is not to
  /// hold for a moment, too. `name`: as ps shows it. Throws std::system_error.
  OutsideProcess(const char* name, const std::function<void(int socket)>& work);

  int socket() const { return socket_.get(); }
  pid_t id() const { return process_; }
  void close_socket() { socket_.reset(); }

 private:
  frame::UniqueFd socket_;
  pid_t process_ = -1;
};

}  // namespace bloscfs::fs
