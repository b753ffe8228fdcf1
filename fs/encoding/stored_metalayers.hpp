#pragma once
// Stores the metalayers of a commit or a saved copy: the changed ones and, in a new container, the
// unchanged ones.

#include <vector>

#include "frame/container/metalayer.hpp"
#include "frame/container/transaction.hpp"
#include "fs/view/metalayer_changes.hpp"

namespace bloscfs::fs {

/// Returns the fixed metalayers of a container that replaces `before` (null: replaces nothing),
/// without those that say what the frame is. Throws std::system_error(EFBIG) for more than 4 MiB.
std::vector<frame::Metalayer> fixed_metalayers(const frame::Snapshot* before,
                                               const LayerChanges& changes);

/// Copies variable-length metalayers into a new container. Skips those that were changed, and those
/// that describe the old values or chunks.
void copy_vlmetalayers(const frame::Snapshot& before, const LayerChanges& changes,
                       frame::Transaction& transaction);

/// Stores the changes. Leaves out fixed metalayers of a new container, which was created with them.
void store_metalayers(const LayerChanges& changes, bool is_new_container,
                      frame::Transaction& transaction);

}  // namespace bloscfs::fs
