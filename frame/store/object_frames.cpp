#include "frame/store/object_frames.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include "frame/store/object_frame.hpp"
#include "frame/store/object_index.hpp"
#include "frame/store/sframe_names.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline store {

/// A directory whose subdirectories are sparse frames.
class ObjectParent final : public StoreDirectory {
 public:
  ObjectParent(std::shared_ptr<ObjectFrames> frames, std::string path)
      : frames_(std::move(frames)), path_(std::move(path)) {}

  /// Does nothing. A frame exists as soon as something is committed to it.
  void make_directory(const std::string&, mode_t) override {}
  std::shared_ptr<StoreDirectory> open_directory(const std::string& name) override {
    return frames_->to_write(path_.empty() ? name : path_ + "/" + name);
  }
  std::optional<FileStamp> stamp(const std::string&) const override { return std::nullopt; }
  std::vector<std::string> names() const override { return {}; }
  void sync() override {}
  int descriptor() const override { return -1; }

  std::shared_ptr<StoreFile> open(const std::string& name) override { refuse(name); }
  std::shared_ptr<const ByteSource> open_source(const std::string&) const override {
    return nullptr;
  }
  std::shared_ptr<StoreFile> create(const std::string& name, mode_t) override { refuse(name); }
  void rename(const std::string& from, const std::string&, RenameMode) override { refuse(from); }
  void unlink(const std::string& name) override { refuse(name); }

 private:
  [[noreturn]] static void refuse(const std::string& name) { throw_errno(EOPNOTSUPP, name); }

  const std::shared_ptr<ObjectFrames> frames_;
  const std::string path_;
};

std::shared_ptr<ObjectFrame> ObjectFrames::in_use(const std::string& path) {
  const std::lock_guard guard(mutex_);
  std::erase_if(frames_, [](const auto& known) { return known.second.expired(); });
  const auto found = frames_.find(path);
  return found == frames_.end() ? nullptr : found->second.lock();
}

std::shared_ptr<ObjectFrame> ObjectFrames::opened(const std::string& path) {
  auto used = in_use(path);
  if (used) {
    used->resolve();
    if (!used->is_removed()) return used;
  }
  auto made = std::make_shared<ObjectFrame>(services_, path, services_->open_index(path));
  const std::lock_guard guard(mutex_);
  auto& known = frames_[path];
  // Another thread may have opened the frame first.
  if (auto other = known.lock(); other && other != used) return other;
  known = made;
  return made;
}

/// Returns the frame for a writer. Does not ask the object store about a planned frame: the frame's
/// first PUT fails if the name is taken.
std::shared_ptr<ObjectFrame> ObjectFrames::to_write(const std::string& path) {
  if (in_use(path) || !services_->is_planned(path)) return opened(path);
  auto made = std::make_shared<ObjectFrame>(services_, path, nullptr);
  const std::lock_guard guard(mutex_);
  auto& known = frames_[path];
  if (auto other = known.lock()) return other;
  known = made;
  return made;
}

std::shared_ptr<StoreDirectory> ObjectFrames::frame(
    const std::string& path, const std::shared_ptr<const ObjectSource>& index) {
  const auto used = in_use(path);
  if (used) {
    switch (used->compare(index->state())) {
      case ObjectFrame::Comparison::same:
        return used;
      case ObjectFrame::Comparison::outdated:
        throw_errno(ESTALE, path);
      case ObjectFrame::Comparison::overtaken:
        break;
    }
  }
  auto made = std::make_shared<ObjectFrame>(services_, path, index);
  const std::lock_guard guard(mutex_);
  auto& known = frames_[path];
  if (auto other = known.lock(); other && other != used) return other;
  known = made;
  return made;
}

std::shared_ptr<StoreDirectory> ObjectFrames::directory(const std::string& path) {
  return std::make_shared<ObjectParent>(shared_from_this(), path);
}

std::optional<ObjectState> ObjectFrames::own_state(const std::string& path) {
  const auto used = in_use(path);
  return used ? used->own_state() : std::nullopt;
}

std::shared_ptr<const ObjectSource> ObjectFrames::own_index(const std::string& path) {
  const auto used = in_use(path);
  return used ? used->own_index() : nullptr;
}

std::optional<ObjectState> ObjectFrames::confirmed_own_state(const std::string& path) {
  if (const auto used = in_use(path)) {
    used->resolve();
    if (auto own = used->own_state()) return own;
  }
  const auto index = services_->open_index(path);
  const bool is_sent =
      index && index->state().size > 0 && services_->was_attempted(path, commit_of(index->state()));
  return is_sent ? std::optional(index->state()) : std::nullopt;
}

void ObjectFrames::plan(const std::string& path, const FileAttributes& owner) {
  const auto used = in_use(path);
  if (used && used->is_overtaken()) {
    const std::lock_guard guard(mutex_);
    if (const auto known = frames_.find(path);
        known != frames_.end() && known->second.lock() == used)
      frames_.erase(known);
  }
  services_->set_owner(path, owner);
}

bool ObjectFrames::is_overtaken(const std::string& path) {
  const auto used = in_use(path);
  return (used && used->is_overtaken()) || services_->is_taken(path);
}

bool ObjectFrames::is_removed(const std::string& path) {
  const auto used = in_use(path);
  return used && used->is_removed();
}

ObjectState ObjectFrames::set_attributes(const std::string& path, const FileAttributes& attributes,
                                         const ObjectState& base) {
  return opened(path)->put_attributes(attributes, base);
}

std::optional<ObjectState> ObjectFrames::place_for(const std::string& path) {
  return services_->place_for(path);
}

FileAttributes ObjectFrames::attributes(const std::string& path) {
  return opened(path)->attributes();
}

std::vector<std::string> ObjectFrames::remove(const std::string& path, const ObjectState& base) {
  opened(path)->remove(base);
  if (tree().keeps_conditions_of_removals()) return {};
  return {path + "/" + kSframeIndexName};
}

std::shared_ptr<StoreDirectory> ObjectFrames::in_state(const std::string& path,
                                                       const ObjectState& state) {
  auto used = in_use(path);
  return used && used->has_stored(state) ? used : nullptr;
}

}  // namespace bloscfs::frame::inline store
