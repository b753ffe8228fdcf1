#pragma once
// Handles of plain files: what is asked of them is asked of SOURCE.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include <sys/uio.h>

#include "fs/content/open_file.hpp"
#include "fs/source/file_handle.hpp"
#include "fs/source/local/files/plain_file.hpp"
#include "fs/source/local/tree/tree.hpp"

namespace bloscfs::fs {

/// Opened for reading.
class PlainHandle : public FileHandle {
 public:
  struct Owner {
    std::function<void()> before_close;  ///< as before_close(); may be called more than once
    std::function<void()> closed;        ///< called by close()
  };
  /// `tree` outlives it.
  PlainHandle(const Tree& tree, NodeId node, int flags, std::shared_ptr<const OpenPlainFile> file,
              Owner owner)
      : FileHandle(node, flags), tree_(tree), file_(std::move(file)), owner_(std::move(owner)) {}

  struct stat attributes() const override;
  ReadBytes read(std::int64_t offset, std::int64_t size) final;
  std::int64_t seek(std::int64_t offset, int whence) const override;
  bool has_writers() const override { return tree_.plain_writers(node()) > 0; }
  std::size_t copy_to(int descriptor, const CopiedRange& range) const override;
  void sync() override;
  void before_close() override { owner_.before_close(); }
  void close() override { owner_.closed(); }

 protected:
  virtual int own_descriptor() const { return file_->descriptor.get(); }

 private:
  const Tree& tree_;
  const std::shared_ptr<const OpenPlainFile> file_;
  const Owner owner_;
};

/// Opened for writing, by a descriptor of its own: while one is there the file stays a plain one.
class PlainWriter final : public PlainHandle {
 public:
  /// `keep_times`: the kernel tells by itself when the pages that it writes were changed.
  PlainWriter(const Tree& tree, NodeId node, int flags, std::shared_ptr<const OpenPlainFile> file,
              PlainFile written, bool keep_times, Owner owner)
      : PlainHandle(tree, node, flags, std::move(file), std::move(owner)),
        written_(std::move(written)),
        keep_times_(keep_times) {}

  std::size_t write(const WritePlace& place, codec::Bytes bytes) override;
  std::size_t write(const WritePlace& place, std::span<PooledBuffer> cells) override;
  void truncate(std::int64_t size) override { written_.truncate(size); }
  void allocate(int mode, std::int64_t offset, std::int64_t size) override {
    written_.allocate(mode, offset, size);
  }
  std::size_t copy_from(const FileHandle& source, const CopiedRange& range) override;

 private:
  int own_descriptor() const override { return written_.fd(); }
  std::size_t put(const WritePlace& place, std::span<const iovec> pieces) const;

  const PlainFile written_;
  const bool keep_times_;
};

}  // namespace bloscfs::fs
