#pragma once
// The writer's side of lock sidecars (formats/sframe.md 3).

#include <string>

#include "frame/byte_store.hpp"
#include "frame/peer_lock.hpp"

namespace bloscfs::frame {

/// Locks the sidecar `name`; empty if there is none. `create`: makes one then. Throws
/// std::system_error, ETIMEDOUT when another program keeps it locked.
PeerLock::Exclusive lock_exclusively(StoreDirectory& directory, const std::string& name,
                                     bool create);

}  // namespace bloscfs::frame
