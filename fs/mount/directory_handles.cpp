#include "fs/mount/directory_handles.hpp"

#include <cerrno>
#include <utility>

#include <malloc.h>

#include "frame/store/throw_errno.hpp"
#include "fs/support/turns.hpp"

namespace bloscfs::fs {
namespace {

constexpr std::size_t kLargeDirectory = 10'000;

}  // namespace

std::shared_ptr<const DirectoryListing> DirectoryHandles::list(NodeId directory,
                                                               std::uint64_t begun) {
  return listings_.make(directory, begun, [&](const std::function<void()>& if_many) {
    return list_(directory, if_many);
  });
}

std::uint64_t DirectoryHandles::open(NodeId node, std::uint64_t begun) {
  auto handle = std::make_shared<Handle>();
  handle->node = node;
  {
    const MutexLock lock(handle->mutex);
    handle->listing = list(node, begun);
  }
  return handles_.add(std::move(handle));
}

std::shared_ptr<const DirectoryListing> DirectoryHandles::entries(std::uint64_t number,
                                                                  bool from_start,
                                                                  std::uint64_t begun) {
  const auto handle = handles_.find(number);
  if (!handle) frame::throw_errno(EBADF, "directory handle");
  const MutexLock lock(handle->mutex);
  // The first reading takes what opening has found.
  if (from_start && handle->was_read) {
    handle->listing.reset();
    handle->listing = list(handle->node, begun);
  }
  handle->was_read = true;
  if (!handle->listing) frame::throw_errno(ENOMEM, "directory handle");
  return handle->listing;
}

void DirectoryHandles::release(std::uint64_t number) {
  auto handle = handles_.find(number);
  const bool was_large = handle && [&] {
    const MutexLock lock(handle->mutex);
    return handle->listing && handle->listing->entries.size() >= kLargeDirectory;
  }();
  if (was_large) TurnAtNeed::need();
  handles_.remove(number);
  handle.reset();
  // What listing it took lies between what is kept of its files.
  if (was_large) ::malloc_trim(0);
}

}  // namespace bloscfs::fs
