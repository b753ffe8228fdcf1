#pragma once
// Commits of many files that share their flushes.

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
  std::uint64_t epoch = 0;  ///< the content's when it was frozen
  Outcome outcome;
  /// Null where that is not go_on. While it lives no other thread can commit the content.
  std::unique_ptr<ContentCommit> commit;
};

struct BatchServices {
  /// Makes all of SOURCE's filesystem durable; empty: each file is flushed for itself.
  const std::function<void()>& sync_all;
  /// Called when a commit has written, and not published yet. Throws where what it has written must
  /// not stay.
  const std::function<void(const Content&)>& check_written;
  /// Threads that help with the steps; null: none. The steps wait for the workers that encode, and
  /// so these have to be others.
  WorkerPool* helpers = nullptr;
  std::size_t worth_helper = 4;  ///< files for each of them, at least
};

/// Commits each file once, all of them step by step together; returns how each commit has ended.
/// Waits for no lock: a file that is locked ends with that outcome. One batch at a time, since it
/// holds all contents that it commits, in the order of their addresses.
std::vector<BatchedCommit> commit_together(std::vector<std::shared_ptr<Content>> contents,
                                           const BatchServices& services);

}  // namespace bloscfs::fs
