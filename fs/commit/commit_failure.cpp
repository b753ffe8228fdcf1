#include "fs/commit/commit_failure.hpp"

#include <new>

#include "frame/store/lock_patience.hpp"
#include "fs/commit/content_commit.hpp"

namespace bloscfs::fs {
namespace {

std::error_code code_of(const std::exception& error) {
  if (const auto* system = dynamic_cast<const std::system_error*>(&error)) {
    if (system->code().category() == std::generic_category() ||
        system->code().category() == std::system_category())
      return system->code();
    const std::error_condition told = system->code().default_error_condition();
    if (told.category() == std::generic_category()) return {told.value(), told.category()};
  }
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr)
    return std::make_error_code(std::errc::not_enough_memory);
  return std::make_error_code(std::errc::io_error);
}

Obstacle obstacle_of(const std::exception& error) {
  if (dynamic_cast<const BeingWritten*>(&error) != nullptr) return Obstacle::unfinished;
  if (dynamic_cast<const frame::LockedByOthers*>(&error) != nullptr) return Obstacle::locked;
  if (dynamic_cast<const LongCommit*>(&error) != nullptr) return Obstacle::long_work;
  return Obstacle::none;
}

}  // namespace

CommitFailure failure_of(const std::exception& error) {
  return {code_of(error), error.what(), obstacle_of(error)};
}

CommitFailure failure_of(const Content& content, const std::exception& error) {
  return content.is_orphan() ? CommitFailure() : failure_of(error);
}

bool asks_again(const CommitFailure& failure) {
  return failure.code == std::errc::resource_unavailable_try_again;
}

}  // namespace bloscfs::fs
