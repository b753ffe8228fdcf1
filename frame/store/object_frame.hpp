#pragma once
// A sparse frame whose files are objects. ObjectFrames has one ObjectFrame for each frame in use.

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "frame/store/object_chunk.hpp"
#include "frame/store/object_chunks.hpp"
#include "frame/store/object_frame_services.hpp"
#include "frame/store/object_index.hpp"
#include "frame/store/wait_context.hpp"

namespace bloscfs::frame::inline store {

/// One sparse frame. sync() stores a new index. Until sync() has returned, the new index exists
/// only in memory, and no stored index names its chunks.
///
/// `State` says what this host knows of the index in the object store. Every PUT of an index has
/// the condition that the object store still has the last known one.
///
/// - current: the object store has the last known index, or none. A PUT leaves the frame current.
/// remove()
///   makes it removed. A PUT that fails with ESTALE, or another index in the object store, makes it
///   overtaken. A PUT that fails otherwise makes it unknown.
/// - unknown: the answer to the last PUT was lost. The next PUT or comparison first looks at the
///   store: the index of that PUT, or the one before it, makes the frame current; its tombstone
///   makes it removed; another index makes it overtaken.
/// - overtaken: another host has stored or removed an index. PUTs fail with ESTALE.
/// - removed: the object store has our tombstone, or nothing any more. Another index makes the
/// frame
///   succeeded.
/// - succeeded: another host has stored an index over our tombstone. PUTs fail with ESTALE.
///
/// In each state there may be a new index that is not stored yet (`pending_`) in addition to the
/// stored one (`stored_`). create() and rename() set `pending_`. It is dropped by the sync() that
/// stores it, by unlink(), when the frame is removed, and when the answer to its PUT was lost and
/// the object store still has the index before it.
class ObjectFrame final : public StoreDirectory {
 public:
  /// `index` is null for a frame that is being created.
  ObjectFrame(std::shared_ptr<ObjectFrameServices> services, std::string path,
              const std::shared_ptr<const ObjectSource>& index);
  ~ObjectFrame() override;

  /// Returns the state that this object's last PUT stored. Returns nothing before the first PUT,
  /// and once the object store may have another state.
  std::optional<ObjectState> own_state() const {
    const std::lock_guard guard(mutex_);
    return has_put_ && !is_overtaken_now() && state_ != State::unknown ? known_ : std::nullopt;
  }
  /// Returns the index that this object stored last, or null if own_state() returns nothing.
  std::shared_ptr<const ObjectSource> own_index() const;
  /// True if this frame is current and `state` is the last known state of its index.
  bool has_stored(const ObjectState& state) const {
    const std::lock_guard guard(mutex_);
    return state_ == State::current && stored_ && known_ && known_->same_bytes(state);
  }
  bool is_overtaken() const {
    const std::lock_guard guard(mutex_);
    return is_overtaken_now();
  }
  /// True if this host removed the frame.
  bool is_removed() const {
    const std::lock_guard guard(mutex_);
    return state_ == State::removed || state_ == State::succeeded;
  }
  enum class Comparison { same, outdated, overtaken };
  /// Compares the last known index with `seen`, a state that was seen in the object store.
  /// `outdated`: the store has our last known index, so `seen` is older. `overtaken`: the object
  /// store has another index, or none.
  Comparison compare(const ObjectState& seen);
  /// If the answer to the last PUT was lost, asks the object store whether it has the index of that
  /// PUT.
  void resolve() {
    const auto one_at_a_time = Interruption::lock(putting_);
    resolve_locked();
  }
  /// Throws ENOENT if there is no index.
  FileAttributes attributes() const;
  /// Stores the index of the state `base` again, with these attributes. Returns the new state. If
  /// an index is pending, only notes the attributes for its commit, and returns `base`.
  ObjectState put_attributes(const FileAttributes& attributes, const ObjectState& base);
  /// Removes the frame. If the object store still has `base`, puts a tombstone: an empty index,
  /// which readers do not take for a frame. Then deletes the tombstone if the object store honours
  /// If-Match of DELETE. If the object store does not honour it, the caller must delete the
  /// tombstone.
  void remove(const ObjectState& base);

