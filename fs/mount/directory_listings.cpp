#include "fs/mount/directory_listings.hpp"

#include <cerrno>
#include <optional>
#include <utility>

#include <malloc.h>

#include "frame/store/throw_errno.hpp"
#include "fs/support/request_user.hpp"
#include "fs/support/turns.hpp"

namespace bloscfs::fs {
namespace {

/// A string's own memory, where it does not lie within it.
std::size_t memory_of(const std::string& text) {
  return text.capacity() < sizeof(std::string) / 2 ? 0 : text.capacity() + 2 * sizeof(void*);
}

std::size_t memory_of(const std::vector<DirectoryEntry>& entries) {
  std::size_t bytes = sizeof(DirectoryListing) + entries.capacity() * sizeof(entries[0]);
  for (const auto& entry : entries)
    bytes += memory_of(entry.shown_name) + memory_of(entry.full_name);
  return bytes;
}

/// Thrown through a listing that need not go on. No std::exception, for it is no failure.
struct ListedMeanwhile {
  std::shared_ptr<const DirectoryListing> listing;
};

}  // namespace

/// A listing with what it has taken.
struct DirectoryListings::Kept : DirectoryListing {
  Kept(DirectoryListings& all, std::vector<DirectoryEntry> listed)
      : DirectoryListing{std::move(listed)},
        share(all.share_.take_one(memory_of(entries))),
        memory(all.budget_) {
    if (!share) frame::throw_errno(ENOMEM, "too much is open of directories");
    memory.resize(share.amount());
  }

  const FairShare::Part share;
  MemoryBudget::Part memory;
};

std::shared_ptr<const DirectoryListing> DirectoryListings::make(NodeId node, std::uint64_t begun,
                                                                const List& list) {
  const std::uint64_t number = ++begun_;
  std::optional<KeyedMutex::Lock> large;
  try {
    auto listing = keep(node, number, list([&] {
                          if (large) return;
                          TurnAtNeed::need();
                          large.emplace(large_, RequestUser::current().value_or(0));
                          const Last known = last(node);
                          if (auto listed = known.listing.lock(); listed && known.number > begun)
                            throw ListedMeanwhile{std::move(listed)};
                        }));
    // What making it took lies between what is kept of it, in this thread's part of the heap.
    if (large) ::malloc_trim(0);
    return listing;
  } catch (const ListedMeanwhile& other) {
    return other.listing;
  }
}

DirectoryListings::Last DirectoryListings::last(NodeId node) {
  const MutexLock lock(mutex_);
  const auto found = last_.find(node);
  return found == last_.end() ? Last() : found->second;
}

std::shared_ptr<const DirectoryListing> DirectoryListings::keep(
    NodeId node, std::uint64_t number, std::vector<DirectoryEntry> entries) {
  std::shared_ptr<const DirectoryListing> listing = last(node).listing.lock();
  if (!listing || listing->entries != entries)
    listing = std::make_shared<const Kept>(*this, std::move(entries));
  const MutexLock lock(mutex_);
  if (last_.size() >= to_look_through_) forget_unused();
  Last& last = last_[node];
  if (number > last.number || last.listing.expired()) last = {listing, number};
  return listing;
}

void DirectoryListings::forget_unused() {
  std::erase_if(last_, [](const auto& entry) { return entry.second.listing.expired(); });
  to_look_through_ = 64 + 2 * last_.size();
}

}  // namespace bloscfs::fs
