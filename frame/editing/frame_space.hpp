#pragma once
// Which parts of a contiguous frame's file may be written without touching what the present state,
// or an earlier one that has readers, reaches.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "frame/editing/extent_set.hpp"
#include "frame/editing/quarantine.hpp"
#include "frame/store/byte_store.hpp"

namespace bloscfs::frame::inline editing {

/// Where a chunk begins in free space.
enum class Placing {
  /// At a multiple of about a sixteenth of its size. An edited chunk is a little larger or smaller
  /// than before, and so fits where another one has been.
  spread,
  packed,  ///< at the first free byte, for frames that may never be edited
};

class FrameSpace {
 public:
  FrameSpace() : FrameSpace(0, 0, {}) {}
  /// [0, end) is in use, and chunks in [0, doubtful_end) may share bytes: nobody has looked.
  FrameSpace(std::uint64_t end, std::uint64_t doubtful_end, const GracePeriod& grace);

  /// Takes space for a chunk: the lowest that is large enough, else the end of the file.
  std::uint64_t take(std::uint64_t size, Placing placing);
  /// Gives back what no header has ever reached.
  void give_back(const Extent& extent);
  /// The lowest free extent at `from` or later that has at least `size` bytes, or the unbounded one
  /// at the end. Nothing is taken yet.
  Extent find_tail(std::uint64_t size, std::uint64_t from) const;
  Extent end_of_file() const;
  /// The lowest free extent of `size` bytes that ends at `before` or earlier.
  std::optional<Extent> find_before(std::uint64_t size, std::uint64_t before,
                                    Placing placing) const;
  /// Takes a part of free space, or of what lies behind the end.
  void take_at(const Extent& extent);
  /// True if nothing between the two positions is in use.
  bool is_free(std::uint64_t first, std::uint64_t last) const {
    last = std::min(last, end_);
    return first >= last || free_.contains({first, last - first});
  }
  /// True if the extent of a chunk may hold bytes of other chunks.
  bool is_doubtful(const Extent& extent) const;
  /// Where the last chunk ends, if `superseded` (none of them doubtful) are not counted.
  std::uint64_t live_end(const ExtentSet& superseded) const;
  /// Parts of [first, last) that hold, or may hold, live chunks.
  ExtentSet live_between(std::uint64_t first, std::uint64_t last) const;

  /// A state that snapshots show.
  void watch(std::weak_ptr<const Snapshot> snapshot) { quarantine_.watch(std::move(snapshot)); }
  /// A commit is durable, and the present state does not reach these any more.
  void supersede(const std::vector<Extent>& extents);
  /// The same where none of the chunks that the present state reaches is older than this object.
  void supersede_all(const std::vector<Extent>& extents);
  /// The extents belong to a state of which nobody knows whether it is on disk: they are superseded
  /// by the next commit.
  void distrust(const std::vector<Extent>& extents);

  /// Takes note of space that no state has reached `since` then.
  void add_dead(const std::vector<Extent>& extents, Clock::TimePoint since);
  /// No two chunks share bytes: all were looked at.
  void trust_chunks() { doubtful_end_ = 0; }

  /// Superseded extents that may share bytes with live chunks, and how many bytes they have.
  const std::vector<Extent>& doubtful() const { return doubtful_; }
  std::uint64_t doubtful_total() const;
  /// Decides about them: these share nothing, and the others do.
  void resolve_doubtful(const std::vector<Extent>& unshared);

  /// Frees what nobody reads any more (see Quarantine::release).
  void release(const std::function<bool()>& nobody_else);
  /// Cuts free space off the end if there are at least `least` bytes; returns the file's new size.
  std::uint64_t cut_end(std::uint64_t least);
  /// Punches free extents that are large enough to be worth it.
  void punch(StoreFile& file);
  /// Free bytes that may still occupy storage.
  std::uint64_t unpunched() const { return unpunched_.total(); }
  /// Where the lowest free extent starts; the end where there is none.
  std::uint64_t first_free() const { return free_.empty() ? end_ : free_.extents().begin()->first; }
  /// Nothing behind it is in use.
  std::uint64_t end() const { return end_; }
  std::uint64_t dead_size() const { return dead_.total(); }
  std::uint64_t free_size() const { return free_.total(); }
  std::uint64_t live_size() const { return end_ - dead_.total(); }
  /// True while superseded space waits for readers.
  bool has_waiting() const { return !quarantine_.empty(); }
  /// Bytes that this object takes, about.
  std::size_t memory() const;

 private:
  std::optional<Extent> find(std::uint64_t size, Placing placing) const;
  void free(const Extent& extent);
  void quarantine(std::vector<Extent> extents);

  std::uint64_t end_;  ///< nothing behind it is in use
  std::uint64_t doubtful_end_;
  ExtentSet dead_;       ///< not reached by the present state; includes:
  ExtentSet free_;       ///< may be taken; includes:
  ExtentSet unpunched_;  ///< may occupy storage
  ExtentSet renewed_;    ///< parts before doubtful_end_ whose chunks are ours
  Quarantine<Extent> quarantine_;
  std::vector<Extent> doubtful_;
  std::vector<Extent> distrusted_;
};

/// Lengths that a frame has had. Readers poll the length, so every commit takes a new one.
class FrameLengths {
 public:
  void add(std::uint64_t length) { used_.add({length, 1}); }
  std::uint64_t next_unused(std::uint64_t least) const { return used_.run_end(least); }
  std::size_t memory() const { return used_.memory(); }

 private:
  ExtentSet used_;
};

}  // namespace bloscfs::frame::inline editing
