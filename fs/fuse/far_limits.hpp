#pragma once
// What ends requests for what is not at hand.

#include <chrono>
#include <optional>

#include "fs/fuse/reply.hpp"
#include "fs/support/request_limits.hpp"

namespace bloscfs::fs {

/// While one lives, the thread's request may be ended if it is for something in a store, where a
/// file decides how many leaves a listing opens, and how long one is that becomes a file; or behind
/// a network. Without effect on others.
class FarLimits {
 public:
  FarLimits(fuse_req_t request, fuse_ino_t node) : FarLimits(request, node, node) {}
  FarLimits(fuse_req_t request, fuse_ino_t node, fuse_ino_t other) {
    MountedFiles& fs = filesystem(request);
    if (fs.is_far(node) || fs.is_far(other))
      limits_.emplace([request] { return fuse_req_interrupted(request) != 0; }, kMost);
  }

 private:
  static constexpr std::chrono::seconds kMost{30};
  std::optional<RequestLimits> limits_;
};

}  // namespace bloscfs::fs
