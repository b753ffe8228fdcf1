#include "fs/committer.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "fs/content_commit.hpp"
#include "fs/log.hpp"

namespace bloscfs::fs {
namespace {

/// A closed file is committed after this time at the latest; others may join until then.
constexpr std::chrono::seconds kGroupDelay{4};
constexpr std::chrono::milliseconds kPoll{500};
/// Files that share their flushes, and are open meanwhile.
constexpr std::size_t kBatch = 256;
/// From this many files on one flush of the whole filesystem costs less than one each.
constexpr std::size_t kSharedFlush = 4;

/// Dirty bytes of a file for which it pays to write another index behind them.
constexpr std::size_t kWorthStaging = std::size_t{4} << 20;

std::error_code code_of(const std::exception& error) {
  if (const auto* system = dynamic_cast<const std::system_error*>(&error)) {
    if (system->code().category() == std::generic_category() ||
        system->code().category() == std::system_category())
      return system->code();
  }
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr)
    return std::make_error_code(std::errc::not_enough_memory);
  return std::make_error_code(std::errc::io_error);
}

/// What a commit failed with; nothing where its file was removed meanwhile, which asks for none.
std::error_code failure_of(const Content& content, const std::exception& error) {
  if (content.is_orphan()) return {};
  const std::error_code code = code_of(error);
  if (code != std::errc::resource_unavailable_try_again) log::warn(error.what());
  return code;
}

}  // namespace

void Committer::start(std::function<void(const std::error_code&)> ended,
                      std::function<void()> sync_all) {
  ended_ = std::move(ended);
  sync_all_ = std::move(sync_all);
  thread_ = std::thread([this] { work(); });
}

void Committer::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void Committer::note(const std::shared_ptr<Content>& content, std::shared_ptr<const void> owner) {
  const MutexLock lock(mutex_);
  const auto [entry, is_new] = dirty_.try_emplace(content.get());
  if (is_new) entry->second = {content, std::move(owner), std::nullopt};
}

void Committer::queue(const std::shared_ptr<Content>& content, bool at_once) {
  const MutexLock lock(mutex_);
  const auto entry = dirty_.find(content.get());
  if (entry == dirty_.end()) return;
  if (at_once) {
    entry->second.due = Clock::now();
    wake_.notify_all();
  } else if (!entry->second.due) {
    entry->second.due = Clock::now() + kGroupDelay;
  }
}

void Committer::press(bool all) {
  const MutexLock lock(mutex_);
  pressure_ = std::max(pressure_, all ? Pressure::all : Pressure::staging);
  wake_.notify_all();
}

void Committer::drop(const Content& content) {
  Entry dropped;  // destroyed after the lock is released
  const MutexLock lock(mutex_);
  const auto entry = dirty_.find(&content);
  if (entry == dirty_.end()) return;
  dropped = std::move(entry->second);
  dirty_.erase(entry);
}

Committer::Contents Committer::due_contents(Pressure pressure) {
  const MutexLock lock(mutex_);
  const auto now = Clock::now();
  Contents due;
  for (const auto& [content, entry] : dirty_)
    if ((entry.due && *entry.due <= now) ||
        (pressure == Pressure::all && !content->can_be_staged(0)))
      due.push_back(entry.content);
  return due;
}

bool Committer::stage(std::size_t least_dirty) {
  bool goes_on = false;
  for (const auto& content : all_contents()) {
    if (!content->can_be_staged(least_dirty)) continue;
    const std::error_code failure = stage(content);
    if (failure)
      settle(content, failure);
    else if (ended_)
      ended_({});
    goes_on |= !failure && content->can_be_staged(kWorthStaging);
  }
  return goes_on;
}

std::error_code Committer::stage(const std::shared_ptr<Content>& content) {
  const bool was_orphan = content->is_orphan();
  ContentCommit commit(content, CommitKind::staged);
  if (commit.empty()) return {};
  try {
    commit.stage();
    return {};
  } catch (const std::exception& error) {
    // Removed in the midst of it: the writer who wants the memory asks again.
    if (content->is_orphan() != was_orphan) return {};
    log::warn(error.what());
    const std::error_code failure = code_of(error);
    commit.fail(failure);
    return failure;
  }
}

Committer::Contents Committer::all_contents() {
  const MutexLock lock(mutex_);
  Contents all;
  for (const auto& [content, entry] : dirty_) all.push_back(entry.content);
  return all;
}

