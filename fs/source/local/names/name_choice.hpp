#pragma once
// Chooses the full name in SOURCE that a container gets.

#include <string>

#include "fs/source/local/tree/tree_changes.hpp"

namespace bloscfs::fs {

struct NamingPolicy {
  bool raw = false;    ///< arrays are not shown as NPY files
  std::string suffix;  ///< of new flat files; in stores kFlatLeafSuffix is used instead
};

/// Returns the best full name under which a container would be shown as `shown_name`; empty if no
/// full name does that. `previous` is its current full name, empty for a new container.
std::string choose_name(TreeLooks& names, NodeId directory, const std::string& shown_name,
                        ShownAs shown, const std::string& previous, const NamingPolicy& policy,
                        const TreeLooks::AfterChange& after_change);

/// The name that name_frame() tries first.
enum class FirstName { itself, conflict };

/// Durably gives a complete flat frame a free full name in a directory of the tree. The frame holds
/// contents that could not be stored in their own place. `stored_name` is its stored name in
/// `from`. With FirstName::itself the frame is shown as `shown_name` if that is free. Otherwise it
/// is shown as NAME.conflict-YYYYMMDDThhmmss (UTC), with -2 and so on if that is taken. Returns the
/// path below SOURCE. Errors are std::system_error with the errno.
std::string name_frame(TreeChanges& names, const NamingPolicy& policy, const SourceDirectory& from,
                       const std::string& stored_name, NodeId directory,
                       const std::string& shown_name, FirstName first);

}  // namespace bloscfs::fs
