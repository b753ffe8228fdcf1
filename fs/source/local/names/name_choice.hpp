#pragma once
// Which full name in SOURCE a container gets, so that it is shown as asked.

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

}  // namespace bloscfs::fs
