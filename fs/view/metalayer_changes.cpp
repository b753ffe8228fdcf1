#include "fs/view/metalayer_changes.hpp"

#include <algorithm>

namespace bloscfs::fs {

namespace {

/// Estimated bytes of a change in addition to its contents: a node of the map, and the allocations
/// of both copies.
constexpr std::size_t kChangeCost = 512;

}  // namespace

std::size_t memory_of(const LayerChanges::value_type& change) {
  return kChangeCost + (change.second ? 2 * change.second->size() : 0);
}

std::size_t memory_of(const LayerChanges& changes) {
  std::size_t bytes = 0;
  for (const auto& change : changes) bytes += memory_of(change);
  return bytes;
}

std::vector<frame::MetalayerEntry> entries_of(const frame::Snapshot& snapshot, LayerKind kind) {
  return kind == LayerKind::fixed ? snapshot.metalayers() : snapshot.vlmetalayers();
}

std::optional<frame::MetalayerEntry> find_layer(const frame::Snapshot& snapshot,
                                                const LayerName& name) {
  const auto entries = entries_of(snapshot, name.kind);
  const auto found =
      std::find_if(entries.begin(), entries.end(),
                   [&](const frame::MetalayerEntry& entry) { return entry.name == name.name; });
  return found == entries.end() ? std::nullopt : std::optional(*found);
}

}  // namespace bloscfs::fs
