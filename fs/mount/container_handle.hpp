#pragma once
// Handles of containers: what is read and written goes to the content that all handles of a node
// share, and each handle knows which epoch of that it goes on from.

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>

#include "fs/content/readahead.hpp"
#include "fs/mount/file_contents.hpp"
#include "fs/mount/file_handle.hpp"
#include "fs/mount/once_log.hpp"
#include "fs/source/source_root.hpp"
#include "fs/support/page_pool.hpp"
#include "fs/support/worker_pool.hpp"

namespace bloscfs::fs {

/// What the handles of a mount's containers share. Outlives their last use.
struct ContainerServices {
  Tree& tree;
  const SourceRoot& root;
  FileContents& contents;
  Committer& committer;
  Stats& stats;
  WorkerPool& pool;
  ReadaheadBudget& readahead;
  OnceLog& log;
  const std::atomic<int>& direct_handles;  ///< open with O_DIRECT
  PagePool& pages;
  bool commit_at_close;

  void log_bad_data(NodeId node, const std::exception& error) const;
};

/// Opened for reading.
class ContainerHandle : public FileHandle {
 public:
  ContainerHandle(const ContainerServices& services, NodeId node, int flags,
                  std::shared_ptr<const OpenContainer> file);

  struct stat attributes() const override;
  void expect_more(std::int64_t offset, std::int64_t size, uid_t user) override;
  ReadBytes read(std::int64_t offset, std::int64_t size) final;
  std::int64_t seek(std::int64_t offset, int whence) const override;
  bool has_writers() const override { return content().has_writers(); }
  void sync() override;
  void close() override;

 protected:
  Content& content() const { return *file_->content; }
  virtual void read_into(ReplyData& out, std::int64_t offset, std::int64_t size);

  const ContainerServices& services_;
  const std::shared_ptr<const OpenContainer> file_;
  std::atomic<std::uint64_t> epoch_;  ///< of the content: the last one that it knows of

 private:
  Readahead readahead_;
};

/// Opened for writing: while one is there the file keeps its representation, unless all of it is
/// new.
class ContainerWriter final : public ContainerHandle {
 public:
  using ContainerHandle::ContainerHandle;

  /// To be called before anything else. Errors as Content::make_writable()'s: then it has not
  /// begun, and there is nothing to close.
  void begin(std::shared_ptr<ContentHome> home);
  std::size_t write(const WritePlace& place, codec::Bytes bytes) override;
  std::size_t write(const WritePlace& place, std::span<PooledBuffer> cells) override;
  void truncate(std::int64_t size) override;
  void allocate(int mode, std::int64_t offset, std::int64_t size) override;
  void sync() override;
  void flush() override;
  void close() override;

 private:
  void read_into(ReplyData& out, std::int64_t offset, std::int64_t size) override;
  template <typename Bytes>
  void put(const WritePlace& place, Bytes bytes);
  template <typename Change>
  void change(const Change& change);
  Content& changing();
  void tell_loss();
  void require_space(std::int64_t size) const;
};

}  // namespace bloscfs::fs
