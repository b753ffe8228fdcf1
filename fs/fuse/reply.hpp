#pragma once
// Shared by all FUSE operations.

#include <atomic>
#include <chrono>
#include <exception>

#include <fuse_lowlevel.h>

#include "fs/fuse/kernel_flush.hpp"
#include "fs/mount/mount.hpp"
#include "fs/support/request.hpp"
#include "fs/support/request_watch.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

class IdleWatch;
class KernelChannel;
class KernelReadahead;
class RunningOptions;

/// Returns the errno for the reply. Logs an exception that has no errno of its own, with the name
/// of the operation.
int errno_of(const std::exception& error, const char* operation, const Request& request) noexcept;

/// The parts of a session that every operation can reach.
struct MountState {
  Mount* mount = nullptr;
  fuse_session* session = nullptr;
  KernelChannel* channel = nullptr;  ///< null: libfuse reads requests and writes replies
  KernelFlush* kernel_flush = nullptr;
  KernelReadahead* kernel_readahead = nullptr;
  RunningOptions* running_options = nullptr;
  RequestSlots* slots = nullptr;
  IdleWatch* idle_watch = nullptr;  ///< null if there is no session
  RequestWatch watch;
  Mutex telling{LockLevel::request};  ///< one notice of a changed file at a time
  /// When `bloscfs --unmount` began its unmount; zero if it has not, or if that was refused.
  std::atomic<std::chrono::steady_clock::time_point> unmount_begun{};
  bool writeback = false;        ///< the kernel's writeback cache is wanted
  bool is_over_network = false;  ///< reads may take long, for example over a network
};

inline MountState& mount_state(fuse_req_t request) {
  return *static_cast<MountState*>(fuse_req_userdata(request));
}

inline Mount& mount_of(fuse_req_t request) { return *mount_state(request).mount; }
inline Source& source_of(fuse_req_t request) { return mount_of(request).source(); }

/// Seconds for which the kernel may cache names and attributes. The next open sees a change of
/// SOURCE even within that time.
inline constexpr double kCacheSeconds = 1.0;

fuse_entry_param entry_param(const FoundNode& found);

/// Each adds the operations of one group.
void add_lookup_operations(fuse_lowlevel_ops& ops);
void add_file_operations(fuse_lowlevel_ops& ops);
void add_directory_operations(fuse_lowlevel_ops& ops);
void add_attribute_operations(fuse_lowlevel_ops& ops);
void add_namespace_operations(fuse_lowlevel_ops& ops);
void add_control_operations(fuse_lowlevel_ops& ops);

}  // namespace bloscfs::fs
