#pragma once
// A container's bytes as its file shows them: what is committed, and over that what was written
// since. One per open container, shared by all its handles.

#include <atomic>
#include <cstdint>
#include <ctime>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <shared_mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sys/stat.h>

#include "frame/container/frame_writer.hpp"
#include "fs/content/chunk_sums.hpp"
#include "fs/content/content_home.hpp"
#include "fs/content/content_services.hpp"
#include "fs/content/dirty_budget.hpp"
#include "fs/content/epochs.hpp"
#include "fs/content/size_limit.hpp"
#include "fs/content/written.hpp"
#include "fs/support/request.hpp"
#include "fs/support/sync.hpp"
#include "fs/support/worker_pool.hpp"
#include "fs/view/file_view.hpp"
#include "fs/view/metalayer_changes.hpp"

namespace bloscfs::fs {

/// How much of what was written a commit takes.
enum class Freeze {
  all,         ///< to make it durable
  first_part,  ///< what comes first, to be staged
};

/// What stat shows of a file that was written to; the rest is the source file's.
struct LogicalAttributes {
  std::int64_t size = 0;
  std::optional<timespec> accessed;  ///< set with the time of modification
  std::optional<timespec> modified;  ///< set once the contents were changed
  std::optional<timespec> changed;
  /// While contents wait for a commit: at least the bytes of the file that are data. Else 0.
  std::int64_t waiting_data = 0;
};

/// Thread-safe. Errors: codec::Error for damaged data, std::system_error with the errno.
class Content {
 public:
  /// A container that is there, in this state.
  Content(Request& request, ContentServices services,
          std::shared_ptr<const frame::Snapshot> snapshot);
  /// A new, empty file, whose temporary exists already and was made at this time.
  Content(ContentServices services, const timespec& created);
  ~Content();
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;

  // --- reading

  std::int64_t size() const;
  LogicalAttributes attributes() const;
  /// Adds the file's bytes [offset, offset + size), cut at its end, to `out`. EIO for a reader of
  /// an `epoch` that is over.
  void read(Request& request, std::int64_t offset, std::int64_t size, ReplyData& out,
            std::optional<std::uint64_t> epoch = std::nullopt) const;
  /// Brings the blocks of such a range into the cache, unless the reader has `reached` what is
  /// behind them meanwhile.
  void prefetch(Request& request, std::int64_t offset, std::int64_t size,
                const std::atomic<std::int64_t>& reached) const;
  /// As FileView's; what was written is data.
  std::optional<std::int64_t> seek_data(Request& request, std::int64_t offset) const;
  std::optional<std::int64_t> seek_hole(Request& request, std::int64_t offset) const;
  /// The last committed state; null before the first commit.
  std::shared_ptr<const frame::Snapshot> snapshot() const;
  /// What stat shows of the file, without a look at it.
  struct Shown {
    bool is_read_only = false;
    std::int64_t size = 0;
    std::int64_t stored_chunks = 0;  ///< bytes
  };
  Shown shown() const;

  // --- other programs that change SOURCE

