#pragma once
// Which system calls the process can make.

namespace bloscfs::fs {

/// Leaves the process, which has one thread and no new privileges, the calls that serving a mount
/// takes: what is not among them fails with ENOSYS, so that libraries fall back to older calls.
/// A call of another architecture ends the process. Threads can be made, but no processes, and
/// nothing can be executed or mapped as executable; signals go to the process itself. No local
/// socket can be made that connects to others, nor one of a network where there is none. Devices
/// are made, and set-user-ID and set-group-ID bits are set, only where that is needed (else EPERM).
/// In builds with sanitizers, which need more than that, it does nothing. Throws std::system_error.
struct NeededCalls {
  bool network = false;  ///< SOURCE is reached by a network: no attributes of files are set
  bool devices = false;
  bool set_ids = false;
};
void allow_needed_calls(const NeededCalls& needed);

}  // namespace bloscfs::fs
