#include "fs/source/objects/object_listings.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "fs/source/node.hpp"
#include "fs/source/objects/told_failures.hpp"
#include "fs/support/relative_path.hpp"

namespace bloscfs::fs {
namespace {

/// A listing is believed for so many times as long as it took to make.
constexpr int kTimesItsCost = 10;
/// Of an entry, beside its texts: its place among the shown names.
constexpr std::size_t kEntryCost = 64;

/// Names of this program's own objects, and of those that tell what was removed.
constexpr std::string_view kOwn = ".bloscfs-";
constexpr std::string_view kRemoved = ".bloscfs-removed-";

/// Null if there is none of that name.
const frame::ObjectEntry* entry_of(const std::vector<frame::ObjectEntry>& entries,
                                   std::string_view name) {
  const auto found = std::lower_bound(
      entries.begin(), entries.end(), name,
      [](const frame::ObjectEntry& entry, std::string_view wanted) { return entry.name < wanted; });
  return found != entries.end() && found->name == name ? &*found : nullptr;
}

/// Not for users, or the lock sidecar of an entry.
bool is_hidden(const std::vector<frame::ObjectEntry>& entries, const std::string& name) {
  if (is_temporary(name) || is_lock_file(name) || name.starts_with(kOwn)) return true;
  const auto locked = locked_name(name);
  return locked && entry_of(entries, *locked) != nullptr;
}

}  // namespace

std::string removal_marker(const std::string& path) {
  return path_in(parent_of(path), std::string(kRemoved) + name_of(path));
}

/// The shown name, its place and how it was found, the entry of the directory, and copies of names.
std::size_t ObjectListing::cost_to_show(const std::vector<frame::ObjectEntry>& entries) {
  constexpr std::size_t kCost =
      sizeof(NamedEntry) + 2 * sizeof(std::string) + 2 * kEntryCost + sizeof(DirectoryEntry);
  constexpr std::size_t kCopies = 4;
  std::size_t bytes = entries.size() * kCost;
  for (const frame::ObjectEntry& entry : entries)
    bytes += kCopies * frame::heap_size(entry.name.size());
  return bytes;
}

ObjectListing::ObjectListing(std::vector<frame::ObjectEntry> entries, const Judge& judge,
                             const HasGone& has_gone, TimePoint begun, Duration cost,
                             std::shared_ptr<MemoryBudget::Listing> charge)
    : entries_(std::move(entries)), begun_(begun), cost_(cost), charge_(std::move(charge)) {
  for (const frame::ObjectEntry& entry : entries_)
    if (entry.name.starts_with(kRemoved)) markers_.insert(entry.name.substr(kRemoved.size()));
  // Each is judged by what stands beside it: what goes is known before anything does.
  std::vector<bool> goes;
  goes.reserve(entries_.size());
  for (const frame::ObjectEntry& entry : entries_)
    goes.push_back(is_hidden(entries_, entry.name) || (has_marker(entry.name) && has_gone(entry)));
  std::size_t at = 0;
  std::erase_if(entries_, [&](const frame::ObjectEntry&) { return goes[at++]; });
  std::vector<NamedEntry> named;
  named.reserve(entries_.size());
  for (const frame::ObjectEntry& entry : entries_) named.push_back({entry.name, judge(entry)});
  shown_ = shown_names(named);
  by_shown_.reserve(shown_.size());
  for (std::size_t i = 0; i < shown_.size(); i++) by_shown_.emplace(shown_[i], i);
  std::size_t kept = entries_.capacity() * sizeof(frame::ObjectEntry) +
                     entries_.size() * (sizeof(std::string) + kEntryCost);
  for (const frame::ObjectEntry& entry : entries_)
    kept += entry.memory() - sizeof entry + frame::heap_size(entry.name.size());
  for (const std::string& name : markers_) kept += kEntryCost + frame::heap_size(name.size());
  charge_->keep(kept);
}

const frame::ObjectEntry* ObjectListing::find_shown(const std::string& name) const {
  const auto found = by_shown_.find(name);
  return found == by_shown_.end() ? nullptr : &entries_[found->second];
}

const frame::ObjectEntry* ObjectListing::find(const std::string& full_name) const {
  return entry_of(entries_, full_name);
}

bool ObjectListing::is_fresh(std::chrono::milliseconds trusted, TimePoint now) const {
  return now - begun_ < std::max<Duration>(trusted, cost_ * kTimesItsCost);
}

void ObjectListings::forget(const std::string& directory) {
  {
    const MutexLock lock(mutex_);
    if (const auto making = making_.find(directory); making != making_.end()) making->second = true;
  }
  known_.put(directory, nullptr);
}

void ObjectListings::begin_making(Request& request, const std::string& directory) {
  const MutexLock lock(mutex_);
  while (!making_.try_emplace(directory, false).second) {
    made_.wait_for(mutex_, Request::kBetweenChecks);
    request.check();
  }
}

void ObjectListings::end_making(const std::string& directory) {
  const MutexLock lock(mutex_);
  making_.erase(directory);
  made_.notify_all();
}

ListingPointer ObjectListings::get(Request& request, const std::string& directory,
                                   const ObjectListing::Judge& judge,
                                   const ObjectListing::HasGone& has_gone) {
  const auto wanted = clock_.now();
  if (auto listing = known(directory); listing && listing->is_fresh(revalidate_, wanted))
    return listing;
  request.need_slot();
  // One at a time of each directory: who has waited takes what was listed since.
  begin_making(request, directory);
  const std::unique_ptr<void, std::function<void(void*)>> one_at_a_time(
      this, [&](void*) { end_making(directory); });
  if (auto listing = known(directory); listing && listing->begun() >= wanted) return listing;
  const auto begun = clock_.now();
  auto charge = known_.charge_for(request, {});
  std::vector<frame::ObjectEntry> entries = telling_failures(request, log_, *tree_, directory, [&] {
    auto found = tree_->list(directory, *charge);
    charge->take(ObjectListing::cost_to_show(found));
    return found;
  });
  auto listing = std::make_shared<const ObjectListing>(std::move(entries), judge, has_gone, begun,
                                                       clock_.now() - begun, std::move(charge));
  const MutexLock lock(mutex_);
  // A change may have come in the midst of it, which it may not have.
  if (!making_.at(directory)) known_.put(directory, listing);
  return listing;
}

}  // namespace bloscfs::fs
