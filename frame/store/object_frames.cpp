#include "frame/store/object_frames.hpp"

#include <cerrno>
#include <charconv>
#include <random>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "frame/store/object_index.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame {
namespace {

/// What tells a commit from all others, in its index's metadata.
constexpr const char* kCommit = "commit";

std::string commit_of(const ObjectState& state) {
  const auto found = state.metadata.find(kCommit);
  return found == state.metadata.end() ? std::string() : found->second;
}

bool is_error(const std::system_error& error, std::errc code) { return error.code() == code; }

/// A chunk that is being made: it is in the store as soon as it is written, once.
class ObjectChunk final : public StoreFile {
 public:
  ObjectChunk(ObjectTree& tree, std::string path) : tree_(tree), path_(std::move(path)) {}

  void write_at(std::uint64_t offset, Bytes bytes) override {
    if (offset != 0) throw_errno(EINVAL, path_);
    try {
      tree_.put(path_, bytes, {ObjectCondition::Kind::absent, {}}, {});
    } catch (const std::system_error& error) {
      // Another host has drawn the same number.
      if (is_error(error, std::errc(ESTALE))) throw_errno(EEXIST, path_);
      throw;
    }
  }
  std::size_t read_at(std::uint64_t, MutableBytes) const override { return 0; }
  FileStamp stamp() const override { return {}; }
  void truncate(std::uint64_t) override { throw_errno(EOPNOTSUPP, path_); }
  void punch(std::uint64_t, std::uint64_t) override { throw_errno(EOPNOTSUPP, path_); }
  void sync() override {}
  std::uint64_t link_count() const override { return 1; }
  FileAttributes attributes() const override { return {}; }
  void set_attributes(const FileAttributes&) override {}
  void set_times(const timespec&, const timespec&) override {}
  bool is_sole_user() const override { return false; }

 private:
  ObjectTree& tree_;
  const std::string path_;
};

}  // namespace

std::string new_commit_id() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 4; i++) id += fmt::format("{:08x}", random());
  return id;
}

void stamp_index(std::vector<std::uint8_t>& index, const std::string& commit) {
  constexpr std::size_t kFingerprint = 16;
  if (index.size() < kFingerprint || commit.size() != 2 * kFingerprint) return;
  std::uint8_t* const fingerprint = index.data() + index.size() - kFingerprint;
  for (std::size_t i = 0; i < kFingerprint; i++)
    std::from_chars(commit.data() + 2 * i, commit.data() + 2 * i + 2, fingerprint[i], 16);
}

/// One sparse frame. Its index is in the store when sync() has returned; until then a new one is
/// here alone, and its chunks are nobody's.
class ObjectFrame final : public StoreDirectory {
 public:
  /// `index` is null for a frame that is being made.
  ObjectFrame(std::shared_ptr<ObjectFrames> frames, std::string path,
              const std::shared_ptr<const ObjectSource>& index)
      : frames_(std::move(frames)), path_(std::move(path)) {
    if (!index) return;
    known_ = index->state();
    if (known_->size > 0) index_ = std::make_shared<ObjectIndex>(index);
  }
  ~ObjectFrame() override {
    if (outcome_is_unknown_) return;
    for (const std::string& name : unnamed_) frames_->remove_later_(inside(name));
  }

  std::optional<ObjectState> state() const {
    const std::lock_guard guard(mutex_);
    return overtaken_ || outcome_is_unknown_ ? std::nullopt : known_;
  }
  bool is_overtaken() const {
    const std::lock_guard guard(mutex_);
    return overtaken_;
  }
  enum class Comparison { same, outdated, overtaken };
  /// How the store is to this, when somebody has seen that state there.
  Comparison compare(const ObjectState& seen);
  /// Finds out what has become of a commit whose answer was lost.
  void resolve() {
    const std::lock_guard one_at_a_time(putting_);
    resolve_locked();
  }
  void put_attributes(const FileAttributes& attributes);
  /// An empty index, which readers take for none.
  void put_tombstone();

