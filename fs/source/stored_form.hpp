#pragma once
// How SOURCE holds what a mount shows as a regular file.

#include <cstdint>
#include <functional>
#include <memory>

#include "frame/container/snapshot.hpp"
#include "frame/store/byte_source.hpp"

namespace bloscfs::fs {

struct StoredForm {
  std::shared_ptr<const frame::Snapshot> frame;  ///< null: the file is shown as it is stored
  /// Opens such a file to read it; null where SOURCE is no directory.
  std::function<frame::UniqueFd()> open_plain;
  /// Of the file, of a sparse frame those of all its files; 0 for a leaf in a store.
  std::int64_t bytes = 0;
  bool may_lack_contents = false;  ///< see missing_contents() (fs/view/stored_contents.hpp)
};

}  // namespace bloscfs::fs
