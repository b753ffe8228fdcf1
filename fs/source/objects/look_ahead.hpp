#pragma once
// Looks ahead at the entries whose attributes a program that walks a directory will need next.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "frame/store/store_calls.hpp"
#include "fs/source/objects/object_listings.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// `ls -l` looks up one name after the other, and each lookup may cost a round trip to the object
/// store. Once a program has looked up several entries in a row, this class looks at the next ones
/// in parallel. It recognises two orders: that of the listing (ls), and that of inode numbers (cp,
/// tar). Thread-safe.
class LookAhead {
 public:
  /// Looks at an entry and caches the result. Called from several threads.
  using Look = std::function<void(const ListingPointer& listing, std::size_t entry)>;
  using InodeOf = std::function<ino_t(const ObjectListing& listing, std::size_t entry)>;

  LookAhead(unsigned at_once, Look look, InodeOf inode_of)
      : at_once_(at_once),
        look_(std::move(look)),
        inode_of_(std::move(inode_of)),
        calls_(at_once) {}

  using Pending = std::shared_ptr<frame::StoreCalls::Pending>;
  /// Call this before looking at an entry. Returns the look-ahead that was begun for the entry,
  /// perhaps over already; null if there is none.
  Pending pass(const ListingPointer& listing, std::size_t entry) {
    Walk dropped;  // destroyed after the lock is released
    const MutexLock lock(mutex_);
    Walk& walk = walk_through(listing, dropped);
    follow(walk, entry);
    const std::size_t place = walk.place_of(entry);
    // A program may look up the same entry several times in a row. That does not change the walk.
    if (place + 1 != walk.next) {
      walk.in_order = place == walk.next ? walk.in_order + 1 : 0;
      if (walk.in_order == 0) walk.begun = place + 1;
      walk.next = place + 1;
    }
    walk.pending.erase(walk.pending.begin(), walk.pending.lower_bound(place));
    if (walk.in_order >= kInOrder) begin(walk);
    const auto begun = walk.pending.find(place);
    return begun == walk.pending.end() ? nullptr : begun->second;
  }

 private:
  /// How many steps in a row make a walk: to the next entry of the order, or to a higher inode
  /// number.
  static constexpr std::size_t kInOrder = 2, kRising = 4;
  static constexpr std::size_t kMostWalks = 8;
  static constexpr std::size_t kMostByInode = 100'000;  ///< larger listings are not sorted

  /// The walk of one program through a listing. A place is a position in the order in which the
  /// program walks.
  struct Walk {
    ListingPointer listing;
    std::size_t next = 0, in_order = 0;
    std::size_t begun = 0;  ///< looks have begun at the places before this one
    std::map<std::size_t, Pending> pending = {};
    ino_t last = 0;          ///< inode number of the last entry
    std::size_t rising = 0;  ///< how many inode numbers in a row were larger than the one before
    std::vector<std::uint32_t> by_inode = {}, places = {};  ///< empty: listing order

    std::size_t place_of(std::size_t entry) const { return places.empty() ? entry : places[entry]; }
    std::size_t entry_at(std::size_t place) const {
      return by_inode.empty() ? place : by_inode[place];
    }
    void go_in_listed_order() {
      by_inode.clear();
      places.clear();
      pending.clear();
      next = in_order = begun = rising = 0;
    }
  };

  /// Detects in which order the program walks.
  void follow(Walk& walk, std::size_t entry) const REQUIRES(mutex_) {
    if (!walk.places.empty()) {
      const std::size_t place = walk.place_of(entry);
      if (place + 1 < walk.next || place > walk.next + at_once_) walk.go_in_listed_order();
      return;
    }
    if (walk.in_order >= kInOrder || walk.listing->entries().size() > kMostByInode) return;
    const ino_t inode = inode_of_(*walk.listing, entry);
    if (inode == walk.last) return;
    walk.rising = inode > walk.last ? walk.rising + 1 : 0;
    walk.last = inode;
    if (walk.rising < kRising) return;
    sort_by_inode(walk);
    walk.next = walk.place_of(entry);
    walk.in_order = walk.begun = 0;
  }

  void sort_by_inode(Walk& walk) const REQUIRES(mutex_) {
    const std::size_t count = walk.listing->entries().size();
    std::vector<std::pair<ino_t, std::uint32_t>> sorted;
    sorted.reserve(count);
    for (std::uint32_t i = 0; i < count; i++) sorted.emplace_back(inode_of_(*walk.listing, i), i);
    std::sort(sorted.begin(), sorted.end());
    walk.pending.clear();
    walk.by_inode.resize(count);
    walk.places.resize(count);
    for (std::uint32_t place = 0; place < count; place++) {
      walk.by_inode[place] = sorted[place].second;
      walk.places[sorted[place].second] = place;
    }
  }

  Walk& walk_through(const ListingPointer& listing, Walk& dropped) REQUIRES(mutex_) {
    const auto found = std::find_if(walks_.begin(), walks_.end(),
                                    [&](const Walk& walk) { return walk.listing == listing; });
    if (found != walks_.end()) {
      std::rotate(walks_.begin(), found, found + 1);
    } else {
      if (walks_.size() == kMostWalks) {
        dropped = std::move(walks_.back());
        walks_.pop_back();
      }
      walks_.insert(walks_.begin(), Walk{.listing = listing});
    }
    return walks_.front();
  }

  void begin(Walk& walk) REQUIRES(mutex_) {
    walk.begun = std::max(walk.begun, walk.next);
    const std::size_t end = std::min(walk.next + at_once_, walk.listing->entries().size());
    try {
      for (; walk.begun < end; walk.begun++)
        walk.pending[walk.begun] = std::make_shared<frame::StoreCalls::Pending>(
            calls_.begin([this, listing = walk.listing, entry = walk.entry_at(walk.begun)] {
              look_(listing, entry);
            }));
    } catch (const std::system_error&) {
      // The thread cannot be started; the lookup itself will look at the entry.
    }
  }

  const unsigned at_once_;
  const Look look_;
  const InodeOf inode_of_;
  Mutex mutex_;
  std::vector<Walk> walks_ GUARDED_BY(mutex_);  ///< most recently used first
  frame::StoreCalls calls_;
};

}  // namespace bloscfs::fs
