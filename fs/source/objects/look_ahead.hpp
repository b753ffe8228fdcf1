#pragma once
// Looks at what somebody who goes through a listing comes to next.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "frame/store/store_calls.hpp"
#include "fs/source/objects/object_listings.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// `ls -l` asks for the attributes of one name after the other, and each may take a round trip to
/// the store: several are looked at at once. Thread-safe.
class LookAhead {
 public:
  /// Looks at the entry; what that finds is remembered by whoever asks for it. Called by threads.
  using Look = std::function<void(const ListingPointer& listing, std::size_t entry)>;

  LookAhead(unsigned at_once, Look look)
      : at_once_(at_once), look_(std::move(look)), calls_(at_once) {}

  using Pending = std::shared_ptr<frame::StoreCalls::Pending>;
  /// To be called before the entry is looked at. The look that is under way; null: none is.
  Pending pass(const ListingPointer& listing, std::size_t entry) {
    Walk dropped;  // destroyed behind the lock
    const MutexLock lock(mutex_);
    Walk& walk = walk_through(listing, dropped);
    if (entry + 1 != walk.next) {
      walk.in_order = entry == walk.next ? walk.in_order + 1 : 0;
      if (walk.in_order == 0) walk.begun = entry + 1;
      walk.next = entry + 1;
    }
    walk.pending.erase(walk.pending.begin(), walk.pending.lower_bound(entry));
    if (walk.in_order >= kInOrder) begin(walk);
    const auto begun = walk.pending.find(entry);
    return begun == walk.pending.end() ? nullptr : begun->second;
  }

 private:
  /// So many names in their order are no chance.
  static constexpr std::size_t kInOrder = 2;
  static constexpr std::size_t kMostWalks = 8;

  struct Walk {
    ListingPointer listing;
    std::size_t next = 0, in_order = 0;
    std::size_t begun = 0;  ///< entries before this one were looked at, or are being
    std::map<std::size_t, Pending> pending = {};
  };

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
        walk.pending[walk.begun] = std::make_shared<frame::StoreCalls::Pending>(calls_.begin(
            [this, listing = walk.listing, entry = walk.begun] { look_(listing, entry); }));
    } catch (const std::system_error&) {
      // No thread can be made: whoever comes there looks.
    }
  }

  const unsigned at_once_;
  const Look look_;
  Mutex mutex_;
  std::vector<Walk> walks_ GUARDED_BY(mutex_);  ///< the last one first
  frame::StoreCalls calls_;
};

}  // namespace bloscfs::fs
