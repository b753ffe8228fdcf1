#pragma once
// What all operations share.

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

/// As errno_of(error); what has no errno is logged with the operation's name.
int errno_of(const std::exception& error, const char* operation, const Request& request) noexcept;

/// What every operation can reach.
struct MountState {
  Mount* mount = nullptr;
  fuse_session* session = nullptr;
  KernelChannel* channel = nullptr;  ///< null: requests and replies go libfuse's own ways
  KernelFlush* kernel_flush = nullptr;
  KernelReadahead* kernel_readahead = nullptr;
  RunningOptions* running_options = nullptr;
  RequestSlots* slots = nullptr;
  IdleWatch* idle_watch = nullptr;  ///< null where there is no session
  RequestWatch watch;
  Mutex telling{
      LockLevel::request};  ///< who opens a changed file waits for who tells the kernel of it
  /// When a program last asked for a commit of everything, as `bloscfs --unmount` does.
  std::atomic<std::chrono::steady_clock::time_point> commit_asked{};
  bool writeback = false;  ///< the kernel's writeback cache is wanted
  bool is_far = false;     ///< what is read may be long in coming
};

inline MountState& mount_state(fuse_req_t request) {
  return *static_cast<MountState*>(fuse_req_userdata(request));
}

inline Mount& mount_of(fuse_req_t request) { return *mount_state(request).mount; }
inline Source& source_of(fuse_req_t request) { return mount_of(request).source(); }

/// Seconds that the kernel may keep names and attributes. A change of SOURCE is seen by the next
/// open all the same.
inline constexpr double kCacheSeconds = 1.0;

fuse_entry_param entry_param(const FoundNode& found);

/// Adds the operations of one family.
void add_lookup_operations(fuse_lowlevel_ops& ops);
void add_file_operations(fuse_lowlevel_ops& ops);
void add_directory_operations(fuse_lowlevel_ops& ops);
void add_attribute_operations(fuse_lowlevel_ops& ops);
void add_namespace_operations(fuse_lowlevel_ops& ops);
void add_control_operations(fuse_lowlevel_ops& ops);

}  // namespace bloscfs::fs
