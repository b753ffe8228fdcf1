#pragma once
// Gives names to contents that mounts could not commit before they ended.

#include <functional>
#include <string>

#include "fs/source/local/files/journal.hpp"
#include "fs/source/local/mount_source.hpp"

namespace bloscfs::fs {

/// Gives a name to each frame that the journal of SOURCE names, and then to a copy of each frame in
/// its rescue folder. The journal is locked, or null if SOURCE has none.
/// The frame gets the name that its contents were written for, or a conflict name if something else
/// has that name now (fs/source/local/names/name_choice.hpp). It goes to its own directory, or to
/// the root of SOURCE if that directory is gone. Then the journal or the folder forgets it.
/// Calls `done` for each frame with its new path, which is empty if the frame no longer exists, and
/// `failed` with a message for each rescued frame that stays where it is. Then removes the
/// temporaries of mounts that ended suddenly. Throws std::system_error.
void recover_kept(MountSource source, Journal* journal,
                  const std::function<void(const KeptFile&, const std::string& path)>& done,
                  const std::function<void(const std::string&)>& failed);

}  // namespace bloscfs::fs
