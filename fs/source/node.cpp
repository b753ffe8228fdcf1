#include "fs/source/node.hpp"

#include <cerrno>

#include "frame/store/throw_errno.hpp"
#include "fs/support/timestamps.hpp"

namespace bloscfs::fs {

FileState state_of(const struct stat& st) { return {frame::stamp_of(st), nanoseconds(st.st_ctim)}; }

void throw_stale(NodeId id) { frame::throw_errno(ESTALE, "inode " + std::to_string(id)); }

}  // namespace bloscfs::fs