  std::shared_ptr<StoreFile> open(const std::string& name) override {
    const std::lock_guard guard(mutex_);
    if (name != frames_->index_name_ || !index_) throw_errno(ENOENT, inside(name));
    return index_;
  }
  std::shared_ptr<const ByteSource> open_source(const std::string& name) const override {
    if (name == frames_->index_name_) {
      const std::lock_guard guard(mutex_);
      return is_pending_ && committed_ ? committed_ : index_;
    }
    try {
      return frames_->tree().open(inside(name), nullptr);
    } catch (const std::system_error& error) {
      if (is_error(error, std::errc::no_such_file_or_directory)) return nullptr;
      throw;
    }
  }
  std::shared_ptr<StoreFile> create(const std::string& name, mode_t mode) override;
  void rename(const std::string& from, const std::string& to, RenameMode mode) override;
  void unlink(const std::string& name) override;
  void make_directory(const std::string& name, mode_t) override { throw_errno(EROFS, name); }
  std::shared_ptr<StoreDirectory> open_directory(const std::string& name) override {
    throw_errno(ENOTDIR, name);
  }
  std::optional<FileStamp> stamp(const std::string& name) const override {
    const std::lock_guard guard(mutex_);
    if (name == ".") return FileStamp{0, number_of_directory(), 0, 0, 0};
    if (name != frames_->index_name_ || !index_ || overtaken_) return std::nullopt;
    return index_->stamp();
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (ObjectEntry& entry : frames_->tree().list(path_)) names.push_back(std::move(entry.name));
    return names;
  }
  /// That is the commit. ESTALE where another host has committed since.
  void sync() override;
  int descriptor() const override { return -1; }

 private:
  std::string inside(const std::string& name) const { return path_ + "/" + name; }
  std::uint64_t number_of_directory() const { return std::hash<std::string>()(path_); }
  void resolve_locked();
  ObjectState put(const ObjectIndex& index, const std::string& commit);
  std::optional<ObjectState> known() const {
    const std::lock_guard guard(mutex_);
    return known_;
  }

  const std::shared_ptr<ObjectFrames> frames_;
  const std::string path_;
  std::mutex putting_;  ///< one at a time talks to the store; taken before mutex_
  mutable std::mutex mutex_;
  std::optional<ObjectState> known_;        ///< of the index in the store; nothing: there is none
  std::shared_ptr<ObjectIndex> index_;      ///< null: there is none, or one of a removed frame
  std::shared_ptr<ObjectIndex> committed_;  ///< while index_ is not in the store yet
  bool is_pending_ = false;                 ///< index_ is not in the store yet
  bool overtaken_ = false;
  bool outcome_is_unknown_ = false;
  std::string commit_;  ///< the last one that was tried
  std::map<std::string, std::shared_ptr<ObjectIndex>> temporaries_;
  std::set<std::string> unnamed_;  ///< chunks that no stored index names yet
};

std::shared_ptr<StoreFile> ObjectFrame::create(const std::string& name, mode_t mode) {
  const std::lock_guard guard(mutex_);
  if (name.ends_with(".chunk")) {
    unnamed_.insert(name);
    return std::make_shared<ObjectChunk>(frames_->tree(), inside(name));
  }
  auto made = std::make_shared<ObjectIndex>(mode);
  if (name != frames_->index_name_) {
    temporaries_[name] = made;
    return made;
  }
  if (index_) {
    frames_->note_taken(path_);
    throw_errno(ESTALE, inside(name));
  }
  index_ = made;
  is_pending_ = true;
  return made;
}

void ObjectFrame::rename(const std::string& from, const std::string& to, RenameMode) {
  const std::lock_guard guard(mutex_);
  const auto found = temporaries_.find(from);
  if (found == temporaries_.end() || to != frames_->index_name_) throw_errno(ENOENT, inside(from));
  if (!is_pending_) committed_ = index_;
  index_ = std::move(found->second);
  temporaries_.erase(found);
  is_pending_ = true;
}

void ObjectFrame::unlink(const std::string& name) {
  {
    const std::lock_guard guard(mutex_);
    if (temporaries_.erase(name) > 0) return;
    if (name == frames_->index_name_) {
      if (is_pending_) index_ = std::exchange(committed_, nullptr);
      is_pending_ = false;
      return;
    }
    // The store may have an index that names it.
    if (outcome_is_unknown_) return;
    unnamed_.erase(name);
  }
  frames_->remove_later_(inside(name));
}

ObjectState ObjectFrame::put(const ObjectIndex& index, const std::string& commit) {
  std::map<std::string, std::string> metadata =
      metadata_of(frames_->owned(path_, index.attributes()));
  metadata[kCommit] = commit;
  const std::string path = inside(frames_->index_name_);
  const auto condition = [](const std::optional<ObjectState>& known) {
    return known ? ObjectCondition{ObjectCondition::Kind::same, *known}
                 : ObjectCondition{ObjectCondition::Kind::absent, {}};
  };
  const auto before = known();
  std::vector<std::uint8_t> bytes = index.bytes();
  stamp_index(bytes, commit);
  try {
    return frames_->tree().put(path, bytes, condition(before), metadata);
  } catch (const std::system_error& error) {
    if (!is_error(error, std::errc(ESTALE)) || before) throw;
  }
  // What a removed frame has left is no frame.
  const auto left = frames_->open_index(path_);
  if (!left || left->state().size > 0) throw_errno(ESTALE, path_);
  return frames_->tree().put(path, bytes, condition(left->state()), metadata);
}

