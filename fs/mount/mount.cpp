#include "fs/mount/mount.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <stdexcept>
#include <utility>

#include <fmt/core.h>

#include "frame/store/throw_errno.hpp"
#include "frame/store/wait_context.hpp"
#include "fs/support/log.hpp"
#include "fs/view/attributes.hpp"

namespace bloscfs::fs {
namespace {

/// Returns how many bytes may be decoded ahead at once. They count to cache_size.
std::int64_t readahead_limit(std::size_t cache_size) {
  return static_cast<std::int64_t>(std::min(cache_size / 16, std::size_t{16} << 20));
}

}  // namespace

Mount::Mount(const MountOptions& options, std::size_t workers, PagePool& pages,
             const frame::Clock& clock, const MakeSource& make_source)
    : clock_(clock),
      cache_(options.cache_size, pages, stats_),
      write_options_(options.write),
      budget_(
          dirty_limit(options), stats_, [this](bool all) { committer_.press(all); }, clock),
      readahead_budget_(readahead_limit(options.cache_size), clock),
      content_services_{cache_,      stats_,           {options.verify, Work::kRequestLimit},
                        pool_,       budget_,          write_options_,
                        options.raw, next_content_id_, std::make_shared<frame::RecentWriters>(),
                        clock},
      services_{content_services_, readahead_budget_, log_,         direct_handles_,
                committer_,        contents_,         kernel_cache_},
      contents_(services_),
      last_release_(clock.now()),
      pool_(workers),
      committer_(stats_, clock) {
  committer_.set_commits_at_close(options.write.strict);
  committer_.set_longest_wait(options.write.longest_wait);
  source_ = make_source(services_);
  contents_.set_source(*source_);
  directories_.emplace(*source_, cache_.budget());
  extended_attributes_.emplace(*source_, contents_, cache_.budget());
  if (!source_->is_writable()) return;
  Committer::Services committing = source_->committing();
  committing.ended = [this](uid_t user, const std::error_code& error) {
    budget_.commit_ended(user, error);
  };
  committing.follow = [this](const std::shared_ptr<Content>& content, IfBeingWritten unfinished) {
    Request request(content->user());
    return contents_.follow(request, content, unfinished);
  };
  committer_.start(std::move(committing));
}

/// Closes the files that are still open, which cancels their readahead.
Mount::~Mount() {
  source_->begin_end();
  committer_.stop();
  handles_.clear();
}

std::string Mount::attribute(Request& request, NodeId node, const std::string& name) {
  if (node == kRootId && name == kStatsAttribute) {
    stats_.budget_bytes = cache_.budget().used();
    const auto waiting = committer_.uncommitted();
    stats_.failing_files = static_cast<std::uint64_t>(
        std::ranges::count_if(waiting, [](const auto& one) { return bool(one.failure); }));
    return source_->statistics();
  }
  if (!has_supported_namespace(name)) frame::throw_errno(EOPNOTSUPP, name);
  return extended_attributes_->read(request, node, name);
}

Mount::Opened Mount::open(Request& request, NodeId node, int flags, FairShare::Part descriptors) {
  OpenedFile opened = source_->open(request, node, flags, std::move(descriptors));
  if (opened.handle->is_direct()) direct_handles_++;
  const bool may_be_mapped = opened.handle->may_be_mapped();
  return {handles_.add(std::move(opened.handle)), opened.changed, may_be_mapped};
}

std::shared_ptr<FileHandle> Mount::handle(std::uint64_t number) const {
  auto found = handles_.find(number);
  if (!found) frame::throw_errno(EBADF, "file handle");
  return found;
}

void Mount::release(Request& request, std::uint64_t number) {
  const auto closed = handle(number);
  closed->before_close(request);
  const Change change(request);
  handles_.remove(number);
  if (closed->is_direct()) direct_handles_--;
  closed->close(change);
  last_release_ = clock_.now();
}

void Mount::commit_written() {
  if (!source_->is_writable()) frame::throw_errno(EROFS, "commit");
  try {
    committer_.commit_all();
  } catch (const std::exception&) {
    log_uncommitted();
    throw;
  }
}

/// Logs each file whose last commit has failed. Earlier log lines of it may be old.
void Mount::log_uncommitted() {
  for (const auto& [content, failure, reason] : committer_.uncommitted()) {
    if (!failure) continue;
    const bool is_full = failure == std::errc::no_space_on_device ||
                         failure == std::error_code(EDQUOT, std::generic_category());
    log::error(content->user(),
               fmt::format("{}: not committed ({}): {} bytes wait in the mount; {}",
                           content->path(), reason, content->uncommitted_bytes(),
                           is_full ? "free space in SOURCE" : "remove the cause"));
  }
}

void Mount::commit_all() {
  // Limits the waits for locks of all files together, not of each file.
  const frame::LockTimeout for_all(frame::kLockTimeout);
  source_->begin_end();
  committer_.stop();
  try {
    committer_.commit_all();
  } catch (const std::exception&) {
    keep_uncommitted();
  }
}

/// Saves the changes that the last commits could not store, and logs the fate of each file. Throws
/// std::runtime_error with a summary if any file was not committed.
void Mount::keep_uncommitted() {
  const auto left = committer_.uncommitted();
  for (const auto& [content, failure, reason] : left) {
    Request request(content->user());
    std::string name, fate;
    try {
      name = content->path();
      const auto kept = content->keep_for_recovery(request);
      fate = kept ? "kept as " + kept->path : "attributes lost";
      if (kept) fate += text_of(kept->loss);
    } catch (const std::exception& error) {
      const std::string obstacle = source_->rescue().obstacle;
      fate = fmt::format("contents lost, {} bytes ({}{}{})", content->uncommitted_bytes(),
                         error.what(), obstacle.empty() ? "" : "; no rescue folder: ", obstacle);
    }
    log::error(fmt::format("{}: not committed ({}): {}", name, reason, fate));
  }
  if (!left.empty())
    throw std::runtime_error(fmt::format("not committed before the end: {} file{}", left.size(),
                                         left.size() == 1 ? "" : "s"));
}

std::vector<Mount::Uncommitted> Mount::uncommitted() {
  std::vector<Uncommitted> described;
  for (const auto& [content, failure, reason] : committer_.uncommitted())
    described.push_back({content->path(), content->uncommitted_bytes(), content->size(),
                         failure ? reason : std::string()});
  return described;
}

void Mount::change_options(const MountOptions& options) {
  if (options.cache_size > cache_.budget().capacity()) cache_.grow(options.cache_size);
  budget_.set_limit(dirty_limit(options));
  committer_.set_commits_at_close(options.write.strict);
  committer_.set_longest_wait(options.write.longest_wait);
}

frame::Clock::Duration Mount::idle_time() const {
  if (handles_.size() != 0) return frame::Clock::Duration::zero();
  return clock_.now() - last_release_.load();
}

}  // namespace bloscfs::fs
