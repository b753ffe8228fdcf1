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
#include <span>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "frame/frame_writer.hpp"
#include "fs/byte_overlay.hpp"
#include "fs/content_home.hpp"
#include "fs/dirty_budget.hpp"
#include "fs/file_view.hpp"
#include "fs/source_object.hpp"
#include "fs/sync.hpp"
#include "fs/worker_pool.hpp"
#include "fs/write_options.hpp"

namespace bloscfs::fs {

/// What the contents of a mount share. Outlives them.
struct ContentServices {
  BlockCache& cache;
  Stats& stats;
  ReaderSettings reader;
  WorkerPool& pool;
  DirtyBudget& budget;
  const WriteOptions& options;
  bool raw;
  std::atomic<std::uint64_t>& next_id;
};

/// What stat shows of a file that was written to; the rest is the source file's.
struct LogicalAttributes {
  std::int64_t size = 0;
  std::optional<timespec> accessed;  ///< set with the time of modification
  std::optional<timespec> modified;  ///< set once the contents were changed
  std::optional<timespec> changed;
};

/// Thread-safe. Errors: codec::Error for damaged data, std::system_error with the errno.
class Content {
 public:
  /// A container that is there, in this state.
  Content(ContentServices services, std::shared_ptr<const frame::Snapshot> snapshot);
  /// A new, empty file, whose temporary exists already and was made at this time.
  Content(ContentServices services, const timespec& created);
  ~Content();
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;

  // --- reading

  std::int64_t size() const;
  LogicalAttributes attributes() const;
  /// Adds the file's bytes [offset, offset + size), cut at its end, to `out`.
  void read(std::int64_t offset, std::int64_t size, ReplyData& out) const;
  /// Brings the blocks of such a range into the cache, unless the reader has `reached` what is
  /// behind them meanwhile.
  void prefetch(std::int64_t offset, std::int64_t size,
                const std::atomic<std::int64_t>& reached) const;
  /// As FileView's; what was written is data.
  std::optional<std::int64_t> seek_data(std::int64_t offset) const;
  std::optional<std::int64_t> seek_hole(std::int64_t offset) const;
  /// The last committed state; null before the first commit.
  std::shared_ptr<const frame::Snapshot> snapshot() const;

  // --- writing

  /// To be called before the first change. `home` outlives the content. Throws EROFS for what
  /// cannot be written (Bloscpack), EACCES etc. of the file.
  void make_writable(std::shared_ptr<ContentHome> home);
  /// Without an offset at the end, wherever that is by then.
  void write(std::optional<std::int64_t> at, codec::Bytes bytes);
  /// The same for bytes one behind the other; may take the cells, and leave empty ones.
  void write(std::optional<std::int64_t> at, std::span<CellBytes> cells);
  /// Sets the size; what is added reads as zeros.
  void resize(std::int64_t size);
  /// Makes [offset, offset + size) read as zeros; the part behind the end is ignored.
  void zero(std::int64_t offset, std::int64_t size);
  /// An absent value removes the vlmetalayer. ENODATA where there is none to remove.
  void set_vlmetalayer(const std::string& name, std::optional<std::vector<std::uint8_t>> value);
  /// The value that was set and is not committed yet; the inner one is absent if it was removed.
  std::optional<std::optional<std::vector<std::uint8_t>>> uncommitted_vlmetalayer(
      const std::string& name) const;
  std::map<std::string, std::optional<std::vector<std::uint8_t>>> uncommitted_vlmetalayers() const;
  /// Times as utimensat sets them; they are the file's now and after every later commit. False for
  /// what was not made writable: then only the source file has times.
  bool set_times(const timespec& accessed, const timespec& modified);

  /// Handles that may write: while there is one the file keeps its representation.
  void add_writer();
  void remove_writer();
  bool has_writers() const;
  /// While held the file is a flat frame, whatever its bytes and its name are.
  void hold_flat(bool held);
  /// Its name may ask for another representation.
  void look_again();
  /// It has no name any more, so that it is staged where memory is short, but never committed.
  void orphan();
  bool is_orphan() const;

  /// True for a file that somebody is writing, that SOURCE has under a temporary name only or under
  /// none, and that holds at least this much: its bytes can go there without a commit.
  bool can_be_staged(std::size_t least_dirty) const;
  /// True if a commit has anything to do: bytes, size, metalayers, or another representation.
  bool needs_commit() const;
  /// True if attributes() counts, and not what stat says of the file.
  bool hides_file() const { return needs_commit() || is_orphan(); }
  /// Takes the error that commits in the background met since the last call.
  std::error_code take_error();