void ObjectFrame::sync() {
  const std::lock_guard one_at_a_time(putting_);
  resolve_locked();
  std::shared_ptr<ObjectIndex> index;
  std::set<std::string> named;
  {
    const std::lock_guard guard(mutex_);
    if (overtaken_) throw_errno(ESTALE, path_);
    if (!is_pending_) return;
    index = index_;
    named = unnamed_;
    commit_ = new_commit_id();
  }
  try {
    ObjectState state = put(*index, commit_);
    const std::lock_guard guard(mutex_);
    known_ = std::move(state);
    frames_->forget_owner(path_, *index);
    committed_.reset();
    is_pending_ = false;
    for (const std::string& name : named) unnamed_.erase(name);
  } catch (const std::system_error& error) {
    if (is_error(error, std::errc(ESTALE))) frames_->note_taken(path_);
    const std::lock_guard guard(mutex_);
    overtaken_ = is_error(error, std::errc(ESTALE));
    outcome_is_unknown_ = !overtaken_;
    throw;
  }
}

/// With putting_ held.
void ObjectFrame::resolve_locked() {
  {
    const std::lock_guard guard(mutex_);
    if (!outcome_is_unknown_) return;
  }
  const auto present = frames_->open_index(path_);
  const std::lock_guard guard(mutex_);
  outcome_is_unknown_ = false;
  if (present && commit_of(present->state()) == commit_) {
    // It was stored. What was tried since begins from there.
    known_ = present->state();
    if (is_pending_) return;
    if (!index_) index_ = std::make_shared<ObjectIndex>(present);
    unnamed_.clear();
    return;
  }
  const bool is_absent = !present || present->state().size == 0;
  const bool is_same = known_ ? present && present->state().same_bytes(*known_) : is_absent;
  if (!is_same) {
    overtaken_ = true;
    return;
  }
  // Not stored, and no index names its chunks; a new one is to be made on what is there.
  if (is_pending_ && committed_) {
    index_ = std::exchange(committed_, nullptr);
    is_pending_ = false;
  }
}

ObjectFrame::Comparison ObjectFrame::compare(const ObjectState& seen) {
  const std::lock_guard one_at_a_time(putting_);
  resolve_locked();
  {
    const std::lock_guard guard(mutex_);
    if (overtaken_) return Comparison::overtaken;
    if (known_ && known_->same_bytes(seen)) return Comparison::same;
  }
  // A commit of ours may have come since.
  const auto present = frames_->open_index(path_);
  const std::lock_guard guard(mutex_);
  if (present && known_ && known_->same_bytes(present->state())) return Comparison::outdated;
  overtaken_ = true;
  return Comparison::overtaken;
}

void ObjectFrame::put_attributes(const FileAttributes& attributes) {
  const std::lock_guard one_at_a_time(putting_);
  resolve_locked();
  std::shared_ptr<ObjectIndex> index;
  bool is_pending = false;
  {
    const std::lock_guard guard(mutex_);
    if (overtaken_ || !index_) throw_errno(ESTALE, path_);
    index = index_;
    is_pending = is_pending_;
  }
  const FileAttributes before = index->attributes();
  index->set_attributes(attributes);
  index->set_times(attributes.accessed, attributes.modified);
  if (is_pending) return;  // goes with the commit
  try {
    commit_ = new_commit_id();
    ObjectState state = put(*index, commit_);
    const std::lock_guard guard(mutex_);
    known_ = std::move(state);
  } catch (const std::system_error& error) {
    index->set_attributes(before);
    index->set_times(before.accessed, before.modified);
    const std::lock_guard guard(mutex_);
    overtaken_ = is_error(error, std::errc(ESTALE));
    outcome_is_unknown_ = !overtaken_;
    throw;
  }
}

