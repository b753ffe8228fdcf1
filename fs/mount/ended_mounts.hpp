#pragma once
// Mounts that have ended, but may not have written everything yet.

#include <string>

#include "frame/store/clock.hpp"

namespace bloscfs::fs {

/// umount(8) returns before the daemon is done. Waits, up to 30 s, while some process keeps `path`,
/// which may not be there yet, or a directory above it locked as a writable mount's SOURCE, unless
/// that is still mounted. Says so after a second.
void wait_for_ended_mounts(const std::string& path,
                           const frame::Clock& clock = frame::system_clock());

}  // namespace bloscfs::fs
