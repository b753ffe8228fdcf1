#pragma once
// What ends requests for what is not at hand.

#include <chrono>
#include <optional>

#include "fs/fuse/reply.hpp"
#include "fs/support/request_limits.hpp"

namespace bloscfs::fs {

/// Whether nobody waits for the answer any more. A network may keep it for longer than the mount.
inline bool is_given_up(fuse_req_t request) {
  return fuse_req_interrupted(request) != 0 ||
         fuse_session_exited(mount_state(request).session) != 0;
}

/// While one lives, the thread's request may be ended if it is for something in a store, where a
/// file decides how many leaves a listing opens, and how long one is that becomes a file; or behind
/// a network. Without effect on others.
class FarLimits {
 public:
  FarLimits(fuse_req_t request, fuse_ino_t node) : FarLimits(request, node, node) {}
  FarLimits(fuse_req_t request, fuse_ino_t node, fuse_ino_t other) {
    Source& source = source_of(request);
    if (source.is_far(node) || source.is_far(other))
      limits_.emplace([request] { return is_given_up(request); }, kMost);
  }

 private:
  static constexpr std::chrono::seconds kMost{30};
  std::optional<RequestLimits> limits_;
};

}  // namespace bloscfs::fs
