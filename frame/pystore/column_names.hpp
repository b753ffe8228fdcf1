#pragma once
// Names of table columns, and their keys in a store (frame/formats/stores.md, "Tables").

#include <optional>
#include <string>
#include <string_view>

namespace bloscfs::frame::inline pystore {

/// Returns the key of a column below `_cols`. A point separates groups, so "a.b" gives "a/b". A
/// backslash escapes the next character. Other points, slashes, backslashes and percent signs are
/// percent-encoded, so "a/b" gives "a%2Fb".
std::string column_path(std::string_view name);

/// Returns why a column cannot have that name, as text for "column NAME: "; nullopt if it can.
std::optional<std::string> column_name_problem(std::string_view name);

}  // namespace bloscfs::frame::inline pystore
