#pragma once
// Names of table columns, and where a store keeps them (frame/formats/stores.md, "Tables").

#include <optional>
#include <string>
#include <string_view>

namespace bloscfs::frame::inline pystore {

/// What the key of a column is below `_cols`. Points separate groups, so "a.b" gives "a/b"; a
/// backslash takes the meaning off the next character; other points, slashes, backslashes and
/// percent signs are percent-encoded, so "a/b" gives "a%2Fb".
std::string column_path(std::string_view name);

/// Why a column cannot have that name, as what follows "column NAME: "; nullopt if it can.
std::optional<std::string> column_name_problem(std::string_view name);

}  // namespace bloscfs::frame::inline pystore
