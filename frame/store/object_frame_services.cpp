#include "frame/store/object_frame_services.hpp"

#include <system_error>

#include "frame/store/sframe_names.hpp"

namespace bloscfs::frame::inline store {

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

void ObjectFrameServices::forget_plan(const std::string& path) {
  const std::lock_guard guard(mutex_);
  planned_.erase(path);
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
