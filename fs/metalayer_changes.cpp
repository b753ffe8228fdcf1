#include "fs/metalayer_changes.hpp"

#include <algorithm>

namespace bloscfs::fs {

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
