#pragma once
// Listings of directories of objects, with the shown names. Each listing is cached for a while.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "frame/store/clock.hpp"
#include "frame/store/object_tree.hpp"
#include "fs/source/naming.hpp"
#include "fs/source/recently_used.hpp"
#include "fs/support/once_log.hpp"
#include "fs/support/request.hpp"
#include "fs/support/sync.hpp"
#include "fs/view/memory_budget.hpp"

namespace bloscfs::fs {

/// The listing of one directory at one time. Immutable except for note_change().
class ObjectListing {
 public:
  using TimePoint = frame::Clock::TimePoint;
  using Duration = frame::Clock::Duration;
  /// Returns how an entry is shown, perhaps as a guess.
  using Judge = std::function<ShownAs(const frame::ObjectEntry& entry)>;

  /// Returns the bytes that the constructor needs in addition to the entries. The caller takes them
  /// from the charge before it calls the constructor.
  static std::size_t cost_to_show(const std::vector<frame::ObjectEntry>& entries);
  /// Reduces `charge` to the memory that this object keeps.
  ObjectListing(std::string directory, std::vector<frame::ObjectEntry> entries, const Judge& judge,
                TimePoint begun, Duration cost, std::shared_ptr<MemoryBudget::Listing> charge);

  const std::string& directory() const { return directory_; }

  const std::vector<frame::ObjectEntry>& entries() const { return entries_; }
  /// The shown names, in the order of entries().
  const std::vector<std::string>& shown() const { return shown_; }
  /// These return null if there is no such entry. find_shown() takes the shown name, find() the
  /// name in the object store.
  const frame::ObjectEntry* find_shown(const std::string& name) const;
  const frame::ObjectEntry* find(const std::string& full_name) const;
  /// True if the object store has, or may have, objects below that name. This includes the objects
  /// that a removed frame has left.
  bool may_hold(const std::string& full_name) const {
    return leftovers_.contains(full_name) || find(full_name) != nullptr;
  }
  /// True while the listing may be trusted: for the time `trusted`, or longer if the listing took
  /// long to make.
  bool is_fresh(std::chrono::milliseconds trusted, TimePoint now) const;
  TimePoint fresh_until(std::chrono::milliseconds trusted) const;
  /// Records that a name in the directory has changed. From then on the listing is not fresh.
  void note_change() const { is_changed_ = true; }
  bool is_changed() const { return is_changed_; }
  TimePoint begun() const { return begun_; }

 private:
  const std::string directory_;
  std::set<std::string> leftovers_;          ///< names of removed or unfinished frames
  std::vector<frame::ObjectEntry> entries_;  ///< sorted by name, without hidden entries
  std::vector<std::string> shown_;
  std::vector<std::uint32_t> by_shown_;  ///< indexes of entries(), sorted by shown name
  const TimePoint begun_;
  const Duration cost_;
  const std::shared_ptr<MemoryBudget::Listing> charge_;
  mutable std::atomic<bool> is_changed_{false};
};
using ListingPointer = std::shared_ptr<const ObjectListing>;

/// Lists directories, and caches the listings. Thread-safe. Throws the errors of
/// ObjectTree::list(), and ENOMEM. Throws NoSlot if the object store must be asked and no slot is
/// free.
class ObjectListings {
 public:
  ObjectListings(std::shared_ptr<frame::ObjectTree> tree, MemoryBudget& budget,
                 std::chrono::milliseconds revalidate, const frame::Clock& clock)
      : tree_(std::move(tree)), revalidate_(revalidate), clock_(clock), known_(budget, 256) {}

  /// Returns the cached listing if it is fresh; otherwise lists the directory.
  ListingPointer get(Request& request, const std::string& directory,
                     const ObjectListing::Judge& judge);
  /// Returns the cached listing, however old; null if there is none.
  ListingPointer known(const std::string& directory) { return known_.find(directory); }
  /// Returns the cached listing if it is fresh; null otherwise.
  ListingPointer fresh(const std::string& directory);
  /// Call this once the object store has answered a change of names in the directory. From then on
  /// the cached listing is not fresh, and a listing that is being made will not be cached.
  void forget(const std::string& directory);

 private:
  /// Waits until no other request lists the directory.
  void begin_making(Request& request, const std::string& directory) EXCLUDES(mutex_);
  void end_making(const std::string& directory) EXCLUDES(mutex_);

  const std::shared_ptr<frame::ObjectTree> tree_;
  const std::chrono::milliseconds revalidate_;
  const frame::Clock& clock_;
  OnceLog log_;
  Mutex mutex_{LockLevel::table};
  CondVar made_;
  /// The directories that are being listed; true if forget() was called during the listing.
  std::map<std::string, bool> making_ GUARDED_BY(mutex_);
  RecentlyUsed<std::string, ObjectListing> known_;
};

}  // namespace bloscfs::fs
