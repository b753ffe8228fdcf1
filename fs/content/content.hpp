#pragma once
// The bytes of a container as its file shows them: the committed state, and on top of it the
// uncommitted changes. All handles of an open container share one Content.

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
#include "fs/support/loss.hpp"
#include "fs/support/request.hpp"
#include "fs/support/sync.hpp"
#include "fs/support/worker_pool.hpp"
#include "fs/view/file_view.hpp"
#include "fs/view/metalayer_changes.hpp"

namespace bloscfs::fs {

/// How much of the uncommitted changes a commit takes.
enum class Freeze {
  all,         ///< everything, to make it durable
  first_part,  ///< the first part, to stage it
};

/// The attributes that a content provides for stat; the source file provides the others.
struct LogicalAttributes {
  std::int64_t size = 0;
  std::optional<timespec> accessed;  ///< set together with the modification time
  std::optional<timespec> modified;  ///< set by the first change of the contents
  std::optional<timespec> changed;
  /// While contents are uncommitted: an upper bound of the file's bytes that are data. Else 0.
  std::int64_t uncommitted_data_bytes = 0;
};

/// Thread-safe. Throws codec::Error for damaged data, and std::system_error with an errno.
class Content {
 public:
  /// Opens an existing container in the state `snapshot`.
  Content(Request& request, ContentServices services,
          std::shared_ptr<const frame::Snapshot> snapshot);
  /// A new, empty file. Its temporary exists already, and was created at the time `created`.
  Content(ContentServices services, const timespec& created);
  ~Content();
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;

  // --- reading

  std::int64_t size() const;
  LogicalAttributes attributes() const;
  /// Adds the file's bytes [offset, offset + size) to `out`, cut at the end of the file. Throws EIO
  /// if the reader's `epoch` is over.
  void read(Request& request, std::int64_t offset, std::int64_t size, ReplyData& out,
            std::optional<std::uint64_t> epoch = std::nullopt) const;
  /// Decodes the blocks of [offset, offset + size) into the cache. `reached` is the offset that the
  /// reader has reached by now. Skips blocks before it.
  void prefetch(Request& request, std::int64_t offset, std::int64_t size,
                const std::atomic<std::int64_t>& reached) const;
  /// Return the next offset >= `offset` that lies in data, or in a hole, as FileView's functions
  /// do. A file with uncommitted changes counts as data as a whole.
  std::optional<std::int64_t> seek_data(Request& request, std::int64_t offset) const;
  std::optional<std::int64_t> seek_hole(Request& request, std::int64_t offset) const;
  /// Returns the last committed state; null before the first commit.
  std::shared_ptr<const frame::Snapshot> snapshot() const;
  /// Attributes for stat, without a look at the file itself.
  struct Shown {
    bool is_read_only = false;
    std::int64_t size = 0;
    std::int64_t stored_chunks = 0;  ///< bytes
  };
  Shown shown() const;

  // --- other programs that change SOURCE

  /// False after another program has changed or replaced the file, or removed its name, until the
  /// content has gone on from the new state.
  bool is_current() const;
  bool is_overtaken() const { return !is_current(); }
  /// False after another program has changed the file itself, whatever its name is. Never waits.
  bool is_file_current() const;
  /// If the file is no longer current: goes on from the file that has its name now, and begins a
  /// new epoch. Contents:
  /// - Uncommitted contents stay, on top of the new state, if the other program uses the lock
  ///   sidecar and has not changed the chunks that these contents change.
  /// - Otherwise they are saved as a conflict file.
  ///
  /// Uncommitted metalayers stay only if the file was changed in place. Without a successor the
  /// content becomes an orphan. After `yes`, the content may be committed again. Throws if the
  /// conflict file cannot be written. After an error, `being_written` or NoSlot, nothing is lost or
  /// changed.
  FollowResult follow_source(Request& request);
  /// True if follow_source() failed to write the conflict file within the last second. Writing it
  /// costs as much as a commit, so callers that only look at the file must not retry it.
  bool follow_failed_recently() const;
  /// Returns the path below SOURCE that the file has or is to get, for messages.
  std::string path();
  struct Kept {
    std::string path;  ///< of the saved frame, below SOURCE
    Loss loss = Loss::none;
  };
  /// Saves contents that could not be committed before the mount ends, for `b2frame recover`: in
  /// SOURCE or, if that fails, outside of it. Returns nullopt if no contents are uncommitted. There
  /// is no later try, so zeros replace whatever cannot be read. Throws if the frame cannot be
  /// written.
  std::optional<Kept> keep_for_recovery(Request& request);
  /// The number of states of other programs that the content has gone on from.
  std::uint64_t epoch() const;
  /// Returns the epoch of a page that the kernel writes back. Such a page belongs to the state that
  /// it was read from. Throws ESTALE while the kernel may have pages of an older epoch, and if
  /// is_abandoned() is true.
  std::uint64_t epoch_of_pages() const;
  /// True if contents that were written in `epoch` or earlier were saved elsewhere, or attributes
  /// that were set then were discarded.
  bool lost_contents_of(std::uint64_t epoch) const;
  /// True if another file has taken this file's name, or this file was moved away. No reader could
  /// read what is written here.
  bool is_abandoned() const;
  /// Returns the last committed state, with a number that no other state of any content has.
  std::pair<std::shared_ptr<const frame::Snapshot>, std::uint64_t> numbered_snapshot() const;
  /// Returns the metadata of the committed state or, for a new file, of the frame that the first
  /// commit will create.
  frame::FrameInfo info(Request& request) const;

