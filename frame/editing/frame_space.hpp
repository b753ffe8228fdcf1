#pragma once
// Tracks which parts of a contiguous frame's file a writer may overwrite. These are the parts that
// neither the current state nor an earlier state with readers uses.

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

/// Where a chunk is placed in free space.
enum class Placing {
  /// At a multiple of about a sixteenth of its size. An edited chunk is a little larger or smaller
  /// than before, and so fits into the place of another one.
  spread,
  packed,  ///< at the first free byte, for frames that may never be edited
};

class FrameSpace {
 public:
  FrameSpace() : FrameSpace(0, 0, {}) {}
  /// [0, end) is in use. Chunks in [0, doubtful_end) may share bytes until a search shows
  /// otherwise.
  FrameSpace(std::uint64_t end, std::uint64_t doubtful_end, const GracePeriod& grace);

  /// Takes space for a chunk: the lowest free extent that is large enough, or the end of the file.
  std::uint64_t take(std::uint64_t size, Placing placing);
  /// Frees space at once. No header on disk may ever have referred to it.
  void give_back(const Extent& extent);
  /// Returns the lowest free extent at `from` or later that has at least `size` bytes. If none has,
  /// returns end_of_file(). Takes nothing.
  Extent find_tail(std::uint64_t size, std::uint64_t from) const;
  /// Returns the free space at the end of the file, which has no bound.
  Extent end_of_file() const;
  /// Returns the lowest free extent of `size` bytes, if it ends at `before` or earlier.
  std::optional<Extent> find_before(std::uint64_t size, std::uint64_t before,
                                    Placing placing) const;
  /// Takes part of the free space, or of the space behind the end.
  void take_at(const Extent& extent);
  /// True if nothing between the two positions is in use.
  bool is_free(std::uint64_t first, std::uint64_t last) const {
    last = std::min(last, end_);
    return first >= last || free_.contains({first, last - first});
  }
  /// True if the extent of a chunk may hold bytes of other chunks.
  bool is_doubtful(const Extent& extent) const;
  /// Returns where the last live chunk ends, not counting the extents in `superseded`. None of
  /// these may be doubtful.
  std::uint64_t live_end(const ExtentSet& superseded) const;
  /// Returns the parts of [first, last) that hold, or may hold, live chunks.
  ExtentSet live_between(std::uint64_t first, std::uint64_t last) const;

  /// Registers a snapshot as a reader of the current state.
  void watch(std::weak_ptr<const Snapshot> snapshot) { quarantine_.watch(std::move(snapshot)); }
  /// Called when a commit is durable. The current state no longer uses `extents`.
  void supersede(const std::vector<Extent>& extents);
  /// Does what supersede() does, for a state of which this writer has put all chunks. No two of
  /// them share bytes, so no extent is doubtful.
  void supersede_all(const std::vector<Extent>& extents);
  /// Records extents of a state that may or may not be on disk. The next durable commit supersedes
  /// them.
  void distrust(const std::vector<Extent>& extents);

  /// Records space that no state has used since the time `since`.
  void add_dead(const std::vector<Extent>& extents, Clock::TimePoint since);
  /// Called when a search has found that no two chunks share bytes.
  void trust_chunks() { doubtful_end_ = 0; }

  /// Superseded extents that may share bytes with live chunks, and their total size in bytes.
  const std::vector<Extent>& doubtful() const { return doubtful_; }
  std::uint64_t doubtful_total() const;
  /// Resolves the doubtful extents. Those in `unshared` share no bytes; the others stay unused.
  void resolve_doubtful(const std::vector<Extent>& unshared);

  /// Frees the space that no reader needs any more (see Quarantine::release()).
  void release(const std::function<bool()>& no_other_process);
  /// Cuts free space off the end if there are at least `least` bytes of it. Returns the file's new
  /// size.
  std::uint64_t cut_end(std::uint64_t least);
  /// Punches holes into free extents that are large enough.
  void punch(StoreFile& file);
  /// Returns the number of free bytes that may still occupy storage.
  std::uint64_t unpunched() const { return unpunched_.total(); }
  /// Returns where the lowest free extent starts, or the end if nothing is free.
  std::uint64_t first_free() const { return free_.empty() ? end_ : free_.extents().begin()->first; }
  /// Returns the position behind which nothing is in use.
  std::uint64_t end() const { return end_; }
  std::uint64_t dead_size() const { return dead_.total(); }
  std::uint64_t free_size() const { return free_.total(); }
  std::uint64_t live_size() const { return end_ - dead_.total(); }
  /// True while superseded space waits for readers.
  bool has_waiting() const { return !quarantine_.empty(); }
  /// Returns roughly how many bytes this object takes.
  std::size_t memory() const;

 private:
  std::optional<Extent> find(std::uint64_t size, Placing placing) const;
  void free(const Extent& extent);
  void quarantine(std::vector<Extent> extents);

  std::uint64_t end_;  ///< nothing behind it is in use
  std::uint64_t doubtful_end_;
  ExtentSet dead_;       ///< not used by the current state; includes free_
  ExtentSet free_;       ///< may be taken; includes unpunched_
  ExtentSet unpunched_;  ///< may occupy storage
  ExtentSet renewed_;    ///< parts before doubtful_end_ whose chunks this writer has put
  Quarantine<Extent> quarantine_;
  std::vector<Extent> doubtful_;
  std::vector<Extent> distrusted_;
};

/// Lengths that a frame has had. Readers poll the length, so every commit needs a new one.
class FrameLengths {
 public:
  void add(std::uint64_t length) { used_.add({length, 1}); }
  std::uint64_t next_unused(std::uint64_t least) const { return used_.run_end(least); }
  std::size_t memory() const { return used_.memory(); }

 private:
  ExtentSet used_;
};

}  // namespace bloscfs::frame::inline editing
