#pragma once
// Recognizes and removes files that bloscfs programs have left unfinished. Other programs may have
// given their files names of that form, so the form of a name proves nothing.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "frame/store/temporary_name.hpp"
#include "fs/source/local/files/source_directory.hpp"

namespace bloscfs::fs {

using TemporaryMakers = std::vector<frame::TemporaryMaker>;

/// True for names of the form that temporaries and their lock sidecars have.
bool is_leftover_name(const std::string& full_name);

struct Leftover {
  std::string name;
  frame::SharedFd directory;  ///< of a sparse frame (O_PATH); null for a file
  bool is_own = false;        ///< a directory that this process has displaced
};

/// Returns the entry `name` if one of the makers has left it behind; otherwise nullopt. Accepts:
/// - A regular file with one link, under a name that a maker's temporary_name() has returned. A
///   user who could give that name to another file could also have removed that file.
/// - A file or a directory that a maker has displaced. A displaced name is valid for one object
///   only. That matters for directories: a user who may rename one need not be permitted to remove
///   what is in it.
std::optional<Leftover> made_by(const TemporaryMakers& makers, const SourceDirectory& directory,
                                const std::string& name, const struct stat& st);

/// Removes a sparse frame when the result and its copies are destroyed. `directory` (O_PATH) is the
/// frame's directory, and has the temporary's name `name`. It is removed wherever in SOURCE it is
/// by then, unless it has another name. Only regular files with the names of a sparse frame's
/// files, or of temporaries, are removed. If the directory contains anything else, that and the
/// directory stay. Errors are logged with `path`, since no caller waits for them.
std::shared_ptr<void> remove_on_release(frame::SharedFd directory, const std::string& name,
                                        const std::string& path);

}  // namespace bloscfs::fs
