#pragma once
// The lock sidecar of a contiguous frame's file (frame/formats/sidecars.md, "Sidecar"), which goes
// where its file goes. To be called when that has happened: a sidecar of somebody else, which may
// have to stay where it is, in a sticky directory, is no reason to fail.

#include <string>

#include "fs/source/local/files/source_directory.hpp"
#include "fs/source/local/tree/classifier.hpp"
#include "fs/support/request.hpp"

namespace bloscfs::fs {

/// True for what may have one: a file that is a container, or a frame that is a store.
bool may_have_sidecar(const SourceEntry& entry);

/// Moves the sidecar of a file that has been renamed, over one that is there. False if there is
/// none.
bool carry_sidecar(const Change& change, const SourceDirectory& from, const std::string& full_name,
                   const SourceDirectory& to, const std::string& new_full_name);

/// Removes that of a file that has gone, if there is one.
void remove_sidecar(const Change& change, const SourceDirectory& directory,
                    const std::string& full_name);

/// For two objects that have been exchanged, each of which may have one, or not.
void exchange_sidecars(const Change& change, const SourceDirectory& from,
                       const std::string& full_name, const SourceEntry& entry,
                       const SourceDirectory& to, const std::string& other_full_name,
                       const SourceEntry& other);

}  // namespace bloscfs::fs
