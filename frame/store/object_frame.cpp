#include "frame/store/object_frame.hpp"

#include <cerrno>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include "frame/store/sframe_names.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline store {
namespace {

/// All tombstones are the same empty bytes, so their commits must be compared, too.
bool is_same_state(const ObjectState& one, const ObjectState& other) {
  return one.same_bytes(other) && (one.size > 0 || commit_of(one) == commit_of(other));
}

constexpr std::string_view kChunkSuffix = ".chunk";

std::vector<std::uint8_t> stamped_bytes(const ObjectIndex& index, const std::string& commit) {
  std::vector<std::uint8_t> bytes = index.bytes();
  stamp_index(bytes, commit);
  return bytes;
}

bool is_error(const std::system_error& error, std::errc code) { return error.code() == code; }

}  // namespace

std::shared_ptr<StoreFile> ObjectFrame::create(const std::string& name, mode_t mode) {
  const std::lock_guard guard(mutex_);
  if (name.ends_with(kChunkSuffix)) {
    if (unnamed_.empty()) oldest_unnamed_ = std::chrono::system_clock::now();
    if (unnamed_.contains(name)) throw_errno(EEXIST, inside(name));
    auto chunk = std::make_shared<ObjectChunk>(services_, inside(name));
    unnamed_[name] = chunk;
    return chunk;
  }
  auto made = std::make_shared<ObjectIndex>(mode);
  if (name != kSframeIndexName) {
    temporaries_[name] = made;
    return made;
  }
  // The frame exists already, and no earlier attempt of ours stored it: another host was first.
  if (index() && !(known_ && services_->was_attempted(path_, commit_of(*known_)))) {
    services_->note_taken(path_);
    throw_errno(ESTALE, inside(name));
  }
  pending_ = made;
  return made;
}

void ObjectFrame::rename(const std::string& from, const std::string& to, RenameMode) {
  const std::lock_guard guard(mutex_);
  const auto found = temporaries_.find(from);
  if (found == temporaries_.end() || to != kSframeIndexName) throw_errno(ENOENT, inside(from));
  pending_ = std::move(found->second);
  temporaries_.erase(found);
}

void ObjectFrame::unlink(const std::string& name) {
  std::shared_ptr<ObjectChunk> given_up;  // destroyed after the lock is released
  {
    const std::lock_guard guard(mutex_);
    if (temporaries_.erase(name) > 0) return;
    if (name == kSframeIndexName) return pending_.reset();
    // After a PUT whose answer was lost, the index in the object store may name this chunk.
    if (state_ == State::unknown) return;
    if (const auto made = unnamed_.find(name); made != unnamed_.end()) {
      given_up = std::move(made->second);
      unnamed_.erase(made);
    }
    if (given_up && given_up->is_taken()) return;
  }
  services_->remove_later(inside(name));
}

ObjectState ObjectFrame::put(const ObjectIndex& index, const std::string& commit) {
  std::map<std::string, std::string> metadata =
      metadata_of(services_->owned(path_, index.attributes()));
  metadata[kCommit] = commit;
  const std::string path = inside(kSframeIndexName);
  const auto condition = [](const std::optional<ObjectState>& known) {
    return known ? ObjectCondition{ObjectCondition::Kind::same, *known}
                 : ObjectCondition{ObjectCondition::Kind::absent, {}};
  };
  const auto before = known();
  const std::vector<std::uint8_t> bytes = stamped_bytes(index, commit);
  if (!before || before->size == 0) services_->await_own_removal(path_);
  if (!before || before->size > 0) {
    if (!before && !services_->may_follow(path_, {})) throw_errno(ESTALE, path_);
    try {
      return services_->tree().put(path, bytes, condition(before), metadata);
    } catch (const std::system_error& error) {
      if (!is_error(error, std::errc(ESTALE)) || before) throw;
    }
  }
  // The object store has, or may have, a tombstone. A tombstone counts as no frame, so a new frame
  // may replace it. place_for() throws ESTALE if the object store has a frame.
  const std::optional<ObjectState> place = services_->place_for(path_);
  {
    const std::lock_guard guard(mutex_);
    known_ = place;
  }
  return services_->tree().put(path, bytes, condition(place), metadata);
}

void ObjectFrame::require_stored(const Chunks& chunks) const {
  {
    const std::lock_guard guard(mutex_);
    const auto age = std::chrono::system_clock::now() - oldest_unnamed_;
    if (chunks.empty() || age < services_->safe_age) return;
  }
  std::size_t present = 0;
  for (const ObjectEntry& entry : services_->tree().list(path_))
    present += chunks.count(entry.name);
  if (present < chunks.size()) throw_errno(EIO, path_ + ": chunks of this commit are gone");
}

