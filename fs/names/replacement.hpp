#pragma once
// How one stored object takes the place of another that is shown under the same name. Where both
// can stand under one full name the change is one rename(2) there, and a sudden end at any moment
// leaves the one or the other in sight, never both and never none.

#include <string>

#include "fs/source/source_directory.hpp"
#include "fs/tree/tree_changes.hpp"

namespace bloscfs::fs {

/// True if SOURCE has something that `object` is, or that it waits to replace.
bool is_stored(const NamedObject& object);
/// Its name there.
const std::string& visible_name(const NamedObject& object);

/// Gives what SOURCE has of `object` the full name that what replaces it will have, if it is shown
/// as before there, and durably so. `object` follows.
void take_name_of_replacement(TreeChanges& names, NamedObject& object,
                              const SourceDirectory& directory, const std::string& shown_name,
                              const std::string& full_name);

/// True if `replacement`, as it is shown, can stand for a moment under the name of `object`.
bool can_be_replaced_there(TreeChanges& names, const NamedObject& object,
                           const std::string& shown_name, ShownAs replacement,
                           const TreeChanges::AfterChange& after_change);

/// Durably leaves what was replaced behind, and gives what replaces it its own name. False if that
/// fails: then it stays where it is, which shows it as well.
bool move_to_own_name(const SourceDirectory& directory, const std::string& meeting,
                      const std::string& full_name) noexcept;

}  // namespace bloscfs::fs
