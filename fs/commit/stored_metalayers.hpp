#pragma once
// Metalayers that a commit stores: those that were changed, and in a new container those that the
// file had.

#include <vector>

#include "frame/container/metalayer.hpp"
#include "frame/container/transaction.hpp"
#include "fs/view/metalayer_changes.hpp"

namespace bloscfs::fs {

/// Fixed metalayers of a container that takes the place of `before` (null: of nothing), but for
/// those that say what the frame is. Throws std::system_error(EFBIG) for more than 4 MiB.
std::vector<frame::Metalayer> fixed_metalayers(const frame::Snapshot* before,
                                               const LayerChanges& changes);

/// Copies vlmetalayers into a new container, but for those that were changed, and for those that
/// tell of values: it has other ones.
void copy_vlmetalayers(const frame::Snapshot& before, const LayerChanges& changes,
                       frame::Transaction& transaction);

/// Stores the changes. Those of fixed metalayers are in a new container already.
void store_metalayers(const LayerChanges& changes, bool is_new_container,
                      frame::Transaction& transaction);

}  // namespace bloscfs::fs
