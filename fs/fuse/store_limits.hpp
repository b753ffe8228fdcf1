#pragma once
// What ends requests for what stores hold.

#include <chrono>
#include <optional>

#include "fs/fuse/reply.hpp"
#include "fs/support/request_limits.hpp"

namespace bloscfs::fs {

/// While one lives, the thread's request may be ended if it is for something in a store: a file
/// decides how many leaves a listing opens, and how long one is that becomes a file. Without effect
/// on others.
class StoreLimits {
 public:
  StoreLimits(fuse_req_t request, fuse_ino_t node) : StoreLimits(request, node, node) {}
  StoreLimits(fuse_req_t request, fuse_ino_t node, fuse_ino_t other) {
    Filesystem& fs = filesystem(request);
    if (fs.is_in_store(node) || fs.is_in_store(other))
      limits_.emplace([request] { return fuse_req_interrupted(request) != 0; }, kMost);
  }

 private:
  static constexpr std::chrono::seconds kMost{30};
  std::optional<RequestLimits> limits_;
};

}  // namespace bloscfs::fs