void ObjectFrame::sync() {
  const auto one_at_a_time = Interruption::lock(putting_);
  resolve_locked();
  std::shared_ptr<ObjectIndex> index;
  Chunks named;
  {
    const std::lock_guard guard(mutex_);
    // A commit that began before the frame was removed must not replace the tombstone.
    if (state_ != State::current) throw_errno(ESTALE, path_);
    if (!pending_) return;
    index = pending_;
    named = unnamed_;
    commit_ = new_commit_id();
  }
  require_stored(named);
  try {
    ObjectState state = put(*index, commit_);
    const std::lock_guard guard(mutex_);
    note_stored_state(std::move(state));
    services_->forget_owner(path_, *index);
    stored_ = index;
    pending_.reset();
    for (const auto& [name, chunk] : named) unnamed_.erase(name);
  } catch (const std::system_error& error) {
    // A tombstone is in the way. No index was sent, and a later commit can try again.
    if (is_error(error, std::errc::device_or_resource_busy)) throw;
    const auto before = known();
    if (is_error(error, std::errc(ESTALE)))
      services_->note_taken(path_);
    else
      services_->note_attempt(path_, commit_, before ? commit_of(*before) : std::string());
    put_failed(error);
    throw;
  }
}

void ObjectFrame::put_failed(const std::system_error& error) {
  const std::lock_guard guard(mutex_);
  state_ = is_error(error, std::errc(ESTALE)) ? State::overtaken : State::unknown;
}

void ObjectFrame::resolve_locked() {
  {
    const std::lock_guard guard(mutex_);
    if (state_ != State::unknown) return;
  }
  resolve_by(services_->open_index(path_));
  if (is_removed()) remove_tombstone();
}

void ObjectFrame::resolve_by(const std::shared_ptr<const ObjectSource>& present) {
  const std::lock_guard guard(mutex_);
  state_ = State::current;
  if (present && commit_of(present->state()) == commit_) {
    // The PUT reached the object store although its answer was lost. The next commit replaces that
    // state.
    note_stored_state(present->state());
    if (known_->size == 0) return become_removed();
    if (pending_) return;
    if (!stored_) stored_ = std::make_shared<ObjectIndex>(present);
    unnamed_.clear();
    return;
  }
  // The object store has another index than the last known one, or none. A tombstone where the
  // object store had no object before counts as another index: another host may have removed the
  // index of this commit.
  if (!is_known(present)) return mark_overtaken();
  // The PUT did not reach the object store, so no index names its chunks. The next commit must make
  // a new index from the stored one. Without a stored one, the commit is tried again with the same
  // index.
  if (stored_) pending_.reset();
}

bool ObjectFrame::is_known(const std::shared_ptr<const ObjectSource>& present) const {
  // If the last known index is a tombstone, it may have been deleted since.
  if (!present) return !known_ || known_->size == 0;
  return known_ && is_same_state(present->state(), *known_);
}

ObjectFrame::Comparison ObjectFrame::compare(const ObjectState& seen) {
  const auto one_at_a_time = Interruption::lock(putting_);
  resolve_locked();
  {
    const std::lock_guard guard(mutex_);
    if (is_overtaken_now()) return Comparison::overtaken;
    if (known_ && is_same_state(*known_, seen)) return Comparison::same;
  }
  // This process may have committed after `seen` was read.
  const auto present = services_->open_index(path_);
  const std::lock_guard guard(mutex_);
  if (present && known_ && is_same_state(*known_, present->state())) return Comparison::outdated;
  mark_overtaken();
  return Comparison::overtaken;
}

void ObjectFrame::require_base(const ObjectState& base) const {
  const std::lock_guard guard(mutex_);
  if (is_overtaken_now() || !known_ || !known_->same_bytes(base)) throw_errno(ESTALE, path_);
}

void ObjectFrame::note_stored_state(ObjectState state) {
  known_ = std::move(state);
  has_put_ = true;
}

ObjectState ObjectFrame::put_attributes(const FileAttributes& attributes, const ObjectState& base) {
  const auto one_at_a_time = Interruption::lock(putting_);
  resolve_locked();
  require_base(base);
  std::shared_ptr<ObjectIndex> index;
  bool is_pending = false;
  {
    const std::lock_guard guard(mutex_);
    if (!this->index()) throw_errno(ESTALE, path_);
    index = this->index();
    is_pending = pending_ != nullptr;
  }
  const FileAttributes before = index->attributes();
  index->set_attributes(attributes);
  index->set_times(attributes.accessed, attributes.modified);
  if (is_pending) return base;  // the commit of the pending index stores the attributes
  try {
    commit_ = new_commit_id();
    ObjectState state = put(*index, commit_);
    const std::lock_guard guard(mutex_);
    note_stored_state(state);
    return state;
  } catch (const std::system_error& error) {
    index->set_attributes(before);
    index->set_times(before.accessed, before.modified);
    put_failed(error);
    throw;
  }
}

