#pragma once
// Moves and removes the lock sidecar of a contiguous frame's file together with the file
// (frame/formats/sidecars.md, "Sidecar"). These functions are called after the file was moved or
// removed. They do not fail if the sidecar may not be moved or removed, such as another user's
// sidecar in a sticky directory. It then stays.

#include <string>

#include "fs/source/local/files/source_directory.hpp"
#include "fs/source/local/tree/classifier.hpp"
#include "fs/support/request.hpp"

namespace bloscfs::fs {

/// True if the entry may have a sidecar: a container that is a file, or a frame that is a store.
bool may_have_sidecar(const SourceEntry& entry);

/// Moves the sidecar of a renamed file, and replaces one that has the new name. Returns false if
/// the file has no sidecar.
bool carry_sidecar(const Change& change, const SourceDirectory& from, const std::string& full_name,
                   const SourceDirectory& to, const std::string& new_full_name);

/// Removes the sidecar of a removed file, if there is one.
void remove_sidecar(const Change& change, const SourceDirectory& directory,
                    const std::string& full_name);

/// Exchanges the sidecars of two objects that were exchanged. Each object may have one or none.
void exchange_sidecars(const Change& change, const SourceDirectory& from,
                       const std::string& full_name, const SourceEntry& entry,
                       const SourceDirectory& to, const std::string& other_full_name,
                       const SourceEntry& other);

}  // namespace bloscfs::fs
