#include "fs/directory_listings.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

namespace bloscfs::fs {
namespace {

/// A string's own memory, where it does not lie within it.
std::size_t memory_of(const std::string& text) {
  return text.capacity() < sizeof(std::string) / 2 ? 0 : text.capacity() + 2 * sizeof(void*);
}

std::size_t memory_of(const std::vector<Tree::DirectoryEntry>& entries) {
  std::size_t bytes = sizeof(DirectoryListing) + entries.capacity() * sizeof(entries[0]);
  for (const auto& entry : entries)
    bytes += memory_of(entry.shown_name) + memory_of(entry.full_name);
  return bytes;
}

}  // namespace

/// A listing with what it has taken.
struct DirectoryListings::Kept : DirectoryListing {
  Kept(DirectoryListings& all, std::vector<Tree::DirectoryEntry> listed)
      : DirectoryListing{std::move(listed)},
        budget(all.budget_),
        memory(memory_of(entries)),
        part(all.share_.take_one(memory)) {
    if (!part)
      throw std::system_error(ENOMEM, std::generic_category(), "too much is open of directories");
    budget.charge(0, memory);
  }
  ~Kept() { budget.charge(memory, 0); }
  Kept(const Kept&) = delete;
  Kept& operator=(const Kept&) = delete;

  BlockCache& budget;
  const std::size_t memory;
  const FairShare::Part part;
};

std::shared_ptr<const DirectoryListing> DirectoryListings::keep(
    NodeId node, std::vector<Tree::DirectoryEntry> entries) {
  std::shared_ptr<const DirectoryListing> known;
  {
    const MutexLock lock(mutex_);
    if (const auto found = last_.find(node); found != last_.end()) known = found->second.lock();
  }
  if (known && known->entries == entries) return known;
  known = std::make_shared<const Kept>(*this, std::move(entries));
  const MutexLock lock(mutex_);
  if (last_.size() >= to_look_through_) forget_unused();
  last_[node] = known;
  return known;
}

void DirectoryListings::forget_unused() {
  std::erase_if(last_, [](const auto& entry) { return entry.second.expired(); });
  to_look_through_ = 64 + 2 * last_.size();
}

}  // namespace bloscfs::fs
