#include "fs/mount/directory_handles.hpp"

#include <cerrno>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <malloc.h>

#include "frame/store/throw_errno.hpp"

namespace bloscfs::fs {
namespace {

constexpr std::size_t kLargeDirectory = 10'000;

/// Returns the heap memory of a string; 0 if its characters lie inside the object.
std::size_t memory_of(const std::string& text) {
  return text.capacity() < sizeof(std::string) / 2 ? 0 : text.capacity() + 2 * sizeof(void*);
}

std::size_t memory_of(const std::vector<DirectoryEntry>& entries) {
  std::size_t bytes = sizeof(DirectoryListing) + entries.capacity() * sizeof(entries[0]);
  for (const auto& entry : entries)
    bytes += memory_of(entry.shown_name) + memory_of(entry.full_name);
  return bytes;
}

}  // namespace

/// A listing with the share and the memory that it has taken.
struct DirectoryHandles::Kept : DirectoryListing {
  Kept(DirectoryHandles& all, uid_t user, std::vector<DirectoryEntry> listed)
      : DirectoryListing{std::move(listed)},
        share(all.share_.take_one(user, memory_of(entries))),
        memory(all.budget_) {
    if (!share)
      frame::throw_errno(ENOMEM,
                         "cannot list the directory: open directories use this user's share of "
                         "cache_size; close some, or raise cache_size");
    memory.resize(share.amount());
  }

  const FairShare::Part share;
  MemoryBudget::Part memory;
};

DirectoryHandles::Listing DirectoryHandles::list(Request& request, NodeId directory,
                                                 std::uint64_t begun) {
  const std::uint64_t number = ++begun_;
  std::optional<KeyedMutex::Lock> large;
  Listing shared_listing;  // made by another request of the user
  // Called once the directory turns out to be large. Returns false if another request's listing
  // will do.
  const auto on_many_entries = [&] {
    if (large) return true;
    request.need_slot();
    large.emplace(request, large_, request.payer());
    if (const Last known = last(directory); known.number > begun)
      shared_listing = known.listing.lock();
    return shared_listing == nullptr;
  };
  auto entries = source_.list(request, directory, on_many_entries);
  if (!entries) return shared_listing;
  Listing listing = keep(request.payer(), directory, number, *std::move(entries));
  // Returns the freed working memory to the system. It lies between the strings of the listing, in
  // this thread's heap arena.
  if (large) ::malloc_trim(0);
  return listing;
}

DirectoryHandles::Last DirectoryHandles::last(NodeId directory) {
  const MutexLock lock(mutex_);
  const auto found = last_.find(directory);
  return found == last_.end() ? Last() : found->second;
}

DirectoryHandles::Listing DirectoryHandles::keep(uid_t user, NodeId directory, std::uint64_t number,
                                                 std::vector<DirectoryEntry> entries) {
  Listing listing = last(directory).listing.lock();
  if (!listing || listing->entries != entries)
    listing = std::make_shared<const Kept>(*this, user, std::move(entries));
  const MutexLock lock(mutex_);
  if (last_.size() >= cleanup_size_) {
    std::erase_if(last_, [](const auto& entry) { return entry.second.listing.expired(); });
    cleanup_size_ = 64 + 2 * last_.size();
  }
  Last& last = last_[directory];
  if (number > last.number || last.listing.expired()) last = {listing, number};
  return listing;
}

/// Throws ESTALE instead of ENOENT, because readdir(3) takes ENOENT for the end of the directory.
DirectoryHandles::Listing DirectoryHandles::list_root(Request& request, std::uint64_t begun) {
  try {
    return list(request, kRootId, begun);
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::no_such_file_or_directory) throw;
    frame::throw_errno(ESTALE, "the root");
  }
}

std::uint64_t DirectoryHandles::open(Request& request, NodeId node, std::uint64_t begun) {
  auto handle = std::make_shared<Handle>();
  handle->node = node;
  // Unmounting opens the root. That must work without waiting for a server, and after SOURCE has
  // vanished.
  if (node != kRootId) {
    const MutexLock lock(handle->mutex);
    handle->listing = list(request, node, begun);
  }
  return handles_.add(std::move(handle));
}

std::shared_ptr<const DirectoryListing> DirectoryHandles::entries(Request& request,
                                                                  std::uint64_t number,
                                                                  bool from_start,
                                                                  std::uint64_t begun) {
  const auto handle = handles_.find(number);
  if (!handle) frame::throw_errno(EBADF, "directory handle");
  const MutexLock lock(handle->mutex);
  // The first read uses the listing that open() made.
  if (handle->was_read ? from_start : !handle->listing) {
    handle->listing.reset();
    handle->listing =
        handle->node == kRootId ? list_root(request, begun) : list(request, handle->node, begun);
  }
  handle->was_read = true;
  // An earlier call has dropped the listing, and failed to make a new one.
  if (!handle->listing) frame::throw_errno(ENOMEM, "directory handle");
  return handle->listing;
}

void DirectoryHandles::release(Request& request, std::uint64_t number) {
  auto handle = handles_.find(number);
  const bool was_large = handle && [&] {
    const MutexLock lock(handle->mutex);
    return handle->listing && handle->listing->entries.size() >= kLargeDirectory;
  }();
  if (was_large) request.need_slot();
  handles_.remove(number);
  handle.reset();
  // Returns the memory of the listing to the system. It lies between memory of the listed files
  // that is still in use.
  if (was_large) ::malloc_trim(0);
}

}  // namespace bloscfs::fs
