#pragma once
// Which system calls the process can make.

namespace bloscfs::fs {

/// Leaves the process, which has one thread and no new privileges, the calls that serving a mount
/// takes: what is not among them fails with ENOSYS, so that libraries fall back to older calls.
/// Threads can be made, but no processes, and nothing can be executed or mapped as executable;
/// signals go to the process itself, sockets are local ones, and such that connect to others where
/// there is a `network`. In builds with sanitizers, which need
/// more than that, it does nothing. Throws std::system_error.
void allow_needed_calls(bool network);

}  // namespace bloscfs::fs
