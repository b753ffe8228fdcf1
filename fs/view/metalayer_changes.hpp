#pragma once
// Metalayers of a file, as they are named, found in a state of it, and changed before a commit
// stores them.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "frame/container/snapshot.hpp"

namespace bloscfs::fs {

enum class LayerKind : std::uint8_t { fixed, variable };

struct LayerName {
  LayerKind kind = LayerKind::variable;
  std::string name;  ///< without the prefix of its attribute
  bool operator==(const LayerName&) const = default;
  bool operator<(const LayerName& other) const {
    return std::tie(kind, name) < std::tie(other.kind, other.name);
  }
};

/// What a metalayer is to hold; null: it is to be removed.
using LayerChange = std::shared_ptr<const std::vector<std::uint8_t>>;
using LayerChanges = std::map<LayerName, LayerChange>;

/// Bytes that changes take until they are committed, with what a commit makes of each.
std::size_t memory_of(const LayerChanges::value_type& change);
std::size_t memory_of(const LayerChanges& changes);

/// The metalayers of one kind. Errors: as Snapshot::vlmetalayers().
std::vector<frame::MetalayerEntry> entries_of(const frame::Snapshot& snapshot, LayerKind kind);
/// Nullopt if there is none of that name.
std::optional<frame::MetalayerEntry> find_layer(const frame::Snapshot& snapshot,
                                                const LayerName& name);

}  // namespace bloscfs::fs
