#pragma once
// Metalayers that are set through the mount.

#include "fs/content/content.hpp"
#include "fs/support/sync.hpp"
#include "fs/view/metalayer_changes.hpp"

namespace bloscfs::fs {

/// Thread-safe. Of all files of a mount: what was found to have room is set before others look.
class MetalayerEdits {
 public:
  /// As setxattr(2), and removexattr(2) without a content: EEXIST and ENODATA by the `flags`;
  /// ENOSPC where the frame has no room for it.
  void put(Content& file, const LayerName& name, LayerChange content, int flags) EXCLUDES(mutex_);

 private:
  Mutex mutex_;
};

}  // namespace bloscfs::fs
