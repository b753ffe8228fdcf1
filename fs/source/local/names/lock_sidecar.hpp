#pragma once
// The lock sidecar of a contiguous frame's file (frame/formats/sidecars.md, "Sidecar"), which goes
// where its file goes.

#include <functional>
#include <string>

#include "fs/source/local/files/source_directory.hpp"
#include "fs/source/local/tree/classifier.hpp"

namespace bloscfs::fs {

/// True for what may have one: a file that is a container.
bool may_have_sidecar(const SourceEntry& entry);

std::string sidecar_name(const std::string& full_name);

/// What is done about a lock sidecar beside a change of its file, which has happened by then: that
/// of somebody else may have to stay where it is, in a sticky directory.
void change_sidecar(const std::function<void()>& change);

/// Moves the sidecar of a file that has been renamed, if there is one, over one that is there.
void carry_sidecar(const SourceDirectory& from, const std::string& full_name,
                   const SourceDirectory& to, const std::string& new_full_name);

/// Removes that of a file that has gone, if there is one.
void remove_sidecar(const SourceDirectory& directory, const std::string& full_name);

}  // namespace bloscfs::fs
