#include "fs/source/objects/object_listings.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>

#include "fs/source/objects/logged_failures.hpp"
#include "fs/support/relative_path.hpp"

namespace bloscfs::fs {
namespace {

/// A listing is trusted for this many times the time that it took to make.
constexpr int kTimesItsCost = 10;
/// Estimated bytes of an entry's place among the shown names, without its strings.
constexpr std::size_t kEntryCost = 64;

/// Prefix of the names of this program's own objects.
constexpr std::string_view kOwn = ".bloscfs-";

/// Searches entries that are sorted by name. Returns null if none has that name.
const frame::ObjectEntry* entry_of(const std::vector<frame::ObjectEntry>& entries,
                                   std::string_view name) {
  const auto found = std::lower_bound(
      entries.begin(), entries.end(), name,
      [](const frame::ObjectEntry& entry, std::string_view wanted) { return entry.name < wanted; });
  return found != entries.end() && found->name == name ? &*found : nullptr;
}

/// True for this program's own objects, and for the lock sidecar of an entry.
bool is_hidden(const std::vector<frame::ObjectEntry>& entries, const std::string& name) {
  if (is_temporary(name) || is_lock_file(name) || name.starts_with(kOwn)) return true;
  const auto locked = locked_name(name);
  return locked && entry_of(entries, *locked) != nullptr;
}

}  // namespace

/// Counts the shown name, the entry as shown_names() takes it, and the tables of that function. The
/// name itself is not copied.
std::size_t ObjectListing::cost_to_show(const std::vector<frame::ObjectEntry>& entries) {
  constexpr std::size_t kCost =
      sizeof(NamedEntry) + sizeof(std::string) + kEntryCost + 3 * sizeof(std::size_t);
  std::size_t bytes = entries.size() * kCost;
  for (const frame::ObjectEntry& entry : entries) bytes += frame::heap_size(entry.name.size());
  return bytes;
}

ObjectListing::ObjectListing(std::string directory, std::vector<frame::ObjectEntry> entries,
                             const Judge& judge, TimePoint begun, Duration cost,
                             std::shared_ptr<MemoryBudget::Listing> charge)
    : directory_(std::move(directory)),
      entries_(std::move(entries)),
      begun_(begun),
      cost_(cost),
      charge_(std::move(charge)) {
  // Marks the entries to remove before removing any, because is_hidden() needs the other entries.
  std::vector<bool> goes;
  goes.reserve(entries_.size());
  for (const frame::ObjectEntry& entry : entries_) {
    if (entry.is_leftover()) leftovers_.insert(entry.name);
    goes.push_back(entry.is_leftover() || is_hidden(entries_, entry.name));
  }
  std::size_t at = 0;
  std::erase_if(entries_, [&](const frame::ObjectEntry&) { return goes[at++]; });
  std::vector<NamedEntry> named;
  named.reserve(entries_.size());
  for (frame::ObjectEntry& entry : entries_) {
    const ShownAs shown = judge(entry);
    named.push_back({std::move(entry.name), shown});
  }
  shown_ = shown_names(named);
  for (std::size_t i = 0; i < named.size(); i++) entries_[i].name = std::move(named[i].full_name);
  by_shown_.resize(shown_.size());
  std::iota(by_shown_.begin(), by_shown_.end(), 0U);
  std::sort(by_shown_.begin(), by_shown_.end(),
            [&](std::uint32_t a, std::uint32_t b) { return shown_[a] < shown_[b]; });
  std::size_t kept = entries_.capacity() * sizeof(frame::ObjectEntry) +
                     entries_.size() * (sizeof(std::string) + sizeof(by_shown_[0]));
  for (const frame::ObjectEntry& entry : entries_)
    kept += entry.memory() - sizeof entry + frame::heap_size(entry.name.size());
  for (const std::string& name : leftovers_) kept += kEntryCost + frame::heap_size(name.size());
  charge_->keep(kept);
}

const frame::ObjectEntry* ObjectListing::find_shown(const std::string& name) const {
  const auto found = std::lower_bound(
      by_shown_.begin(), by_shown_.end(), name,
      [&](std::uint32_t at, const std::string& wanted) { return shown_[at] < wanted; });
  return found != by_shown_.end() && shown_[*found] == name ? &entries_[*found] : nullptr;
}

const frame::ObjectEntry* ObjectListing::find(const std::string& full_name) const {
  return entry_of(entries_, full_name);
}

bool ObjectListing::is_fresh(std::chrono::milliseconds trusted, TimePoint now) const {
  return !is_changed_ && now < fresh_until(trusted);
}

ObjectListing::TimePoint ObjectListing::fresh_until(std::chrono::milliseconds trusted) const {
  return begun_ + std::max<Duration>(trusted, cost_ * kTimesItsCost);
}

void ObjectListings::forget(const std::string& directory) {
  {
    const MutexLock lock(mutex_);
    if (const auto making = making_.find(directory); making != making_.end()) making->second = true;
  }
  if (const auto listing = known(directory)) listing->note_change();
}

ListingPointer ObjectListings::fresh(const std::string& directory) {
  auto listing = known(directory);
  return listing && listing->is_fresh(revalidate_, clock_.now()) ? listing : nullptr;
}

void ObjectListings::begin_making(Request& request, const std::string& directory) {
  const MutexLock lock(mutex_);
  while (!making_.try_emplace(directory, false).second) {
    made_.wait_for(mutex_, Request::kCheckInterval);
    request.check();
  }
}

void ObjectListings::end_making(const std::string& directory) {
  const MutexLock lock(mutex_);
  making_.erase(directory);
  made_.notify_all();
}

ListingPointer ObjectListings::get(Request& request, const std::string& directory,
                                   const ObjectListing::Judge& judge) {
  const auto wanted = clock_.now();
  if (auto listing = fresh(directory)) return listing;
  request.need_slot();
  // One request at a time lists a directory. A request that had to wait takes the listing that was
  // made while it waited.
  begin_making(request, directory);
  const std::unique_ptr<void, std::function<void(void*)>> one_at_a_time(
      this, [&](void*) { end_making(directory); });
  if (auto listing = known(directory);
      listing && listing->begun() >= wanted && !listing->is_changed())
    return listing;
  const auto begun = clock_.now();
  auto charge = known_.charge_for(request, {});
  std::vector<frame::ObjectEntry> entries = log_failures(request, log_, *tree_, directory, [&] {
    auto found = tree_->list(directory, *charge);
    charge->take(ObjectListing::cost_to_show(found));
    return found;
  });
  auto listing = std::make_shared<const ObjectListing>(directory, std::move(entries), judge, begun,
                                                       clock_.now() - begun, std::move(charge));
  const MutexLock lock(mutex_);
  // If a name has changed during the listing, the listing may lack the change.
  if (!making_.at(directory)) known_.put(directory, listing);
  return listing;
}

}  // namespace bloscfs::fs