  // --- writing

  /// To be called before the first change. `home` outlives the content. Throws EROFS if the format
  /// cannot be written (Bloscpack), and EACCES etc. if the file cannot be opened.
  void make_writable(Request& request, std::shared_ptr<ContentHome> home);
  bool is_writable() const;
  /// The user for whom make_writable() was called last. Uncommitted bytes count to that user.
  uid_t user() const;
  /// Throws if the file's values must not change: codec::Error(unsupported) if the file does not
  /// contain its values, EROFS if indexes of the values cannot be marked stale.
  void require_changeable(Request& request, ContentHome& home) const;
  /// To be called before a range is written. If other programs may change the file under its lock,
  /// keeps the checksums of the range's chunks. Waits for a program that holds the lock. Throws
  /// ESTALE if another program has changed the file.
  void remember_chunks(Request& request, std::int64_t offset, std::int64_t size);
  // The functions below that take an epoch: while another thread runs follow_source(), each takes a
  // slot and waits, or throws NoSlot. Then it throws ESTALE if `epoch` is over. Otherwise it makes
  // its Change.

  /// Writes at the offset `at`; without an offset, appends to the file.
  void write(Request& request, std::optional<std::int64_t> at, codec::Bytes bytes,
             std::optional<std::uint64_t> epoch = std::nullopt);
  /// Writes the cells one after the other, from `at` or from the end of the file on. May take over
  /// their memory and leave them empty.
  void write(Request& request, std::optional<std::int64_t> at, std::span<PooledBuffer> cells,
             std::optional<std::uint64_t> epoch = std::nullopt);
  /// Sets the size; added bytes read as zeros. Like write(), throws EFBIG for a size that cannot be
  /// committed.
  void resize(Request& request, std::int64_t size,
              std::optional<std::uint64_t> epoch = std::nullopt);
  /// Throws EFBIG if the file could not be committed with this size.
  void require_storable(std::int64_t size) const;
  /// Makes the size at least `end`. Counts as a change even if the size stays.
  void reserve(Request& request, std::int64_t end,
               std::optional<std::uint64_t> epoch = std::nullopt);
  /// Makes [offset, offset + size) read as zeros; ignores the part behind the end of the file.
  void zero(Request& request, std::int64_t offset, std::int64_t size,
            std::optional<std::uint64_t> epoch = std::nullopt);
  /// Throws the error of the last failed commit if the user to whom the dirty bytes count has no
  /// room for more of them (DirtyBudget::require_room()).
  void require_room() const;
  /// The caller has checked that a commit can store the metalayer.
  void set_metalayer(const Change& change, const LayerName& name, LayerChange value);
  LayerChanges uncommitted_metalayers() const;
  /// Returns the number of uncommitted written bytes, for messages (Written::written_size()).
  std::int64_t uncommitted_bytes() const;
  /// Sets times as utimensat does, including UTIME_NOW. The file keeps them after later commits.
  /// Returns false if the content was never made writable; only the source file has times then.
  /// Throws EPERM and changes nothing if only the owner of the source file may set them.
  bool set_times(Request& request, const timespec& accessed, const timespec& modified);

  /// Records that attributes or names of the file changed just now.
  void note_change(const Change& change);

