#pragma once
// The error boundary: no exception gets into libfuse.

#include <exception>
#include <utility>

#include <fuse_lowlevel.h>

#include "fs/fuse/kernel_flush.hpp"
#include "fs/mount/mount.hpp"
#include "fs/support/request_user.hpp"
#include "fs/support/request_watch.hpp"
#include "fs/support/sync.hpp"
#include "fs/support/turns.hpp"

namespace bloscfs::fs {

class KernelChannel;
class RunningOptions;

/// As errno_of(error); what has no errno is logged with the operation's name.
int errno_of(const std::exception& error, const char* operation) noexcept;

/// Runs the body of an operation, whose last act is its reply; a failure is replied instead.
template <typename Body>
void guarded(fuse_req_t request, const char* operation, Body&& body) noexcept {
  const RequestUser on_whose_account(fuse_req_ctx(request)->uid);
  try {
    std::forward<Body>(body)();
  } catch (const std::exception& error) {
    fuse_reply_err(request, errno_of(error, operation));
  }
}

/// Runs what nobody waits for, such as what a reply calls for that was not delivered: its request
/// is gone by then.
template <typename Work>
void run_unanswered(const char* operation, Work&& work) noexcept {
  // NoTurn would have the request served again.
  TurnAtNeed::need_no_more();
  try {
    std::forward<Work>(work)();
  } catch (const std::exception& error) {
    errno_of(error, operation);
  }
}

/// As guarded(), for an operation that nobody waits for.
template <typename Body>
void guarded_unanswered(fuse_req_t request, const char* operation, Body&& body) noexcept {
  run_unanswered(operation, std::forward<Body>(body));
  fuse_reply_none(request);
}

/// What every operation can reach.
struct MountState {
  Mount* mount = nullptr;
  fuse_session* session = nullptr;
  KernelChannel* channel = nullptr;  ///< null: requests and replies go libfuse's own ways
  KernelFlush* kernel_flush = nullptr;
  RunningOptions* running_options = nullptr;
  Turns* turns = nullptr;
  RequestWatch watch;
  Mutex telling;           ///< who opens a changed file waits for who tells the kernel of it
  bool writeback = false;  ///< the kernel's writeback cache is wanted
  bool is_far = false;     ///< what is read may be long in coming
};

inline MountState& mount_state(fuse_req_t request) {
  return *static_cast<MountState*>(fuse_req_userdata(request));
}

inline Mount& mount_of(fuse_req_t request) { return *mount_state(request).mount; }
inline Source& source_of(fuse_req_t request) { return mount_of(request).source(); }

/// The process behind a request, for as long as that is not answered.
Caller caller_of(fuse_req_t request);

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
