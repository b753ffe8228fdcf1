#pragma once
// The way back from naming: which full name in SOURCE makes an entry be shown as asked. Pure.

#include <string>
#include <string_view>
#include <vector>

#include "fs/source/naming.hpp"

namespace bloscfs::fs {

/// True if an array can be shown under that name.
bool is_array_name(std::string_view shown_name);

/// Full names under which a container would be shown as `shown_name`, the best first: with the
/// suffix of its full name until now (`previous`, empty for a new one), then with `suffix`, then
/// without any where that makes a name too long.
std::vector<std::string> container_names(const std::string& shown_name, ShownAs shown,
                                         std::string_view previous, std::string_view suffix);

/// True if an entry added under `full_name` is shown as `shown_name` and all others keep theirs.
/// `others` tells what else there is, without what the entry replaces or was before.
bool shows_as(const std::string& shown_name, const std::string& full_name, ShownAs shown,
              const EntryProbe& others);

}  // namespace bloscfs::fs