  /// Count the handles that may write. While there is one, the file keeps its representation,
  /// unless all of its contents are new.
  void add_writer();
  void remove_writer();
  bool has_writers() const;
  /// Begins or ends a hold. While there is a hold, commits store the file as a flat frame, whatever
  /// its bytes and its name are.
  void force_flat(bool held);
  /// To be called when the file has another name, which may require another representation.
  void reconsider_representation();
  /// To be called when the file has no name any more. It is then staged if memory is short, but
  /// never committed.
  void orphan();
  /// To be called when the file has a name after all: another hard link that the mount did not
  /// know.
  void restore_name();
  bool is_orphan() const;

  /// True for a file that is being written, that no name in SOURCE shows, and whose uncommitted
  /// data takes at least `least_dirty` bytes of memory. Its bytes can go to SOURCE without a
  /// commit.
  bool can_be_staged(std::size_t least_dirty) const;
  /// True if a commit has anything to do: store bytes, a size or metalayers, or change the
  /// representation.
  bool needs_commit() const;
  /// True while a commit is under way, which may have stored only a part of its changes.
  bool is_committing() const;
  /// True while the content, and not the source file, determines what the file is: something is
  /// uncommitted, or a handle may write at any moment.
  bool is_authoritative() const;
  /// True if stat must show attributes() instead of the source file's attributes.
  bool overrides_file_attributes() const { return needs_commit() || is_orphan(); }
  /// The part of a content that a commit stores (fs/content/frozen.hpp).
  class Frozen;
  /// Freezes the changes so far, or the first part of them. Freezes nothing if another thread is
  /// committing the content; then Frozen::has_lock() is false.
  static Frozen freeze(std::shared_ptr<Content> content, Freeze freeze);
  /// Stores the error of a background commit, for the next fsync or close.
  void remember_error(const std::error_code& error);
  /// Returns the last stored error, and forgets it.
  std::error_code take_error();

 private:
  template <typename Write>
  void write_at(Request& request, std::optional<std::int64_t> at, std::size_t count,
                std::optional<std::uint64_t> epoch, const Write& write);
  /// Runs `apply` with mutex_ locked, at a time when the content is not going on from another
  /// state.
  template <typename Apply>
  void with_current_epoch(Request& request, const Apply& apply);
  bool has_uncommitted() const REQUIRES_SHARED(mutex_);
  /// Null before make_writable(). Does not change while commit_mutex_ is held.
  ContentHome* home() const REQUIRES(commit_mutex_);
  class Reconciliation;
  bool has_contents_to_keep() const;
  ShownAs shown_as() const;
  /// Chunks whose checksums are to be kept, and the view to read them with.
  struct Unremembered {
    const FileView* view = nullptr;
    std::set<std::int64_t> chunks;
  };
  /// Returns the chunks of a range that have no checksum yet.
  Unremembered unremembered(std::int64_t offset, std::int64_t size) const;
  /// Keeps the checksums of chunks that a commit has changed, if newer writes have changed them
  /// again.
  void remember_stored(Request& request, const std::vector<std::int64_t>& changed)
      REQUIRES(commit_mutex_);
  /// The objects that read a committed state. `id` identifies its blocks in the cache.
  struct Reading {
    std::uint64_t id;
    std::shared_ptr<const frame::Snapshot> snapshot;
    std::unique_ptr<const FileView> view;
  };
  /// Opens the writer of a committed file if none is open, for example because the content went on
  /// from another state.
  void ensure_writer(const StoredPlace& place) REQUIRES(commit_mutex_);
  std::int64_t uncommitted_data_bytes() const REQUIRES_SHARED(mutex_);
  bool changes_values() const REQUIRES_SHARED(mutex_);
  /// Returns the metadata of the frame that the first commit will create.
  frame::FrameInfo planned_info(bool can_be_array) const REQUIRES_SHARED(mutex_);
  std::optional<std::int64_t> seek(Request& request, std::int64_t offset, bool want_hole) const;
  /// Locks reading_, so that no commit replaces the view while the result lives. Takes a slot
  /// before it waits, or throws NoSlot.
  std::shared_lock<SharedMutex> lock_view(Request& request) const;
  StoredFile stored_file() const REQUIRES_SHARED(mutex_);
  /// Throws if no commit could store a change of the bytes from `begin` on that makes the size
  /// `end`.
  void check_writable(std::int64_t begin, std::int64_t end) const REQUIRES(mutex_);
  void require_epoch(std::optional<std::uint64_t> epoch) const REQUIRES_SHARED(mutex_);
  void touch() REQUIRES(mutex_);
  /// Opens the writer if needed, so that store_times() can set the times of the stored file.
  void prepare_to_store_times(Request& request) REQUIRES(commit_mutex_);
  /// Sets the times of the committed file, if there is one, to those of attributes(). A user who
  /// may write to another user's file may only set the present time.
  void store_times(const Change& change, bool are_present) REQUIRES(commit_mutex_);
  /// Sets the times of the committed file to the present. To be called after a change that leaves
  /// the size as it was: there may be nothing to commit, so that no commit sets the times.
  void store_present_times(Request& request);
  void account() REQUIRES(mutex_);
  std::size_t memory_of_bytes(const Layer& layer) const REQUIRES_SHARED(mutex_);
  std::unique_ptr<frame::FrameWriter> open_writer(
      const StoredPlace& place, bool is_sparse,
      const std::shared_ptr<const frame::Snapshot>& known) const;
  /// Makes the objects that read `snapshot`. Throws ENOMEM if the user's open files use too much
  /// memory. So it is to be called before anything of the content changes.
  Reading reading_of(Request& request, std::shared_ptr<const frame::Snapshot> snapshot,
                     std::uint64_t id) const;
  /// Makes the state that `reading` reads the committed state.
  void read_by(Reading reading) REQUIRES(mutex_);