void ObjectFrame::become_removed() {
  state_ = State::removed;
  stored_.reset();
  pending_.reset();
}

void ObjectFrame::remove(const ObjectState& base) {
  const auto one_at_a_time = Interruption::lock(putting_);
  resolve_locked();
  require_base(base);
  {
    const std::lock_guard guard(mutex_);
    commit_ = new_commit_id();
  }
  try {
    ObjectState state =
        services_->tree().put(inside(kSframeIndexName), {}, {ObjectCondition::Kind::same, base},
                              metadata_of_tombstone(commit_));
    const std::lock_guard guard(mutex_);
    note_stored_state(std::move(state));
    become_removed();
  } catch (const std::system_error& error) {
    put_failed(error);
    throw;
  }
  if (services_->tree().keeps_conditions_of_removals()) remove_tombstone();
}

/// Deletes the tombstone with one request. A repeated DELETE could delete a new file of another
/// host.
void ObjectFrame::remove_tombstone() {
  const auto tombstone = known();
  if (!tombstone) return;
  try {
    services_->tree().remove_once(inside(kSframeIndexName), *tombstone);
  } catch (const std::system_error&) {
    // The tombstone stays until another host overwrites it (place_for()), or gc deletes it.
    return;
  }
  const std::lock_guard guard(mutex_);
  known_.reset();
}

ObjectFrame::ObjectFrame(std::shared_ptr<ObjectFrameServices> services, std::string path,
                         const std::shared_ptr<const ObjectSource>& index)
    : services_(std::move(services)), path_(std::move(path)), chunks_(services_->tree(), path_) {
  if (!index) return;
  known_ = index->state();
  if (known_->size > 0) stored_ = std::make_shared<ObjectIndex>(index);
}

ObjectFrame::~ObjectFrame() {
  // The index of the last PUT may be in the object store, and may name these chunks.
  if (state_ == State::unknown) return;
  for (const auto& [name, chunk] : unnamed_)
    if (!chunk->is_taken()) services_->remove_later(inside(name));
}

std::shared_ptr<const ObjectSource> ObjectFrame::own_index() const {
  const auto state = own_state();
  const std::lock_guard guard(mutex_);
  if (!state || !stored_ || !known_ || !known_->same_bytes(*state)) return nullptr;
  return std::make_shared<KeptIndex>(*state, stamped_bytes(*stored_, commit_of(*state)));
}

FileAttributes ObjectFrame::attributes() const {
  const std::lock_guard guard(mutex_);
  if (!index()) throw_errno(ENOENT, path_);
  return index()->attributes();
}

std::shared_ptr<StoreFile> ObjectFrame::open(const std::string& name) {
  const std::lock_guard guard(mutex_);
  if (name != kSframeIndexName || !index()) throw_errno(ENOENT, inside(name));
  return index();
}

std::shared_ptr<const ByteSource> ObjectFrame::open_source(const std::string& name) const {
  if (name == kSframeIndexName) {
    const std::lock_guard guard(mutex_);
    // Readers get the stored index, which names only chunks in the object store.
    return stored_ ? stored_ : pending_;
  }
  try {
    return name.ends_with(kChunkSuffix) ? chunks_.open(name)
                                        : services_->tree().open(inside(name), nullptr);
  } catch (const std::system_error& error) {
    if (!is_error(error, std::errc::no_such_file_or_directory)) throw;
  }
  if (name.ends_with(kChunkSuffix)) compare_with_store();
  return nullptr;
}

void ObjectFrame::compare_with_store() const {
  const auto one_at_a_time = Interruption::lock(putting_);
  {
    const std::lock_guard guard(mutex_);
    const bool is_stored = known_ || state_ == State::removed;
    if (!is_stored || is_overtaken_now() || state_ == State::unknown) return;
  }
  const auto present = services_->open_index(path_);
  const std::lock_guard guard(mutex_);
  if (!is_known(present)) mark_overtaken();
}

void ObjectFrame::make_directory(const std::string& name, mode_t) { throw_errno(EROFS, name); }

std::shared_ptr<StoreDirectory> ObjectFrame::open_directory(const std::string& name) {
  throw_errno(ENOTDIR, name);
}

std::optional<FileStamp> ObjectFrame::stamp(const std::string& name) const {
  const std::lock_guard guard(mutex_);
  if (name == ".") return FileStamp{0, number_of_directory(), 0, 0, 0};
  if (name != kSframeIndexName || !index() || is_overtaken_now()) return std::nullopt;
  return index()->stamp();
}

std::vector<std::string> ObjectFrame::names() const {
  std::vector<std::string> names;
  for (ObjectEntry& entry : services_->tree().list(path_)) names.push_back(std::move(entry.name));
  return names;
}

}  // namespace bloscfs::frame::inline store
