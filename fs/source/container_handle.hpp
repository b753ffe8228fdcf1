#pragma once
// Handles of containers: what is read and written goes to the content that all handles of a node
// share, and each handle knows which epoch of that it goes on from.

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "fs/content/open_file.hpp"
#include "fs/content/readahead.hpp"
#include "fs/source/contents.hpp"
#include "fs/source/file_handle.hpp"

namespace bloscfs::fs {

/// A handle of what is open of a node. `flags` as of open(2); the caller closes the handle. For
/// writing: errors as of Contents::require_changeable(), ESTALE where the node has meanwhile given
/// way to another one. `contents` outlives it.
std::shared_ptr<FileHandle> open_handle(Request& request, Contents& contents, NodeId node,
                                        const std::shared_ptr<const OpenContainer>& file,
                                        int flags);

/// Opened for reading: reads what was opened, and nothing that came since.
class ContainerHandle : public FileHandle {
 public:
  /// `opener`: the thread, 0 if that is not known.
  ContainerHandle(Contents& contents, NodeId node, int flags, pid_t opener,
                  std::shared_ptr<const OpenContainer> file);
  ~ContainerHandle() override { leave_start(); }

  /// Those of the file, which others may have changed since.
  struct stat attributes(Request& request) const override;
  /// True if its opener has another handle that has read no more than the file's start: who has
  /// loaded a header opens the file again to map it, as NumPy does. Programs that read a whole file
  /// usually open it once.
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
  std::atomic<std::uint64_t> epoch_;  ///< of the content: the last one that it knows of

 private:
  void leave_start();

  Readahead readahead_;
  std::atomic<bool> is_at_start_ = false;  ///< counted among the beginners of the file
  bool may_be_mapped_ = false;
  bool is_far_ = false;
};

/// Opened for writing: while one is there the file keeps its representation, unless all of it is
/// new.
class ContainerWriter final : public ContainerHandle {
 public:
  using ContainerHandle::ContainerHandle;

  /// To be called before anything else. Errors as Content::make_writable()'s: then it has not
  /// begun, and there is nothing to close.
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
  void tell_loss();
};

}  // namespace bloscfs::fs
