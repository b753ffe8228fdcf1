#pragma once
// Makes the mount of a directory or of a URL.

#include <cstddef>
#include <memory>

#include "frame/store/clock.hpp"
#include "frame/store/object_tree.hpp"
#include "fs/mount/mount.hpp"
#include "fs/options/options.hpp"
#include "fs/source/local/files/mount_lock.hpp"
#include "fs/source/local/mount_source.hpp"
#include "fs/support/page_pool.hpp"
#include "fs/support/worker_pool.hpp"

namespace bloscfs::fs {

/// Makes the mount of a directory, or of a single frame. `lock` is null for a read-only mount.
/// `lock`, `pages` and `clock` outlive the mount.
std::unique_ptr<Mount> mount_files(MountSource source, const MountOptions& options,
                                   const WorkerCounts& workers, MountLock* lock, PagePool& pages,
                                   const frame::Clock& clock = frame::system_clock());

/// Makes the mount of a URL. `pages` and `clock` outlive the mount. Throws if SOURCE cannot be
/// shown.
std::unique_ptr<Mount> mount_objects(const std::shared_ptr<frame::ObjectTree>& tree,
                                     MountOptions options, std::size_t workers, PagePool& pages,
                                     const frame::Clock& clock = frame::system_clock());

}  // namespace bloscfs::fs