void ObjectFrame::put_tombstone() {
  const std::lock_guard one_at_a_time(putting_);
  resolve_locked();
  const auto before = known();
  {
    const std::lock_guard guard(mutex_);
    if (overtaken_) throw_errno(ESTALE, path_);
    if (!before || before->size == 0) throw_errno(ENOENT, path_);
    commit_ = new_commit_id();
  }
  try {
    ObjectState state =
        frames_->tree().put(inside(frames_->index_name_), {},
                            {ObjectCondition::Kind::same, *before}, {{kCommit, commit_}});
    const std::lock_guard guard(mutex_);
    known_ = std::move(state);
    index_.reset();
    committed_.reset();
    is_pending_ = false;
  } catch (const std::system_error& error) {
    const std::lock_guard guard(mutex_);
    overtaken_ = is_error(error, std::errc(ESTALE));
    outcome_is_unknown_ = !overtaken_;
    throw;
  }
}

/// A directory that holds frames.
class ObjectParent final : public StoreDirectory {
 public:
  ObjectParent(std::shared_ptr<ObjectFrames> frames, std::string path)
      : frames_(std::move(frames)), path_(std::move(path)) {}

  /// Of a frame: it is there as soon as somebody commits something to it.
  void make_directory(const std::string&, mode_t) override {}
  std::shared_ptr<StoreDirectory> open_directory(const std::string& name) override {
    return frames_->opened(path_.empty() ? name : path_ + "/" + name);
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

std::shared_ptr<const ObjectSource> ObjectFrames::open_index(const std::string& path) const {
  try {
    return tree_->open(path + "/" + index_name_, nullptr);
  } catch (const std::system_error& error) {
    if (is_error(error, std::errc::no_such_file_or_directory)) return nullptr;
    throw;
  }
}

std::shared_ptr<ObjectFrame> ObjectFrames::in_use(const std::string& path) {
  const std::lock_guard guard(mutex_);
  std::erase_if(frames_, [](const auto& known) { return known.second.expired(); });
  const auto found = frames_.find(path);
  return found == frames_.end() ? nullptr : found->second.lock();
}

std::shared_ptr<ObjectFrame> ObjectFrames::opened(const std::string& path) {
  if (auto used = in_use(path)) {
    used->resolve();
    return used;
  }
  auto made = std::make_shared<ObjectFrame>(shared_from_this(), path, open_index(path));
  const std::lock_guard guard(mutex_);
  auto& known = frames_[path];
  // Somebody else may have come first.
  if (auto used = known.lock()) return used;
  known = made;
  return made;
}

std::shared_ptr<StoreDirectory> ObjectFrames::frame(const std::string& path,
                                                    std::shared_ptr<const ObjectSource> index) {
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
  auto made = std::make_shared<ObjectFrame>(shared_from_this(), path, index);
  const std::lock_guard guard(mutex_);
  auto& known = frames_[path];
  if (auto other = known.lock(); other && other != used) return other;
  known = made;
  return made;
}

std::shared_ptr<StoreDirectory> ObjectFrames::directory(const std::string& path) {
  return std::make_shared<ObjectParent>(shared_from_this(), path);
}

std::optional<ObjectState> ObjectFrames::state(const std::string& path) {
  const auto used = in_use(path);
  return used ? used->state() : std::nullopt;
}

bool ObjectFrames::is_overtaken(const std::string& path) {
  const auto used = in_use(path);
  if (used && used->is_overtaken()) return true;
  const std::lock_guard guard(mutex_);
  const auto planned = planned_.find(path);
  return planned != planned_.end() && planned->second.is_taken;
}

void ObjectFrames::note_taken(const std::string& path) {
  const std::lock_guard guard(mutex_);
  const auto planned = planned_.find(path);
  if (planned != planned_.end()) planned->second.is_taken = true;
}

void ObjectFrames::set_attributes(const std::string& path, const FileAttributes& attributes) {
  opened(path)->put_attributes(attributes);
}

void ObjectFrames::set_owner(const std::string& path, const FileAttributes& owner) {
  const std::lock_guard guard(mutex_);
  planned_[path] = {owner, false};
}

void ObjectFrames::forget_plan(const std::string& path) {
  const std::lock_guard guard(mutex_);
  planned_.erase(path);
}

/// What is put with an index.
FileAttributes ObjectFrames::owned(const std::string& path, FileAttributes attributes) {
  const std::lock_guard guard(mutex_);
  const auto found = planned_.find(path);
  if (found == planned_.end()) return attributes;
  attributes.owner = found->second.owner.owner;
  attributes.group = found->second.owner.group;
  attributes.mode = found->second.owner.mode;
  return attributes;
}

void ObjectFrames::forget_owner(const std::string& path, StoreFile& index) {
  index.set_attributes(owned(path, index.attributes()));
  const std::lock_guard guard(mutex_);
  planned_.erase(path);
}

void ObjectFrames::remove(const std::string& path) { opened(path)->put_tombstone(); }

}  // namespace bloscfs::frame
