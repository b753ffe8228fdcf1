#include "fs/encoding/stored_metalayers.hpp"

#include <cerrno>
#include <cstdint>

#include "frame/header/cframe_format.hpp"
#include "frame/header/metalayer_names.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/encoding/stale_indexes.hpp"

namespace bloscfs::fs {
namespace {

/// Fixed metalayers are read as a whole. They describe the frame, and are not meant to be large.
constexpr std::uint64_t kMostFixed = std::uint64_t{4} << 20;

bool is_changed(const LayerChanges& changes, LayerKind kind, const std::string& name) {
  return changes.count({kind, name}) != 0;
}

}  // namespace

std::vector<frame::Metalayer> fixed_metalayers(const frame::Snapshot* before,
                                               const LayerChanges& changes) {
  std::vector<frame::Metalayer> fixed;
  std::uint64_t size = 0;
  if (before != nullptr) {
    for (const auto& entry : before->metalayers()) {
      if (frame::defines_frame_kind(entry.name) ||
          is_changed(changes, LayerKind::fixed, entry.name))
        continue;
      if ((size += entry.stored_size) > kMostFixed)
        frame::throw_errno(EFBIG, "fixed metalayers of more than 4 MiB");
      fixed.push_back({entry.name, before->read_metalayer(entry)});
    }
  }
  for (const auto& [layer, value] : changes)
    if (layer.kind == LayerKind::fixed && value) fixed.push_back({layer.name, *value});
  return fixed;
}

void copy_vlmetalayers(const frame::Snapshot& before, const LayerChanges& changes,
                       frame::Transaction& transaction) {
  for (const auto& entry : before.vlmetalayers()) {
    // Checksums belong to the old chunks, and metalayers that describe values belong to the old
    // values. The new container is flat, or has its own array metalayer.
    if (entry.name == frame::kChecksumLayerName || entry.name == frame::kPackedTensorLayer ||
        depends_on_values(entry.name) || is_changed(changes, LayerKind::variable, entry.name))
      continue;
    transaction.copy_vlmetalayer(before, entry);
  }
}

void store_metalayers(const LayerChanges& changes, bool is_new_container,
                      frame::Transaction& transaction) {
  for (const auto& [layer, value] : changes) {
    const bool is_variable = layer.kind == LayerKind::variable;
    if (!is_variable && is_new_container) continue;
    if (is_variable && value)
      transaction.set_vlmetalayer(layer.name, *value);
    else if (is_variable)
      transaction.remove_vlmetalayer(layer.name);
    else if (value)
      transaction.set_metalayer(layer.name, *value);
    else
      transaction.remove_metalayer(layer.name);
  }
}

}  // namespace bloscfs::fs