void Committer::work() {
  while (true) {
    Pressure pressure = Pressure::none;
    {
      const MutexLock lock(mutex_);
      if (pressure_ == Pressure::none && !stopping_) wake_.wait_for(mutex_, kPoll);
      if (stopping_) return;
      pressure = std::exchange(pressure_, Pressure::none);
    }
    if (pressure != Pressure::none && stage(pressure == Pressure::all ? 1 : kWorthStaging))
      press(false);
    commit_in_batches(due_contents(pressure));
  }
}

void Committer::settle(const std::shared_ptr<Content>& content, const std::error_code& error) {
  if (error) {
    stats_.commit_failures++;
    log::error(fmt::format("a commit failed: {}", error.message()));
  } else {
    stats_.commits++;
  }
  {
    Entry done;  // destroyed after the lock is released
    const MutexLock lock(mutex_);
    const auto entry = dirty_.find(content.get());
    if (entry != dirty_.end()) {
      if (error)
        entry->second.due = Clock::now() + kGroupDelay;
      else if (!content->needs_commit()) {
        done = std::move(entry->second);
        dirty_.erase(entry);
      } else if (content->has_writers()) {
        entry->second.due.reset();
      } else {
        // Something happened to it meanwhile: nobody will close it again.
        entry->second.due = Clock::now();
      }
    }
  }
  if (ended_) ended_(error);
}

std::error_code Committer::commit_batch(const Contents& contents) {
  const MutexLock batch_lock(batch_mutex_);
  Batch batch;
  for (const auto& content : contents) {
    auto commit = std::make_unique<ContentCommit>(content, CommitKind::grouped);
    if (!commit->empty()) {
      batch.commits.push_back(std::move(commit));
      continue;
    }
    commit.reset();
    settle(content, {});
  }
  run(batch, &ContentCommit::write);
  flush(batch);
  run(batch, &ContentCommit::publish);
  flush(batch);
  run(batch, &ContentCommit::finish);
  for (auto& commit : batch.commits) {
    if (!commit) continue;
    const std::shared_ptr<Content> content = commit->content();
    commit.reset();
    settle(content, {});
  }
  for (const auto& content : batch.again) {
    const std::error_code error = commit_now(content);
    if (error && !batch.first_error) batch.first_error = error;
  }
  return batch.first_error;
}

void Committer::run(Batch& batch, void (ContentCommit::*step)()) {
  for (auto& commit : batch.commits) {
    if (!commit) continue;
    try {
      ((*commit).*step)();
    } catch (const std::exception& error) {
      const std::error_code failure = failure_of(*commit->content(), error);
      if (failure == std::errc::resource_unavailable_try_again) {
        batch.again.push_back(commit->content());
        commit.reset();
      } else {
        give_up(batch, commit, failure);
      }
    }
  }
}

void Committer::give_up(Batch& batch, std::unique_ptr<ContentCommit>& commit,
                        const std::error_code& error) {
  if (error) commit->fail(error);
  const std::shared_ptr<Content> content = commit->content();
  commit.reset();
  settle(content, error);
  if (!batch.first_error) batch.first_error = error;
}

void Committer::flush(Batch& batch) {
  if (batch.commits.size() < kSharedFlush) return run(batch, &ContentCommit::flush);
  try {
    sync_all_();
    run(batch, &ContentCommit::flushed);
  } catch (const std::system_error& error) {
    for (auto& commit : batch.commits)
      if (commit) give_up(batch, commit, error.code());
  }
}

void Committer::commit(const Contents& contents) {
  const std::error_code error =
      contents.size() == 1 ? commit_now(contents.front()) : commit_in_batches(contents);
  if (error) throw std::system_error(error, "commit");
}

std::error_code Committer::commit_now(const std::shared_ptr<Content>& content) {
  std::error_code failure;
  do {
    failure = {};
    ContentCommit commit(content, CommitKind::alone);
    if (commit.empty()) return {};
    try {
      commit.write();
      commit.flush();
      commit.publish();
      commit.flush();
      commit.finish();
    } catch (const std::exception& error) {
      failure = failure_of(*content, error);
    }
  } while (failure == std::errc::resource_unavailable_try_again);
  settle(content, failure);
  return failure;
}

void Committer::commit_all() { commit(all_contents()); }

std::error_code Committer::commit_in_batches(const Contents& contents) {
  std::error_code first_error;
  for (std::size_t begin = 0; begin < contents.size(); begin += kBatch) {
    const auto first = contents.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto count = static_cast<std::ptrdiff_t>(std::min(kBatch, contents.size() - begin));
    const std::error_code error = commit_batch({first, first + count});
    if (error && !first_error) first_error = error;
  }
  return first_error;
}

}  // namespace bloscfs::fs
