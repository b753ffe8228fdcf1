#pragma once
// The inverse of naming: finds the full name in SOURCE that makes an entry appear under a given
// shown name. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "fs/source/naming.hpp"

namespace bloscfs::fs {

/// True if an array can be shown under that name.
bool is_array_name(std::string_view shown_name);

/// Returns the full names under which a container would appear as `shown_name`, best first. The
/// candidates have the suffix of the container's current full name (`previous`, empty if it is
/// new), then `suffix`. If both are too long, the candidate has no suffix. Example: a new array
/// that is shown as a.npy can be called a.b2nd or a.npy.b2nd.
std::vector<std::string> container_names(const std::string& shown_name, ShownAs shown,
                                         std::string_view previous, std::string_view suffix);

/// True if a new entry `full_name` would appear as `shown_name`, and no other entry would change
/// its shown name. `others` looks up the other entries. It must not find the entry that the new one
/// replaces, nor the new one under its previous name.
bool shows_as(const std::string& shown_name, const std::string& full_name, ShownAs shown,
              const EntryProbe& others);

}  // namespace bloscfs::fs
