#pragma once
// A kind of file, as containers and plain files are: how one is opened.

#include <cstdint>
#include <memory>

#include "fs/mount/file_handle.hpp"
#include "fs/source/local/tree/classifier.hpp"

namespace bloscfs::fs {

/// Thread-safe. ESTALE where a file is not what `entry` says, or none of that kind any more.
class FileKind {
 public:
  virtual ~FileKind() = default;

  /// `flags` as of open(2). Who gets the handle is to close it.
  virtual std::shared_ptr<FileHandle> open(NodeId node, const SourceEntry& entry, int flags) = 0;
  /// Sets a file's size without a handle.
  virtual void resize(NodeId node, std::int64_t size) = 0;
};

}  // namespace bloscfs::fs
