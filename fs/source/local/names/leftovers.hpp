#pragma once
// What programs of ours have left unfinished: telling it from what only has such a name, and
// removing it.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "frame/store/temporary_name.hpp"
#include "fs/source/local/files/source_directory.hpp"

namespace bloscfs::fs {

using TemporaryMakers = std::vector<frame::TemporaryMaker>;

/// True for names that only unfinished files and frames have, and their lock sidecars.
bool is_leftover_name(const std::string& full_name);

struct Leftover {
  std::string name;
  frame::SharedFd directory;  ///< of a frame (O_PATH); null for a file
  bool is_own = false;        ///< a directory that this process has moved out of the way
};

/// An entry by such a name that one of the makers has left there; nullopt if none has:
/// - A regular file of no other name that has a name which one of them has made. Whoever could have
///   given it to another file could have removed that as well.
/// - A file or a directory that one of them has moved out of the way. The name itself tells that of
///   one object alone: a directory can be renamed by somebody who may not remove what is in it.
std::optional<Leftover> made_by(const TemporaryMakers& makers, const SourceDirectory& directory,
                                const std::string& name, const struct stat& st);

/// Removes the open `directory` (O_PATH), which has a temporary's name, with the frame that is in
/// it, when the result and its copies are gone; wherever in SOURCE it is by then under that name,
/// and nothing if it has another one. Regular files with names of a sparse frame's, or of
/// temporaries, go; anything else stays, and with it the directory. Errors are logged, by `path`:
/// nobody waits for it any more.
std::shared_ptr<void> remove_when_unused(frame::SharedFd directory, const std::string& name,
                                         const std::string& path);

}  // namespace bloscfs::fs
