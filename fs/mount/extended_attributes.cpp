#include "fs/mount/extended_attributes.hpp"

#include <cerrno>
#include <string_view>
#include <utility>

#include <sys/xattr.h>

#include "frame/store/throw_errno.hpp"
#include "fs/view/thread_decoder.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;
using Of = AttributeFacts::Of;

/// True for a name below user.blosc2. of a container or a group. These attributes hide stored ones
/// of the same name.
bool is_own(const AttributeFacts& facts, std::string_view name) {
  return facts.of != Of::nothing && name.starts_with(kAttributePrefix);
}

LayerChanges changes_of(const std::shared_ptr<const OpenContainer>& file) {
  return file ? file->content->uncommitted_metalayers() : LayerChanges();
}

}  // namespace

/// Returns the attributes of the committed state. Null for a container that was never committed,
/// and for a group without metalayers.
std::shared_ptr<const FrameAttributes> ExtendedAttributes::look_at_frame(
    Request& request, NodeId node, const AttributeFacts& facts) {
  std::optional<AttributeKey> key;
  if (facts.state) key = AttributeKey{*facts.state};
  const auto file = source_.opened(node);
  // If the mount has changed the file, facts.state may not identify the committed snapshot. The
  // number of the snapshot does.
  const bool is_changed = file && file->is_authoritative();
  if (is_changed) key = AttributeKey{{}, file->content->numbered_snapshot().second};
  if (key)
    if (auto known = known_.find(*key)) return known;
  request.need_slot();
  std::shared_ptr<const frame::Snapshot> snapshot;
  if (is_changed)
    std::tie(snapshot, key->snapshot) = file->content->numbered_snapshot();
  else
    snapshot = source_.frame_of(request, node);
  if (!snapshot) return nullptr;
  auto found =
      std::make_shared<const FrameAttributes>(look_at_attributes(*snapshot, thread_decoder()));
  if (key) known_.remember(*key, found);
  return found;
}

std::vector<std::string> ExtendedAttributes::list(Request& request, NodeId node) {
  const AttributeFacts facts = source_.attribute_facts(request, node);
  std::vector<std::string> names;
  if (facts.of != Of::nothing) {
    const auto file = source_.opened(node);
    const bool is_changed = file && file->is_authoritative();
    // Taken before the committed attributes: if a commit ends between the two, its changes are seen
    // twice rather than not at all.
    const LayerChanges changes = changes_of(file);
    std::shared_ptr<const FrameAttributes> found;
    if (is_changed || facts.has_metalayers) found = look_at_frame(request, node, facts);
    names = list_attributes(found.get(), changes);
  }
  if (!facts.stored_names) return names;
  for (std::string& name : facts.stored_names())
    if (!name.starts_with(kMountPrefix) && has_supported_namespace(name) && !is_own(facts, name))
      names.push_back(std::move(name));
  return names;
}

/// Returns the value of an attribute of a container, with uncommitted changes.
std::optional<std::string> ExtendedAttributes::frame_attribute(Request& request, NodeId node,
                                                               const AttributeFacts& facts,
                                                               const std::string& name) {
  AttributeValues values;
  const auto file = source_.opened(node);
  values.changes = changes_of(file);
  values.layer = [&](const LayerName& layer_name) -> std::optional<std::vector<std::uint8_t>> {
    const auto found = look_at_frame(request, node, facts);
    const FrameAttributes::Layer* const layer = found ? found->find(layer_name) : nullptr;
    if (layer == nullptr || layer_name.name.empty()) return std::nullopt;
    if (layer->is_too_large) throw_errno(E2BIG, layer_name.name);
    if (layer->content) return *layer->content;
    request.need_slot();
    const auto snapshot = source_.frame_of(request, node);
    // A file without a committed state may have replaced the container since look_at_frame().
    return snapshot ? read_layer(*snapshot, layer_name, thread_decoder()) : std::nullopt;
  };
  values.info = [&] {
    const auto found = look_at_frame(request, node, facts);
    return found ? found->info
                 : source_.open_container(request, node, false)->content->info(request);
  };
  return value_of(values, name);
}

std::string ExtendedAttributes::read(Request& request, NodeId node, const std::string& name) {
  const AttributeFacts facts = source_.attribute_facts(request, node);
  std::optional<std::string> value;
  if (is_own(facts, name))
    value = facts.of == Of::group ? source_.group_attribute(request, node, name)
                                  : frame_attribute(request, node, facts, name);
  else if (facts.stored_value)
    value = facts.stored_value(name);
  if (!value) throw_errno(ENODATA, name);
  return *std::move(value);
}

void ExtendedAttributes::set(Request& request, NodeId node, const std::string& name,
                             const std::string* value, int flags) {
  if (!has_supported_namespace(name)) throw_errno(EOPNOTSUPP, name);
  source_.require_writable(name);
  const AttributeFacts facts = source_.attribute_facts(request, node);
  if (facts.is_virtual || name.starts_with(kMountPrefix)) throw_errno(EPERM, name);
  if (!facts.stored_value && !name.starts_with(kAttributePrefix)) throw_errno(EOPNOTSUPP, name);
  if (facts.is_read_only) throw_errno(EROFS, name);
  if (!is_own(facts, name)) return source_.set_stored_attribute(request, node, name, value, flags);
  if (facts.of == Of::group) throw_errno(EOPNOTSUPP, name);
  const auto layer = layer_of(name);
  if (value != nullptr && !layer && !is_computed(name)) throw_errno(EINVAL, name);
  if (layer && is_free(*layer)) {
    request.need_slot();  // must come before the change
    return contents_.set_metalayer(request, node, *layer,
                                   value != nullptr ? content_for(name, *value) : nullptr, flags);
  }
  // Read-only attributes may only be set to the value that they have.
  const auto present = frame_attribute(request, node, facts, name);
  if (present && (flags & XATTR_CREATE) != 0) throw_errno(EEXIST, name);
  if (!present && (value == nullptr || (flags & XATTR_REPLACE) != 0)) throw_errno(ENODATA, name);
  if (value == nullptr || present != *value) throw_errno(EPERM, name);
}

}  // namespace bloscfs::fs
