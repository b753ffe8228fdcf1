#pragma once
// Handles of containers. All handles of a node read and write the content that they share. Each
// handle knows the epoch of that content that it belongs to. An epoch ends when the content follows
// another program's change.

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "fs/content/open_file.hpp"
#include "fs/content/readahead.hpp"
#include "fs/source/contents.hpp"
#include "fs/source/file_handle.hpp"

namespace bloscfs::fs {

/// Makes a handle of a node's open container; `flags` as in open(2). The caller closes the handle,
/// and `contents` outlives it. Opening for writing throws EROFS or codec::Error if the file cannot
/// be changed, and ESTALE if `file` is no longer the node's open file.
std::shared_ptr<FileHandle> open_handle(Request& request, Contents& contents, NodeId node,
                                        const std::shared_ptr<const OpenContainer>& file,
                                        int flags);

/// A handle for reading. It sees writes through this mount, but stays in the epoch that it opened.
class ContainerHandle : public FileHandle {
 public:
  /// `opener`: the id of the thread that opens the file, 0 if unknown.
  ContainerHandle(Contents& contents, NodeId node, int flags, pid_t opener,
                  std::shared_ptr<const OpenContainer> file);
  ~ContainerHandle() override { leave_start(); }

  /// The file's attributes as they are now, or as they were at the open if the node is gone.
  struct stat attributes(Request& request) const override;
  /// True if the same thread has another handle that has read no further than the file's start.
  /// NumPy maps files this way: it loads the header, then opens the file again to map it. Programs
  /// that read a whole file usually open it once.
  bool may_be_mapped() const override { return may_be_mapped_; }
  void expect_more(std::int64_t offset, std::int64_t size, uid_t user) override;
  ReadBytes read(Request& request, std::int64_t offset, std::int64_t size) final;
  std::int64_t seek(Request& request, std::int64_t offset, int whence) const override;
  bool has_writers() const override { return content().has_writers(); }
  void sync(Request& request) override;
  void close(Request& request) override;

 protected:
  Content& content() const { return *file_->content; }
  virtual void read_into(Request& request, ReplyData& out, std::int64_t offset, std::int64_t size);

  Contents& contents_;
  const std::shared_ptr<const OpenContainer> file_;
  std::atomic<std::uint64_t> epoch_;  ///< the content's epoch that this handle knows

 private:
  /// Takes this handle out of OpenContainer::beginners: it has read beyond the file's start.
  void leave_start();

  Readahead readahead_;
  std::atomic<bool> is_at_start_ = false;  ///< counted in OpenContainer::beginners
  bool may_be_mapped_ = false;
  bool is_over_network_ = false;  ///< reading the frame costs network round trips
};

/// A handle for writing. While a file has one, the file keeps its representation, unless all of its
/// contents are new.
class ContainerWriter final : public ContainerHandle {
 public:
  using ContainerHandle::ContainerHandle;

  /// Prepares the content for writing and counts this writer. Must be called before any other
  /// function. After an error, the caller must not call close().
  void begin(Request& request, std::shared_ptr<ContentHome> home);
  std::size_t write(Request& request, const WritePlace& place, codec::Bytes bytes) override;
  std::size_t write(Request& request, const WritePlace& place,
                    std::span<PooledBuffer> cells) override;
  std::optional<uid_t> dirty_user() const override { return content().user(); }
  void truncate(Request& request, std::int64_t size) override;
  void allocate(Request& request, int mode, std::int64_t offset, std::int64_t size) override;
  void sync(Request& request) override;
  void flush(Request& request) override;
  void close(Request& request) override;

 private:
  void read_into(Request& request, ReplyData& out, std::int64_t offset, std::int64_t size) override;
  template <typename Bytes>
  void put(Request& request, const WritePlace& place, Bytes bytes, std::size_t size);
  template <typename Work>
  void change(Request& request, const Work& work);
  Content& content_to_change(Request& request);
  void note_dirty();
  void report_lost_writes();
};

}  // namespace bloscfs::fs
