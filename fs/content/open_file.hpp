#pragma once
// What the open handles of one node share: a container's content, or a plain file's descriptor.

#include <memory>

#include <sys/stat.h>

#include "frame/store/byte_source.hpp"
#include "fs/content/content.hpp"

namespace bloscfs::fs {

/// Immutable but for the content; exactly one of `content` and `plain` is set.
struct OpenFile {
  std::shared_ptr<Content> content;
  frame::UniqueFd plain;
  /// As shown when it was opened; to be set before anybody else knows of it.
  struct stat attributes {};

  /// True while the content knows better than the source file what it is.
  bool leads() const { return content && content->leads(); }
};

}  // namespace bloscfs::fs
