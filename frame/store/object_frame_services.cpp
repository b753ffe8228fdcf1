#include "frame/store/object_frame_services.hpp"

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <system_error>

#include "frame/store/object_index.hpp"
#include "frame/store/sframe_names.hpp"
#include "frame/store/throw_errno.hpp"
#include "frame/store/wait_context.hpp"

namespace bloscfs::frame::inline store {
namespace {

/// How long to wait for a tombstone to be deleted, which normally takes one round trip.
constexpr std::chrono::seconds kLongestWait{2};
constexpr std::chrono::milliseconds kBetweenLooks{100};
/// Age from which no old DELETE of a tombstone can arrive any more: stores refuse signatures that
/// are over 15 minutes old.
constexpr std::int64_t kOver = std::int64_t{20} * 60;

bool is_over(const ObjectState& tombstone) {
  return tombstone.modified > 0 && tombstone.server_time - tombstone.modified >= kOver;
}

}  // namespace

std::shared_ptr<const ObjectSource> ObjectFrameServices::open_index(const std::string& path) const {
  try {
    return tree_->open(path + "/" + kSframeIndexName, nullptr);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::no_such_file_or_directory) return nullptr;
    throw;
  }
}

void ObjectFrameServices::note_taken(const std::string& path) {
  const std::lock_guard guard(mutex_);
  const auto planned = planned_.find(path);
  if (planned != planned_.end()) planned->second.is_taken = true;
}

void ObjectFrameServices::set_owner(const std::string& path, const FileAttributes& owner) {
  const std::lock_guard guard(mutex_);
  Planned& planned = planned_[path];
  planned.owner = owner;
  planned.is_taken = false;
}

bool ObjectFrameServices::is_planned(const std::string& path) const {
  const std::lock_guard guard(mutex_);
  return planned_.contains(path);
}

void ObjectFrameServices::forget_plan(const std::string& path) {
  const std::lock_guard guard(mutex_);
  planned_.erase(path);
}

void ObjectFrameServices::await_own_removal(const std::string& path) const {
  const auto end = wait_clock().now() + kLongestWait;
  while (is_being_removed(path + "/" + kSframeIndexName)) {
    if (wait_clock().now() >= end) throw_errno(EBUSY, path + ": its removal is under way");
    Interruption::pause(kBetweenLooks);
  }
}

std::optional<ObjectState> ObjectFrameServices::place_for(const std::string& path) const {
  const auto end = wait_clock().now() + kLongestWait;
  // Becomes true once a new frame may follow what the object store has. It stays true when the
  // tombstone is deleted during the wait.
  for (bool is_followed = false;;) {
    const auto left = open_index(path);
    const std::string commit = left ? commit_of(left->state()) : std::string();
    if (left && left->state().size > 0) {
      if (!was_attempted(path, commit)) throw_errno(ESTALE, path);
      return left->state();
    }
    is_followed |= may_follow(path, commit);
    if (!is_followed) throw_errno(ESTALE, path);
    if (!left) return std::nullopt;
    if (tree_->keeps_conditions_of_removals() || is_over(left->state())) return left->state();
    if (wait_clock().now() >= end) throw_errno(EBUSY, path + ": its removal is under way");
    Interruption::pause(kBetweenLooks);
  }
}

FileAttributes ObjectFrameServices::owned(const std::string& path,
                                          FileAttributes attributes) const {
  const std::lock_guard guard(mutex_);
  const auto found = planned_.find(path);
  if (found == planned_.end()) return attributes;
  attributes.owner = found->second.owner.owner;
  attributes.group = found->second.owner.group;
  attributes.mode = found->second.owner.mode;
  return attributes;
}

void ObjectFrameServices::forget_owner(const std::string& path, StoreFile& index) {
  index.set_attributes(owned(path, index.attributes()));
  const std::lock_guard guard(mutex_);
  planned_.erase(path);
}

void ObjectFrameServices::note_attempt(const std::string& path, const std::string& commit,
                                       const std::string& base) {
  const std::lock_guard guard(mutex_);
  const auto planned = planned_.find(path);
  if (planned == planned_.end()) return;
  if (planned->second.attempts.empty()) planned->second.base = base;
  planned->second.attempts.insert(commit);
}

bool ObjectFrameServices::may_follow(const std::string& path, const std::string& commit) const {
  const std::lock_guard guard(mutex_);
  const auto planned = planned_.find(path);
  return planned == planned_.end() || planned->second.attempts.empty() ||
         planned->second.base == commit;
}

bool ObjectFrameServices::was_attempted(const std::string& path, const std::string& commit) const {
  const std::lock_guard guard(mutex_);
  const auto planned = planned_.find(path);
  return planned != planned_.end() && planned->second.attempts.contains(commit);
}

bool ObjectFrameServices::is_taken(const std::string& path) const {
  const std::lock_guard guard(mutex_);
  const auto planned = planned_.find(path);
  return planned != planned_.end() && planned->second.is_taken;
}

}  // namespace bloscfs::frame::inline store
