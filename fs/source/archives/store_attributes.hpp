#pragma once
// Extended attributes of what nobody changes through the mount: leaves and groups of stores, and
// frames that are no files.

#include <optional>
#include <string>
#include <vector>

#include "frame/container/snapshot.hpp"
#include "frame/pystore/python_store.hpp"
#include "fs/view/metalayer_changes.hpp"

namespace bloscfs::fs {

/// Of the root of a store alone: what kind of store it is.
inline constexpr const char* kStoreAttribute = "user.blosc2.store";

// Errors: as of look_at_attributes() and read_layer() (fs/view/attributes.hpp).

/// To be listed; of null those that are in `changes`, what is not committed.
std::vector<std::string> names_of_attributes(const frame::Snapshot* frame,
                                             const LayerChanges& changes = {});
/// Of a group, "/" or "/a/b". Nothing where it has none of that name.
std::optional<std::string> group_attribute(const frame::PythonStore& store,
                                           const std::string& group, const std::string& name);

}  // namespace bloscfs::fs