 private:
  friend class ContentCommit;

  /// What was written at one time, over what is below.
  struct Layer {
    ByteOverlay bytes{kCellSize};
    /// From there on what is below reads as zeros.
    std::int64_t lower_end = std::numeric_limits<std::int64_t>::max();
    std::map<std::string, std::optional<std::vector<std::uint8_t>>> vlmetalayers;

    bool empty() const {
      return bytes.empty() && vlmetalayers.empty() &&
             lower_end == std::numeric_limits<std::int64_t>::max();
    }
    bool hides(std::int64_t offset, std::int64_t size) const {
      return bytes.touches(offset, size) || offset + size > lower_end;
    }
    void apply(std::int64_t offset, codec::MutableBytes out) const;
    void merge(const Layer& upper);
    /// Takes out what the rest does not need below it: all but the last written bytes, of which the
    /// first `least` go, too.
    Layer split_off_first(std::size_t least);
  };

  template <typename Write>
  void write_at(std::optional<std::int64_t> at, std::size_t count, const Write& write);
  std::int64_t committed_size() const REQUIRES_SHARED(mutex_);
  /// Zeros behind the end of `view`, which may be null.
  static void read_committed(const FileView* view, std::int64_t offset, codec::MutableBytes out);
  bool is_untouched(std::int64_t offset, std::int64_t size) const REQUIRES_SHARED(mutex_);
  std::optional<std::int64_t> seek(std::int64_t offset, bool want_hole) const;
  void check_writable(std::int64_t end) const REQUIRES(mutex_);
  void touch() REQUIRES(mutex_);
  /// Gives the file the times that are shown, if it was committed.
  void store_times() REQUIRES(commit_mutex_);
  void account() REQUIRES(mutex_);
  /// The commit has stored so many bytes of what waits, so that others may be written.
  void count_stored(std::size_t bytes);
  std::unique_ptr<frame::FrameWriter> open_writer(
      const StoredPlace& place, bool is_sparse,
      const std::shared_ptr<const frame::Snapshot>& known) const;
  void set_view(std::shared_ptr<const frame::Snapshot> snapshot) REQUIRES(mutex_);

  const ContentServices services_;
  mutable SharedMutex mutex_;
  std::uint64_t id_;                                         ///< names the blocks in the cache
  std::unique_ptr<const FileView> view_ GUARDED_BY(mutex_);  ///< null: never committed
  std::shared_ptr<const frame::Snapshot> snapshot_ GUARDED_BY(mutex_);
  std::optional<Layer> frozen_ GUARDED_BY(mutex_);  ///< being committed
  Layer live_ GUARDED_BY(mutex_);
  std::int64_t size_ GUARDED_BY(mutex_) = 0;
  std::optional<timespec> accessed_ GUARDED_BY(mutex_);
  std::optional<timespec> modified_ GUARDED_BY(mutex_);
  std::optional<timespec> changed_ GUARDED_BY(mutex_);
  std::size_t accounted_ GUARDED_BY(mutex_) = 0;  ///< by the budget of what waits for a commit
  std::size_t stored_ GUARDED_BY(mutex_) = 0;     ///< of it, bytes that the commit has done with
  std::size_t charged_ GUARDED_BY(mutex_) = 0;    ///< to the cache's budget
  int writers_ GUARDED_BY(mutex_) = 0;
  int held_flat_ GUARDED_BY(mutex_) = 0;
  bool is_orphan_ GUARDED_BY(mutex_) = false;
  bool is_new_ GUARDED_BY(mutex_) = false;          ///< never committed, though perhaps staged
  bool view_is_settled_ GUARDED_BY(mutex_) = true;  ///< false: look again at the last close
  /// A commit failed when its file had the name already.
  bool is_unsettled_ GUARDED_BY(mutex_) = false;
  std::error_code error_ GUARDED_BY(mutex_);

  Mutex commit_mutex_;  ///< one commit at a time; taken before mutex_
  std::shared_ptr<ContentHome> home_;
  std::unique_ptr<frame::FrameWriter> writer_;
};

}  // namespace bloscfs::fs
