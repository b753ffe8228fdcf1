#pragma once
// What a writer holds while it changes a container.

#include <memory>
#include <string>

#include "frame/store/byte_store.hpp"
#include "frame/store/peer_lock.hpp"

namespace bloscfs::frame::inline store {

struct ContainerLock {
  std::shared_ptr<void> file;  ///< keeps out the other programs of this project; null: cannot
  PeerLock::Exclusive peers;   ///< keeps out those that use the sidecar
};

/// Locks the container whose header is in `file`, and its sidecar where there is one. `create`:
/// makes one then. Throws std::system_error, LockedByOthers when another program keeps it locked.
ContainerLock lock_container(StoreFile& file, StoreDirectory& directory, const std::string& sidecar,
                             bool create);

}  // namespace bloscfs::frame::inline store
