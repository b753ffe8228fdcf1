#pragma once
// Work on a content's file where it is stored, without the lock on names.

#include <functional>

#include "frame/container/snapshot.hpp"
#include "fs/content/content_home.hpp"
#include "fs/content/content_services.hpp"

namespace bloscfs::fs {

/// Does `work` where the file is: again where it has got another place meanwhile, which makes the
/// work fail. Throws what the work throws.
void at_place(Request& request, ContentHome& home,
              const std::function<void(const StoredPlace&)>& work);

/// How what is stored there is written to.
frame::WriterSettings writer_settings(const StoredPlace& place, const ContentServices& services);

/// Waits, with a slot, for a program that holds the file's lock sidecar: what is read of the file
/// takes part in that lock. Throws NoSlot, and frame::LockedByOthers where the thread waits for
/// nothing.
void wait_for_peers(Request& request, const frame::Snapshot& snapshot);

}  // namespace bloscfs::fs
