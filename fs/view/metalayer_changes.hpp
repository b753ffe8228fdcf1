#pragma once
// Metalayers of a file: their names, their look-up in a snapshot, and changes that wait for a
// commit.

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

/// The new content of a metalayer; null if it is to be removed.
using LayerChange = std::shared_ptr<const std::vector<std::uint8_t>>;
using LayerChanges = std::map<LayerName, LayerChange>;

/// Return the bytes that changes take until they are committed, including the commit's copies.
std::size_t memory_of(const LayerChanges::value_type& change);
std::size_t memory_of(const LayerChanges& changes);

/// Returns the metalayers of one kind. Throws the errors of Snapshot::vlmetalayers().
std::vector<frame::MetalayerEntry> entries_of(const frame::Snapshot& snapshot, LayerKind kind);
/// Returns the entry of that metalayer; nullopt if the snapshot has none of that name.
std::optional<frame::MetalayerEntry> find_layer(const frame::Snapshot& snapshot,
                                                const LayerName& name);

}  // namespace bloscfs::fs
