#pragma once
// Gives names to what mounts could not commit before they ended.

#include <functional>
#include <string>

#include "fs/source/local/files/journal.hpp"
#include "fs/source/local/mount_source.hpp"

namespace bloscfs::fs {

/// For each frame that the journal of a SOURCE names, which is locked (null: it has none), and then
/// for each that its rescue folder has, which is copied: gives it the name that its contents were
/// written for, or if something else has that by now, one of a conflict
/// (fs/source/local/names/name_choice.hpp), in its directory or, where that is gone, in SOURCE;
/// then the journal or the folder forgets it. `done` hears of each, with the path that it has now,
/// or none if it was not there any more. Errors are std::system_error.
void recover_kept(MountSource source, Journal* journal,
                  const std::function<void(const KeptFile&, const std::string& path)>& done);

}  // namespace bloscfs::fs
