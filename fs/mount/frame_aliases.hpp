#pragma once
// A frame's own bytes as a file that can be read: those of the state that was there when the file
// was opened, or EIO once SOURCE has another one in their place.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "fs/content/open_file.hpp"
#include "fs/mount/file_handle.hpp"
#include "fs/mount/file_kind.hpp"
#include "fs/tree/tree.hpp"

namespace bloscfs::fs {

/// One state of the file that a frame, or a part of a sparse one, is stored in.
class OpenAlias final : public OpenFile {
 public:
  /// Reads the beginning, which every commit changes.
  OpenAlias(const struct stat& shown, frame::UniqueFd file, frame::SourceCounters& counters);

  const frame::FileSource& source() const { return source_; }
  bool is_unchanged() const;

 private:
  const frame::FileSource source_;
  const std::vector<std::uint8_t> beginning_;
};

/// Read from SOURCE each time, since nobody else knows these bytes.
class AliasHandle final : public FileHandle {
 public:
  /// `pages` outlives it.
  AliasHandle(NodeId node, int flags, std::shared_ptr<const OpenAlias> file, PagePool& pages)
      : FileHandle(node, flags), file_(std::move(file)), pages_(pages) {}

  struct stat attributes() const override {
    return file_->attributes;
  }
  bool is_uncached() const override { return true; }
  ReadBytes read(std::int64_t offset, std::int64_t size) override;
  std::int64_t seek(std::int64_t offset, int whence) const override;
  bool has_writers() const override { return false; }
  void sync() override {}

 private:
  const std::shared_ptr<const OpenAlias> file_;
  PagePool& pages_;
};

/// EROFS for whatever would change one.
class FrameAliases final : public FileKind {
 public:
  /// All outlive this object.
  FrameAliases(Tree& tree, frame::SourceCounters& counters, PagePool& pages)
      : tree_(tree), counters_(counters), pages_(pages) {}

  std::shared_ptr<FileHandle> open(NodeId node, const SourceEntry& entry, int flags) override;
  void resize(NodeId node, std::int64_t size) override;

 private:
  Tree& tree_;
  frame::SourceCounters& counters_;
  PagePool& pages_;
};

}  // namespace bloscfs::fs