  std::shared_ptr<StoreFile> open(const std::string& name) override;
  std::shared_ptr<const ByteSource> open_source(const std::string& name) const override;
  std::shared_ptr<StoreFile> create(const std::string& name, mode_t mode) override;
  void rename(const std::string& from, const std::string& to, RenameMode mode) override;
  void unlink(const std::string& name) override;
  void make_directory(const std::string& name, mode_t) override;
  std::shared_ptr<StoreDirectory> open_directory(const std::string& name) override;
  std::optional<FileStamp> stamp(const std::string& name) const override;
  std::vector<std::string> names() const override;
  /// Commits: stores the pending index. Throws ESTALE if another host has committed since.
  void sync() override;
  int descriptor() const override { return -1; }
  bool is_lasting() const override { return true; }
  bool is_over_network() const override { return true; }
  std::int64_t max_bytes_in_flight() const override {
    return services_->tree().max_bytes_in_flight();
  }
  void expect(const std::string& name, std::span<const ByteRange> ranges) const override {
    chunks_.expect(name, ranges);
  }
  bool is_available(const std::string& name, std::span<const ByteRange> ranges) const override {
    return chunks_.is_available(name, ranges);
  }

 private:
  std::string inside(const std::string& name) const { return path_ + "/" + name; }
  std::uint64_t number_of_directory() const { return std::hash<std::string>()(path_); }
  using Chunks = std::map<std::string, std::shared_ptr<ObjectChunk>>;
  enum class State { current, unknown, overtaken, removed, succeeded };

  // The caller holds mutex_.
  bool is_overtaken_now() const { return state_ == State::overtaken || state_ == State::succeeded; }
  /// True if `present`, the index in the object store, is the last known one.
  bool is_known(const std::shared_ptr<const ObjectSource>& present) const;
  void mark_overtaken() const {
    state_ = state_ == State::removed ? State::succeeded : State::overtaken;
  }
  void become_removed();
  /// Returns the pending index if there is one, otherwise the stored one, which may be null.
  const std::shared_ptr<ObjectIndex>& index() const { return pending_ ? pending_ : stored_; }

  // The caller holds putting_.
  void resolve_locked();
  /// `present` is the index in the object store, or null if there is none.
  void resolve_by(const std::shared_ptr<const ObjectSource>& present);
  void remove_tombstone();
  void put_failed(const std::system_error& error);
  /// Makes the frame overtaken if the object store has another index. Called when a chunk is
  /// missing, because another host's commit may have removed the chunk.
  void compare_with_store() const;
  /// Checks that the object store still has these chunks if they are so old that gc may have
  /// deleted them. Throws EIO if any is missing.
  void require_stored(const Chunks& chunks) const;
  ObjectState put(const ObjectIndex& index, const std::string& commit);
  /// Throws ESTALE if the last known index is not `base`.
  void require_base(const ObjectState& base) const;
  void note_stored_state(ObjectState state);
  std::optional<ObjectState> known() const {
    const std::lock_guard guard(mutex_);
    return known_;
  }

  const std::shared_ptr<ObjectFrameServices> services_;
  const std::string path_;
  /// Serializes requests about the index. Taken before mutex_.
  mutable std::timed_mutex putting_;
  mutable ObjectChunks chunks_;
  mutable std::mutex mutex_;
  mutable State state_ = State::current;
  bool has_put_ = false;                  ///< `known_` comes from a PUT of this object
  std::optional<ObjectState> known_;      ///< of the index in the store; nullopt: no index
  std::shared_ptr<ObjectIndex> stored_;   ///< last known; null: none, or a tombstone
  std::shared_ptr<ObjectIndex> pending_;  ///< not stored yet; null: none
  std::string commit_;                    ///< commit id of the last PUT that was tried
  /// New indexes by their temporary names. rename() makes one of them the pending index.
  std::map<std::string, std::shared_ptr<ObjectIndex>> temporaries_;
  Chunks unnamed_;                                        ///< new ones, which no stored index names
  std::chrono::system_clock::time_point oldest_unnamed_;  ///< no chunk of unnamed_ is older
};

}  // namespace bloscfs::frame::inline store
