#pragma once
// Restricts the system calls of the process.

namespace bloscfs::fs {

/// Allows the process, which must have one thread and no new privileges, only the system calls that
/// serving a mount needs. Does nothing in builds with sanitizers, which need more calls. Throws
/// std::system_error.
/// - Other calls fail with ENOSYS, so that libraries fall back to older calls. A call of another
///   architecture kills the process.
/// - It can start threads, but no processes. It can execute nothing, and map nothing as executable.
/// - It can send signals only to itself.
/// - It can make no local socket that connects to other processes, and network sockets only if
///   `network`.
/// - It can make device files, and set set-user-ID and set-group-ID bits, only if that is needed
///   (else EPERM).
struct NeededCalls {
  bool network = false;  ///< SOURCE is a URL: file attributes cannot be set
  bool devices = false;
  bool set_ids = false;
};
void allow_needed_calls(const NeededCalls& needed);

}  // namespace bloscfs::fs
