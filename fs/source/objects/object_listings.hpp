#pragma once
// What directories of objects hold, with the names that are shown, each known for a while.

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
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

/// One directory, as it was. Immutable.
class ObjectListing {
 public:
  using TimePoint = frame::Clock::TimePoint;
  using Duration = frame::Clock::Duration;
  /// How an entry is shown, which may be a guess.
  using Judge = std::function<ShownAs(const frame::ObjectEntry& entry)>;

  /// What is to be taken, before, of the charge that the entries were listed with.
  static std::size_t cost_to_show(const std::vector<frame::ObjectEntry>& entries);
  /// `charge` is left with what is kept.
  ObjectListing(std::string directory, std::vector<frame::ObjectEntry> entries, const Judge& judge,
                TimePoint begun, Duration cost, std::shared_ptr<MemoryBudget::Listing> charge);

  const std::string& directory() const { return directory_; }

  const std::vector<frame::ObjectEntry>& entries() const { return entries_; }
  /// In the same order.
  const std::vector<std::string>& shown() const { return shown_; }
  /// Null if there is none. By the shown name, and by that which it has in the store.
  const frame::ObjectEntry* find_shown(const std::string& name) const;
  const frame::ObjectEntry* find(const std::string& full_name) const;
  /// True if there are, or may be, objects inside of what has that name, shown or not.
  bool may_hold(const std::string& full_name) const {
    return left_over_.contains(full_name) || find(full_name) != nullptr;
  }
  /// True for as long as it may be believed: one that took long to make for longer.
  bool is_fresh(std::chrono::milliseconds trusted, TimePoint now) const;
  TimePoint fresh_until(std::chrono::milliseconds trusted) const;
  /// A change has come since: its names are known, and no longer believed.
  void note_change() const { is_changed_ = true; }
  bool is_changed() const { return is_changed_; }
  TimePoint begun() const { return begun_; }

 private:
  const std::string directory_;
  std::set<std::string> left_over_;          ///< names of removed frames
  std::vector<frame::ObjectEntry> entries_;  ///< by name, without what is hidden
  std::vector<std::string> shown_;
  std::unordered_map<std::string_view, std::size_t> by_shown_;
  const TimePoint begun_;
  const Duration cost_;
  const std::shared_ptr<MemoryBudget::Listing> charge_;
  mutable std::atomic<bool> is_changed_{false};
};
using ListingPointer = std::shared_ptr<const ObjectListing>;

/// Thread-safe. Errors: as ObjectTree::list()'s; ENOMEM; NoSlot where something must be asked for.
class ObjectListings {
 public:
  ObjectListings(std::shared_ptr<frame::ObjectTree> tree, MemoryBudget& budget,
                 std::chrono::milliseconds revalidate, const frame::Clock& clock)
      : tree_(std::move(tree)), revalidate_(revalidate), clock_(clock), known_(budget, 256) {}

  /// What the directory holds, or held not longer ago than may be.
  ListingPointer get(Request& request, const std::string& directory,
                     const ObjectListing::Judge& judge);
  /// The last one, however old; null if there is none.
  ListingPointer known(const std::string& directory) { return known_.find(directory); }
  /// The last one, if get() would give it.
  ListingPointer fresh(const std::string& directory);
  /// Once the store has answered a change of names: what was listed before, and what is being
  /// listed, is not believed.
  void forget(const std::string& directory);

 private:
  void begin_making(Request& request, const std::string& directory) EXCLUDES(mutex_);
  void end_making(const std::string& directory) EXCLUDES(mutex_);

  const std::shared_ptr<frame::ObjectTree> tree_;
  const std::chrono::milliseconds revalidate_;
  const frame::Clock& clock_;
  OnceLog log_;
  Mutex mutex_{LockLevel::table};
  CondVar made_;
  /// What is being listed, and whether it was forgotten meanwhile.
  std::map<std::string, bool> making_ GUARDED_BY(mutex_);
  RecentlyUsed<std::string, ObjectListing> known_;
};

}  // namespace bloscfs::fs