  /// False once the file is not as the content left it, or lost its name, and until the content has
  /// gone on from what there is then.
  bool is_current() const;
  bool is_overtaken() const { return !is_current(); }
  /// False once the file is not as the content left it, wherever that is. While a commit changes it
  /// the header tells. Waits for nobody.
  bool is_file_current() const;
  /// Where the file is not current any more: goes on from what has its name now, the end of an
  /// epoch. Contents that were written go over the new state if another program that uses the lock
  /// sidecar has left the same chunks alone; else they are put into a frame beside the file.
  /// Attributes are kept to be committed to the new state; without a successor the file is one
  /// without a name. After `yes` the content may be committed again. Errors are those of making
  /// that frame. After one, after `being_written`, and after NoSlot, nothing is lost, nor changed.
  FollowResult follow_source(Request& request);
  /// True if it failed within the last second at what costs as much as a commit: a mere look at the
  /// file does not try that again.
  bool has_just_failed_to_follow() const;
  /// Path below SOURCE that its file has or waits for, for messages.
  std::string path();
  struct Kept {
    std::string path;       ///< of the frame, below SOURCE
    bool is_whole = false;  ///< nothing that it was written over is missing
  };
  /// What could not be committed before the mount ends is kept for `b2frame recover`, in SOURCE or,
  /// if that cannot take it, outside; nothing where no contents wait. Since nobody asks again,
  /// zeros stand for whatever cannot be read. Errors as follow_source's.
  std::optional<Kept> keep_for_recovery(Request& request);
  /// Grows with each state of somebody else's that the content went on from.
  std::uint64_t epoch() const;
  /// The same for a page that the kernel writes back, which belongs to the state that it was read
  /// in. ESTALE while the kernel may have pages of an older one.
  std::uint64_t epoch_of_pages() const;
  /// True if contents that were written in `epoch` or before were put aside, or attributes that
  /// were set then have no file to go to.
  bool lost_contents_of(std::uint64_t epoch) const;
  /// True if something else has the name that this one had, or its file was moved away: what would
  /// be written here could be read by nobody.
  bool is_abandoned() const;
  /// The same with a number that no other state of any content has.
  std::pair<std::shared_ptr<const frame::Snapshot>, std::uint64_t> numbered_snapshot() const;
  /// What the container says of itself: that state, or what the first commit is going to make.
  frame::FrameInfo info(Request& request) const;

  // --- writing

  /// To be called before the first change. `home` outlives the content. Throws EROFS for what
  /// cannot be written (Bloscpack), EACCES etc. of the file.
  void make_writable(Request& request, std::shared_ptr<ContentHome> home);
  bool is_writable() const;
  /// The user who has asked for a change last: what waits for a commit is counted to them.
  uid_t user() const;
  /// Throws where the file's values must stay what they are: codec::Error(unsupported) where they
  /// are not stored, EROFS where what others keep of them could not be marked stale.
  void require_changeable(Request& request, ContentHome& home) const;
  /// To be called before a range is written. Where other programs change the file under its lock,
  /// keeps the checksums of the range's chunks; waits for a program that has the lock. ESTALE where
  /// another one has changed the file.
  void remember_chunks(Request& request, std::int64_t offset, std::int64_t size);
  // Each waits while the content goes on from another state: it takes a slot for that, or throws
  // NoSlot. Then it makes its Change. ESTALE where a given `epoch` is over by then.

  /// Without an offset at the end, wherever that is by then.
  void write(Request& request, std::optional<std::int64_t> at, codec::Bytes bytes,
             std::optional<std::uint64_t> epoch = std::nullopt);
  /// The same for bytes one behind the other; may take the cells, and leave empty ones.
  void write(Request& request, std::optional<std::int64_t> at, std::span<PooledBuffer> cells,
             std::optional<std::uint64_t> epoch = std::nullopt);
  /// Sets the size; what is added reads as zeros. EFBIG, as for write(), for more than can be
  /// committed.
  void resize(Request& request, std::int64_t size,
              std::optional<std::uint64_t> epoch = std::nullopt);
  /// Throws EFBIG where the file could not be committed with this size.
  void require_storable(std::int64_t size) const;
  /// Makes the size at least this, and counts as a change in any case.
  void reserve(Request& request, std::int64_t end,
               std::optional<std::uint64_t> epoch = std::nullopt);
  /// Makes [offset, offset + size) read as zeros; the part behind the end is ignored.
  void zero(Request& request, std::int64_t offset, std::int64_t size,
            std::optional<std::uint64_t> epoch = std::nullopt);
  /// As DirtyBudget's, for the user whose dirty bytes these are.
  void require_room() const;
  /// The caller has checked that a commit can store that.
  void set_metalayer(const Change& change, const LayerName& name, LayerChange value);
  /// What was done to metalayers and is not committed yet.
  LayerChanges uncommitted_metalayers() const;
  /// How much was written that is not committed yet, while no commit is under way.
  std::int64_t uncommitted_bytes() const;
  /// Times as utimensat sets them, UTIME_NOW too; they are the file's now and after every later
  /// commit. False for what was not made writable: then only the source file has times. EPERM, and
  /// all stays as it was, where only the owner of SOURCE's file may set them.
  bool set_times(Request& request, const timespec& accessed, const timespec& modified);

