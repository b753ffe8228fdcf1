#pragma once
// Names for frames that hold what could not be stored in its own place.

#include <string>

#include "fs/source/local/files/source_directory.hpp"
#include "fs/source/local/names/name_choice.hpp"
#include "fs/source/local/tree/tree_changes.hpp"

namespace bloscfs::fs {

enum class FirstName { itself, conflict };

/// Gives the complete flat frame `stored_as` of `from` a free name in a directory of the tree,
/// durably: one that is shown as `shown_name` where that is what `first` asks for and nothing else
/// has it, else NAME.conflict-YYYYMMDDThhmmss (UTC), with -2 and so on if that is taken. Returns
/// the path below SOURCE. Errors as SourceDirectory's.
std::string name_frame(TreeChanges& names, const SourceRoot& root, const NamingPolicy& policy,
                       const SourceDirectory& from, const std::string& stored_as, NodeId directory,
                       const std::string& shown_name, FirstName first);

}  // namespace bloscfs::fs
