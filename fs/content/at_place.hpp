#pragma once
// Work on a content's file where it is stored, without the lock on names.

#include <functional>

#include "frame/container/snapshot.hpp"
#include "fs/content/content_home.hpp"
#include "fs/content/content_services.hpp"

namespace bloscfs::fs {

/// Does `work` where the file is: again where it has got another place meanwhile, which makes the
/// work fail. Throws what the work throws.
void at_place(ContentHome& home, const std::function<void(const StoredPlace&)>& work);

/// How what is stored there is written to.
frame::WriterSettings writer_settings(const StoredPlace& place, const ContentServices& services);

/// Waits for a program that holds the file's lock sidecar, in a request's turn: what is read of the
/// file takes part in that lock. Throws frame::LockedByOthers where the thread waits for nothing.
void wait_for_peers(const frame::Snapshot& snapshot);

}  // namespace bloscfs::fs
