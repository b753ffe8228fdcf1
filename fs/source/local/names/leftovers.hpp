#pragma once
// What programs of ours have left unfinished: telling it from what only has such a name, and
// removing it.

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
  std::optional<frame::ObjectIdentity> directory;  ///< of a frame's directory
};

/// An entry by such a name that one of the makers has left there; nullopt if none has:
/// - A regular file of no other name that has a name which one of them has made. Whoever could have
///   given it to another file could have removed that as well.
/// - A file or a directory that one of them has moved out of the way. The name itself tells that of
///   one object alone: a directory can be renamed by somebody who may not remove what is in it.
std::optional<Leftover> made_by(const TemporaryMakers& makers, const SourceDirectory& directory,
                                const std::string& name, const struct stat& st);

/// Removes it; where a directory holds more than a frame the rest stays, and so does the directory.
void remove_leftover(const SourceDirectory& directory, const Leftover& leftover);

}  // namespace bloscfs::fs
