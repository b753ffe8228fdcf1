#pragma once
// Which full name in SOURCE a container gets.

#include <string>

#include "fs/source/local/tree/tree_changes.hpp"

namespace bloscfs::fs {

/// How full names are chosen.
struct NamingPolicy {
  bool raw = false;    ///< arrays are no NPY files
  std::string suffix;  ///< of new flat files, but in stores, where it is kFlatLeafSuffix
};

/// The first full name under which a container would be shown as asked; `previous` is its full name
/// until now, empty for a new one. Empty if there is none.
std::string choose_name(TreeLooks& names, NodeId directory, const std::string& shown_name,
                        ShownAs shown, const std::string& previous, const NamingPolicy& policy,
                        const TreeLooks::AfterChange& after_change);

enum class FirstName { itself, conflict };

/// Gives the complete flat frame `stored_as` of `from`, which holds what could not be stored in its
/// own place, a free name in a directory of the tree, durably: one that is shown as `shown_name`
/// where that is what `first` asks for and nothing else has it, else
/// NAME.conflict-YYYYMMDDThhmmss (UTC), with -2 and so on if that is taken. Returns the path below
/// SOURCE. Errors as SourceDirectory's.
std::string name_frame(TreeChanges& names, const NamingPolicy& policy, const SourceDirectory& from,
                       const std::string& stored_as, NodeId directory,
                       const std::string& shown_name, FirstName first);

}  // namespace bloscfs::fs
