#pragma once
// Commits many files together, so that they share their flushes.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "fs/commit/commit_outcome.hpp"
#include "fs/commit/content_commit.hpp"
#include "fs/content/content.hpp"
#include "fs/support/worker_pool.hpp"

namespace bloscfs::fs {

struct BatchedCommit {
  std::shared_ptr<Content> content;
  std::uint64_t epoch = 0;  ///< the content's epoch when it was frozen
  Outcome outcome;
  /// Null unless the outcome is proceed. While it lives, no other thread can commit the content.
  std::unique_ptr<ContentCommit> commit;
};

struct BatchServices {
  /// Makes the whole filesystem of SOURCE durable. Empty: each file is flushed separately.
  const std::function<void()>& sync_all;
  /// Called after a commit has written, and before it publishes. Throws if the written state must
  /// not be published.
  const std::function<void(const Content&)>& check_written;
  /// Threads that help with the steps; null: none. They must not be the encoding workers, since the
  /// steps wait for those.
  WorkerPool* helpers = nullptr;
  std::size_t files_per_helper = 4;  ///< least number of files for each helper
};

/// Commits each file once, all files step by step together, and returns how each commit ended. Does
/// not wait for locks: the commit of a locked file ends with wait_for_lock or wait_for_thread. Only
/// one batch may run at a time, since a batch locks all its contents, in the order of their
/// addresses.
std::vector<BatchedCommit> commit_together(std::vector<std::shared_ptr<Content>> contents,
                                           const BatchServices& services);

}  // namespace bloscfs::fs