  const ContentServices services_;
  /// Readers of committed data hold it shared; damaged or hostile files can make that take long.
  /// Held exclusively to replace the view, or to drop its chunks from the cache. Taken before
  /// mutex_. It has the level of the lock on names, since no thread holds that lock and reading_.
  mutable SharedMutex reading_{LockLevel::names};
  /// Threads that hold the tree's lock take mutex_. So a thread that holds mutex_ must do nothing
  /// slow, and neither take nor destroy anything that needs the tree's lock.
  mutable SharedMutex mutex_{LockLevel::content};
  std::uint64_t id_;                                         ///< identifies the blocks in the cache
  std::unique_ptr<const FileView> view_ GUARDED_BY(mutex_);  ///< null: never committed
  std::shared_ptr<const frame::Snapshot> snapshot_ GUARDED_BY(mutex_);
  std::uint64_t snapshot_number_ GUARDED_BY(mutex_) = 0;
  Written written_ GUARDED_BY(mutex_){services_.cache.pages()};
  /// Checksums of committed chunks that were written over.
  ChunkSums sums_ GUARDED_BY(mutex_);
  /// Another program held the lock sidecar for too long while a chunk was read for its checksum.
  /// Until the next commit, no more checksums are kept.
  bool checksums_disabled_ GUARDED_BY(mutex_) = false;
  std::optional<timespec> accessed_ GUARDED_BY(mutex_);
  std::optional<timespec> modified_ GUARDED_BY(mutex_);
  std::optional<timespec> changed_ GUARDED_BY(mutex_);
  DirtyAccount dirty_ GUARDED_BY(mutex_){services_.budget};
  std::size_t stored_ GUARDED_BY(mutex_) = 0;  ///< dirty bytes that the running commit has stored
  MemoryBudget::Part charged_ GUARDED_BY(mutex_){services_.cache.budget()};
  /// The smallest piece into which a commit may cut written bytes; 0: too large to count.
  std::size_t piece_ GUARDED_BY(mutex_) = 0;
  int writers_ GUARDED_BY(mutex_) = 0;
  int forced_flat_ GUARDED_BY(mutex_) = 0;
  bool is_orphan_ GUARDED_BY(mutex_) = false;
  bool is_new_ GUARDED_BY(mutex_) = false;  ///< never committed, though perhaps staged
  /// False: the next commit without writers decides between array and flat.
  bool representation_is_current_ GUARDED_BY(mutex_) = true;
  /// A commit failed so late that the file may have the old or the new state.
  bool stored_state_is_unknown_ GUARDED_BY(mutex_) = false;
  std::error_code error_ GUARDED_BY(mutex_);
  Epochs epochs_ GUARDED_BY(mutex_){services_.clock};

  mutable Mutex commit_mutex_{LockLevel::commit};  ///< one commit at a time; taken before mutex_
  /// Replaced only with commit_mutex_ held, in addition to mutex_.
  std::shared_ptr<ContentHome> home_ GUARDED_BY(mutex_);
  std::unique_ptr<frame::FrameWriter> writer_ GUARDED_BY(commit_mutex_);
};

}  // namespace bloscfs::fs
