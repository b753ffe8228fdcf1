#pragma once
// How requests come from the kernel and replies go to it, where libfuse's own ways cost too much:
// what a write brings is read to where it stays (fs/fuse/request_cells.hpp), and it is the daemon
// who clears set-user-ID bits, so that the kernel asks for no attributes before it sends a write.
// An unmount is told apart from a failure whenever it comes.

#include <fuse_lowlevel.h>

namespace bloscfs::fs {

/// For a session that is mounted, and has not begun.
void use_kernel_channel(fuse_session* session);

/// True if the request that this thread is answering, one that writes, truncates or opens, takes
/// the set-user-ID and set-group-ID bits from the file.
bool request_drops_privileges();

}  // namespace bloscfs::fs
