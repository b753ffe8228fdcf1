#include "fs/mount/metalayer_edits.hpp"

#include <cerrno>
#include <utility>
#include <vector>

#include <sys/xattr.h>

#include "frame/header/frame_limits.hpp"
#include "frame/header/metalayer_writer.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::fs {
namespace {

/// Sizes of the metalayers of one kind that the next commit changes; none: to be removed.
frame::VlmetalayerSizes changed_sizes(const Content& content, LayerKind kind) {
  frame::VlmetalayerSizes sizes;
  for (const auto& [layer, value] : content.uncommitted_metalayers())
    if (layer.kind == kind)
      sizes[layer.name] = value ? std::optional<std::size_t>(value->size()) : std::nullopt;
  return sizes;
}

bool has_metalayer(const frame::Snapshot* snapshot, const frame::VlmetalayerSizes& changes,
                   const LayerName& layer) {
  if (const auto found = changes.find(layer.name); found != changes.end())
    return found->second.has_value();
  return snapshot != nullptr && find_layer(*snapshot, layer).has_value();
}

/// Throws unless a commit can store them: else it would fail for ever.
void check_room(const frame::Snapshot* snapshot, const frame::VlmetalayerSizes& changes,
                LayerKind kind) {
  if (kind == LayerKind::variable) return frame::check_vlmetalayers(snapshot, changes);
  std::vector<frame::LayerSize> layers;
  if (snapshot != nullptr)
    for (const auto& entry : snapshot->metalayers())
      if (changes.count(entry.name) == 0) layers.push_back({entry.name, entry.stored_size});
  for (const auto& [name, size] : changes)
    if (size) layers.push_back({name, *size});
  frame::lay_out_header(layers);
}

}  // namespace

void MetalayerEdits::put(Content& file, const LayerName& name, LayerChange content, int flags) {
  const MutexLock lock(mutex_);
  const auto snapshot = file.snapshot();
  frame::VlmetalayerSizes changes = changed_sizes(file, name.kind);
  const bool exists = has_metalayer(snapshot.get(), changes, name);
  if ((flags & XATTR_CREATE) != 0 && exists) frame::throw_errno(EEXIST, name.name);
  if (((flags & XATTR_REPLACE) != 0 || !content) && !exists) frame::throw_errno(ENODATA, name.name);
  if (content) {
    changes[name.name] = content->size();
    check_room(snapshot.get(), changes, name.kind);
  }
  file.set_metalayer(name, std::move(content));
}

}  // namespace bloscfs::fs