  /// Something else of the file was changed just now: its attributes, or its names.
  void note_change(const Change& change);

  /// Handles that may write: while there is one the file keeps its representation, unless all of it
  /// is new.
  void add_writer();
  void remove_writer();
  bool has_writers() const;
  /// While held the file is a flat frame, whatever its bytes and its name are.
  void hold_flat(bool held);
  /// The file has another name, which may ask for another representation.
  void look_again();
  /// The file has no name any more, so that it is staged where memory is short, but never
  /// committed.
  void orphan();
  /// It has one again: another of several, by which the mount did not know it.
  void end_orphanhood();
  bool is_orphan() const;

  /// True for a file that somebody is writing, that SOURCE has under a temporary name only or under
  /// none, and that holds at least this much: its bytes can go there without a commit.
  bool can_be_staged(std::size_t least_dirty) const;
  /// True if a commit has anything to do: bytes, size, metalayers, or another representation.
  bool needs_commit() const;
  /// True while a commit may have the file half-written.
  bool is_committing() const;
  /// True if the content knows better than SOURCE's file what it is: something of it is not
  /// committed, or somebody may write to it at any moment.
  bool leads() const;
  /// True if attributes() counts, and not what stat says of the file.
  bool hides_file() const { return needs_commit() || is_orphan(); }
  /// What a commit does with a content (fs/content/frozen.hpp).
  class Frozen;
  /// Takes what has been written until now, unless another commit of the content is under way
  /// (Frozen::has_lock()).
  static Frozen freeze(std::shared_ptr<Content> content, Freeze freeze);
  /// The error that a commit in the background has met, for the next fsync or close.
  void remember_error(const std::error_code& error);
  /// Takes the last one since the last call.
  std::error_code take_error();

 private:
  template <typename Write>
  void write_at(Request& request, std::optional<std::int64_t> at, std::size_t count,
                std::optional<std::uint64_t> epoch, const Write& write);
  /// Runs `apply` with mutex_ locked, and not while the content goes on from another state.
  template <typename Apply>
  void when_followed(Request& request, const Apply& apply);
  bool has_uncommitted() const REQUIRES_SHARED(mutex_);
  /// Null before make_writable(). Stays while commit_mutex_ is held.
  ContentHome* home() const REQUIRES(commit_mutex_);
  /// What it does about another program's change of the file.
  class Reconciliation;
  bool has_contents_to_keep() const;
  ShownAs shown_as() const;
  /// Chunks whose checksums are to be kept, and the view that reads them.
  struct Unremembered {
    const FileView* view = nullptr;
    std::set<std::int64_t> chunks;
  };
  /// Those of a range that have none yet.
  Unremembered unremembered(std::int64_t offset, std::int64_t size) const;
  /// Keeps the new checksums of chunks that a commit has changed and that were written to again
  /// while it was under way.
  void remember_stored(Request& request, const std::vector<std::int64_t>& changed)
      REQUIRES(commit_mutex_);
  /// What reads a committed state, whose blocks have `id` in the cache.
  struct Reading {
    std::uint64_t id;
    std::shared_ptr<const frame::Snapshot> snapshot;
    std::unique_ptr<const FileView> view;
  };
  /// Opens the writer of a committed file again that went on from another state.
  void need_writer(const StoredPlace& place) REQUIRES(commit_mutex_);
  std::int64_t waiting_data() const REQUIRES_SHARED(mutex_);
  bool changes_values() const REQUIRES_SHARED(mutex_);
  /// The state that the first commit of a file is going to make.
  frame::FrameInfo planned_info(bool can_be_array) const REQUIRES_SHARED(mutex_);
  std::optional<std::int64_t> seek(Request& request, std::int64_t offset, bool want_hole) const;
  /// The view stays as long as this lives. NoSlot where that must be waited for.
  std::shared_lock<SharedMutex> keep_view(Request& request) const;
  StoredFile stored_file() const REQUIRES_SHARED(mutex_);
  /// Before bytes from `begin` on change, and the size becomes `end`.
  void check_writable(std::int64_t begin, std::int64_t end) const REQUIRES(mutex_);
  void require_epoch(std::optional<std::uint64_t> epoch) const REQUIRES_SHARED(mutex_);
  void touch() REQUIRES(mutex_);
  /// Opens the writer again where times that are set now are those of a stored file, too.
  void prepare_to_store_times(Request& request) REQUIRES(commit_mutex_);
  /// Gives the file the times that are shown, if it was committed. Who may write to a file of
  /// somebody else's may set it to the present, and to nothing else.
  void store_times(const Change& change, bool are_present) REQUIRES(commit_mutex_);
  /// There may be nothing to commit but the time of a change.
  void store_present_times(Request& request);
  void account() REQUIRES(mutex_);
  std::size_t memory_of_bytes(const Layer& layer) const REQUIRES_SHARED(mutex_);
  std::unique_ptr<frame::FrameWriter> open_writer(
      const StoredPlace& place, bool is_sparse,
      const std::shared_ptr<const frame::Snapshot>& known) const;
  /// Made before anything of the content changes: ENOMEM where the user has as much open as he may.
  Reading reading_of(Request& request, std::shared_ptr<const frame::Snapshot> snapshot,
                     std::uint64_t id) const;
  void read_by(Reading reading) REQUIRES(mutex_);

