#pragma once
// Extended attributes of groups of stores.

#include <optional>
#include <string>

#include "frame/pystore/python_store.hpp"

namespace bloscfs::fs {

/// Of the root of a store alone: what kind of store it is.
inline constexpr const char* kStoreAttribute = "user.blosc2.store";

// Errors: as of look_at_attributes() and read_layer() (fs/view/attributes.hpp).

/// Of a group, "/" or "/a/b". Nothing where it has none of that name.
std::optional<std::string> group_attribute(const frame::PythonStore& store,
                                           const std::string& group, const std::string& name);

}  // namespace bloscfs::fs
