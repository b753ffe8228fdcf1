#pragma once
// What the open handles of one node share: a container's view, or a plain file's descriptor.

#include <memory>
#include <optional>

#include <sys/stat.h>

#include "fs/file_view.hpp"

namespace bloscfs::fs {

/// Immutable; exactly one of `view` and `plain` is set.
struct OpenFile {
  std::unique_ptr<const FileView> view;
  frame::UniqueFd plain;
  struct stat attributes {};  ///< as shown when it was opened
};

}  // namespace bloscfs::fs