  const ContentServices services_;
  /// Held by those who read what is committed, which a file can make take long. What has it alone
  /// replaces the view, or takes chunks of it out of the cache. Taken before mutex_; of the level
  /// of the lock on names, which nobody takes with this one.
  mutable SharedMutex reading_{LockLevel::names};
  /// Others take it with the tree's lock held: nothing that needs that is done, or destroyed, with
  /// it, and nothing that takes long.
  mutable SharedMutex mutex_{LockLevel::content};
  std::uint64_t id_;                                         ///< names the blocks in the cache
  std::unique_ptr<const FileView> view_ GUARDED_BY(mutex_);  ///< null: never committed
  std::shared_ptr<const frame::Snapshot> snapshot_ GUARDED_BY(mutex_);
  std::uint64_t snapshot_number_ GUARDED_BY(mutex_) = 0;
  Written written_ GUARDED_BY(mutex_){services_.cache.pages()};
  /// Of chunks of the committed state that were written over.
  ChunkSums sums_ GUARDED_BY(mutex_);
  /// A program had the lock for too long: no more sums are kept until the next commit.
  bool sums_are_given_up_ GUARDED_BY(mutex_) = false;
  std::optional<timespec> accessed_ GUARDED_BY(mutex_);
  std::optional<timespec> modified_ GUARDED_BY(mutex_);
  std::optional<timespec> changed_ GUARDED_BY(mutex_);
  DirtyAccount dirty_ GUARDED_BY(mutex_){services_.budget};
  std::size_t stored_ GUARDED_BY(mutex_) = 0;  ///< dirty bytes that the commit has done with
  MemoryBudget::Part charged_ GUARDED_BY(mutex_){services_.cache.budget()};
  /// The smallest pieces that a commit may have to cut bytes into; 0: none to speak of.
  std::size_t piece_ GUARDED_BY(mutex_) = 0;
  int writers_ GUARDED_BY(mutex_) = 0;
  int held_flat_ GUARDED_BY(mutex_) = 0;
  bool is_orphan_ GUARDED_BY(mutex_) = false;
  bool is_new_ GUARDED_BY(mutex_) = false;  ///< never committed, though perhaps staged
  /// False: it is to be looked at whether it is to be an array, or flat.
  bool representation_is_current_ GUARDED_BY(mutex_) = true;
  /// A commit failed so late that its state may be the file's, or that nobody knows which one is.
  bool stored_state_is_unknown_ GUARDED_BY(mutex_) = false;
  std::error_code error_ GUARDED_BY(mutex_);
  Epochs epochs_ GUARDED_BY(mutex_){services_.clock};

  mutable Mutex commit_mutex_{LockLevel::commit};  ///< one commit at a time; taken before mutex_
  /// Replaced with commit_mutex_ held, too.
  std::shared_ptr<ContentHome> home_ GUARDED_BY(mutex_);
  std::unique_ptr<frame::FrameWriter> writer_ GUARDED_BY(commit_mutex_);
};

}  // namespace bloscfs::fs
