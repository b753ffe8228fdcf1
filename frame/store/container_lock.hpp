#pragma once
// The locks that a writer holds while it changes a container.

#include <memory>
#include <string>

#include "frame/store/byte_store.hpp"
#include "frame/store/peer_lock.hpp"

namespace bloscfs::frame::inline store {

struct ContainerLock {
  /// Excludes other processes of this project. Null if the file cannot be locked.
  std::shared_ptr<void> file;
  /// Excludes other Blosc2 programs, which lock the .b2lock sidecar.
  PeerLock::Exclusive peers;
};

/// Locks the container whose header is in `file`, and its sidecar if it exists. `create`: creates a
/// missing sidecar first. Throws std::system_error; LockedByOthers if another program keeps the
/// lock for too long.
ContainerLock lock_container(StoreFile& file, StoreDirectory& directory, const std::string& sidecar,
                             bool create);

}  // namespace bloscfs::frame::inline store
