#pragma once
// Work on a content's file at its stored place, without the lock on names.

#include <functional>

#include "frame/container/snapshot.hpp"
#include "fs/content/content_home.hpp"
#include "fs/content/content_services.hpp"

namespace bloscfs::fs {

/// Calls `work` with the place where the file is stored now. If the work fails because the file was
/// moved in the meantime, calls it again with the new place. Throws what the work throws.
void at_place(Request& request, ContentHome& home,
              const std::function<void(const StoredPlace&)>& work);

/// Returns the settings for a writer of the container that is stored at `place`.
frame::WriterSettings writer_settings(const StoredPlace& place, const ContentServices& services);

/// Waits until no other program holds the file's lock sidecar, because reads of the file take that
/// lock, too. Takes a slot only if it must wait; throws NoSlot if none is free. Throws
/// frame::LockedByOthers if the thread's lock timeout is over.
void wait_for_peers(Request& request, const frame::Snapshot& snapshot);

}  // namespace bloscfs::fs
