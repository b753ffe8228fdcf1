#include "fs/source/node.hpp"

#include <cerrno>

#include "frame/store/throw_errno.hpp"

namespace bloscfs::fs {

void throw_stale(NodeId id) { frame::throw_errno(ESTALE, "inode " + std::to_string(id)); }

}  // namespace bloscfs::fs
