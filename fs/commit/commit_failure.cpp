#include "fs/commit/commit_failure.hpp"

#include "frame/store/lock_patience.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/commit/content_commit.hpp"
#include "fs/content/patient_lock.hpp"
#include "fs/support/error_number.hpp"

namespace bloscfs::fs {
namespace {

Obstacle obstacle_of(const std::exception& error) {
  if (dynamic_cast<const BeingWritten*>(&error) != nullptr) return Obstacle::unfinished;
  if (dynamic_cast<const frame::LockedByOthers*>(&error) != nullptr) return Obstacle::locked;
  if (dynamic_cast<const LongCommit*>(&error) != nullptr) return Obstacle::long_work;
  return Obstacle::none;
}

}  // namespace

CommitFailure failure_of(const std::exception& error) {
  return {frame::errno_code(errno_of(error)), error.what(), obstacle_of(error),
          dynamic_cast<const LockedByOwnThread*>(&error) != nullptr};
}

CommitFailure failure_of(const Content& content, const std::exception& error) {
  // Removing a file in the midst of its commit makes steps fail that go by its name; nobody is to
  // hear of that.
  return content.is_orphan() ? CommitFailure() : failure_of(error);
}

bool asks_again(const CommitFailure& failure) {
  return failure.code == std::errc::resource_unavailable_try_again;
}

}  // namespace bloscfs::fs
