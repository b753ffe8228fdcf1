#pragma once
// Handles of contents, opened for reading, wherever these are stored.

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>

#include "fs/content/open_file.hpp"
#include "fs/content/readahead.hpp"
#include "fs/mount/file_handle.hpp"
#include "fs/support/once_log.hpp"
#include "fs/support/page_pool.hpp"
#include "fs/support/stats.hpp"
#include "fs/support/worker_pool.hpp"

namespace bloscfs::fs {

/// What the handles of a mount that read contents share. Outlives their last use.
struct ReadingServices {
  Stats& stats;
  WorkerPool& pool;
  ReadaheadBudget& readahead;
  OnceLog& log;
  const std::atomic<int>& direct_handles;  ///< open with O_DIRECT
  PagePool& pages;

  void log_bad_data(const std::string& told_path, const std::exception& error) const;
};

/// Reads what was opened, and nothing that came since.
class ContentHandle : public FileHandle {
 public:
  ContentHandle(const ReadingServices& services, NodeId node, int flags,
                std::shared_ptr<const OpenContainer> file);

  /// Those of the state that was opened.
  struct stat attributes() const override {
    return file_->attributes;
  }
  void expect_more(std::int64_t offset, std::int64_t size, uid_t user) override;
  ReadBytes read(std::int64_t offset, std::int64_t size) final;
  std::int64_t seek(std::int64_t offset, int whence) const override;
  bool has_writers() const override { return content().has_writers(); }
  void sync() override {}

 protected:
  Content& content() const { return *file_->content; }
  virtual void read_into(ReplyData& out, std::int64_t offset, std::int64_t size);
  /// For messages.
  virtual std::string told_path() const = 0;

  const std::shared_ptr<const OpenContainer> file_;
  std::atomic<std::uint64_t> epoch_;  ///< of the content: the last one that it knows of

 private:
  const ReadingServices& reading_;
  Readahead readahead_;
};

}  // namespace bloscfs::fs
