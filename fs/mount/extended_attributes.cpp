#include "fs/mount/extended_attributes.hpp"

#include <cerrno>
#include <string_view>
#include <utility>

#include <sys/xattr.h>

#include "frame/store/throw_errno.hpp"
#include "fs/support/turns.hpp"
#include "fs/view/attributes.hpp"
#include "fs/view/thread_decoder.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;

/// True for attributes of the source file that are shown as they are.
bool passes_through(std::string_view name, bool is_container) {
  return !is_container || !name.starts_with(kAttributePrefix);
}

LayerChanges changes_of(const std::shared_ptr<const OpenContainer>& file) {
  return file ? file->content->uncommitted_metalayers() : LayerChanges();
}

}  // namespace

/// Null for a container that was never committed.
std::shared_ptr<const FrameAttributes> ExtendedAttributes::look_at_frame(NodeId node,
                                                                         const SourceEntry& entry) {
  AttributeKey key{state_of(entry.content_stat)};
  auto file = tree_.opened_as<OpenContainer>(node);
  // What is committed of a changed file is not always what its source file's state stands for.
  const bool is_changed = file && file->leads();
  if (is_changed) key = {{}, file->content->numbered_snapshot().second};
  if (auto known = known_.find(key)) return known;
  TurnAtNeed::need();
  file = contents_.open(node);
  const auto [snapshot, number] = file->content->numbered_snapshot();
  if (!snapshot) return nullptr;
  if (is_changed) key.snapshot = number;
  auto found =
      std::make_shared<const FrameAttributes>(look_at_attributes(*snapshot, thread_decoder()));
  known_.remember(key, found);
  return found;
}

std::vector<std::string> ExtendedAttributes::list(NodeId node) {
  node = stores_.present(node);
  if (stores_.is_part(node)) return stores_.attribute_names(node);
  if (tree_.is_virtual(node)) return {};
  const SourceEntry entry = tree_.entry(node);
  std::vector<std::string> names;
  if (entry.is_container()) {
    const auto file = tree_.opened_as<OpenContainer>(node);
    const bool is_changed = file && file->leads();
    // Before what is committed: a commit that ends in between is seen twice rather than not at all.
    const LayerChanges changes = changes_of(file);
    std::shared_ptr<const FrameAttributes> found;
    if (is_changed || entry.has_metalayers) found = look_at_frame(node, entry);
    names = fs::list_attributes(found.get(), changes);
  }
  const auto group = tree_.store_place(node);
  if (group) names = stores_.attribute_names(*group);
  for (std::string& name : tree_.object(node, entry)->attribute_names())
    if (!name.starts_with(kMountPrefix) && is_in_shown_space(name) &&
        passes_through(name, entry.is_container() || group))
      names.push_back(std::move(name));
  return names;
}

/// Of a container.
std::optional<std::string> ExtendedAttributes::frame_attribute(NodeId node,
                                                               const SourceEntry& entry,
                                                               const std::string& name) {
  AttributeValues values;
  values.changes = changes_of(tree_.opened_as<OpenContainer>(node));
  values.layer = [&](const LayerName& layer_name) -> std::optional<std::vector<std::uint8_t>> {
    const auto found = look_at_frame(node, entry);
    const FrameAttributes::Layer* const layer = found ? found->find(layer_name) : nullptr;
    if (layer == nullptr || layer_name.name.empty()) return std::nullopt;
    if (layer->is_too_large) throw_errno(E2BIG, layer_name.name);
    if (layer->content) return *layer->content;
    TurnAtNeed::need();
    return read_layer(*contents_.open(node)->content->snapshot(), layer_name, thread_decoder());
  };
  values.info = [&] {
    const auto found = look_at_frame(node, entry);
    return found ? found->info : contents_.open(node)->content->info();
  };
  return value_of(values, name);
}

std::string ExtendedAttributes::read(NodeId node, const std::string& name) {
  node = stores_.present(node);
  if (stores_.is_part(node)) {
    const auto value = stores_.attribute(node, name);
    if (!value) throw_errno(ENODATA, name);
    return *value;
  }
  if (tree_.is_virtual(node)) throw_errno(ENODATA, name);
  const SourceEntry entry = tree_.entry(node);
  if (const auto group = tree_.store_place(node); group && name.starts_with(kAttributePrefix)) {
    const auto value = stores_.attribute(*group, name);
    if (!value) throw_errno(ENODATA, name);
    return *value;
  }
  if (passes_through(name, entry.is_container())) return tree_.object(node, entry)->attribute(name);
  const auto value = frame_attribute(node, entry, name);
  if (!value) throw_errno(ENODATA, name);
  return *value;
}

SourceEntry ExtendedAttributes::entry_to_change(NodeId node, const std::string& name) {
  if (!is_in_shown_space(name)) throw_errno(EOPNOTSUPP, name);
  if (!writable_ || stores_.is_part(node)) throw_errno(EROFS, name);
  if (name.starts_with(kAttributePrefix) && tree_.store_place(node)) throw_errno(EOPNOTSUPP, name);
  if (tree_.is_virtual(node) || name.starts_with(kMountPrefix)) throw_errno(EPERM, name);
  SourceEntry entry = tree_.entry(node);
  if (entry.is_read_only) throw_errno(EROFS, name);
  return entry;
}

void ExtendedAttributes::set(NodeId node, const std::string& name, const std::string& value,
                             int flags, const Caller& caller) {
  node = stores_.present(node);
  const SourceEntry entry = entry_to_change(node, name);
  if (passes_through(name, entry.is_container()))
    return names_.change(node, caller, [&](const SourceObject& object) {
      object.set_attribute(name, value, flags);
    });
  const auto layer = layer_of(name);
  if (!layer && !is_computed(name)) throw_errno(EINVAL, name);
  if (!layer || !is_free(*layer)) return set_fixed(node, entry, name, value, flags);
  TurnAtNeed::need();  // not once something has changed
  contents_.set_metalayer(node, names_.home(node), *layer, content_for(name, value), flags);
}

/// One that nobody can change; it may be set to what it is.
void ExtendedAttributes::set_fixed(NodeId node, const SourceEntry& entry, const std::string& name,
                                   const std::string& value, int flags) {
  const auto present = frame_attribute(node, entry, name);
  if (present && (flags & XATTR_CREATE) != 0) throw_errno(EEXIST, name);
  if (!present && (flags & XATTR_REPLACE) != 0) throw_errno(ENODATA, name);
  if (present != value) throw_errno(EPERM, name);
}

void ExtendedAttributes::remove(NodeId node, const std::string& name, const Caller& caller) {
  node = stores_.present(node);
  const SourceEntry entry = entry_to_change(node, name);
  if (passes_through(name, entry.is_container()))
    return names_.change(node, caller,
                         [&](const SourceObject& object) { object.remove_attribute(name); });
  const auto layer = layer_of(name);
  if (layer && is_free(*layer)) {
    TurnAtNeed::need();
    return contents_.set_metalayer(node, names_.home(node), *layer, nullptr, 0);
  }
  throw_errno(frame_attribute(node, entry, name) ? EPERM : ENODATA, name);
}

}  // namespace bloscfs::fs
