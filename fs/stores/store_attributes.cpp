#include "fs/stores/store_attributes.hpp"

#include "fs/view/attributes.hpp"
#include "fs/view/thread_decoder.hpp"

namespace bloscfs::fs {
namespace {

constexpr const char* kGroupKindAttribute = "user.blosc2.kind";

}  // namespace

std::vector<std::string> names_of_attributes(const frame::Snapshot* frame,
                                             const LayerChanges& changes) {
  if (frame == nullptr) return list_attributes(nullptr, changes);
  const FrameAttributes found = look_at_attributes(*frame, thread_decoder());
  return list_attributes(&found, changes);
}

namespace {

std::optional<std::string> layer_value(const frame::Snapshot& frame, const LayerName& layer,
                                       const std::string& name) {
  const auto content = read_layer(frame, layer, thread_decoder());
  if (!content) return std::nullopt;
  return name.starts_with(kJsonPrefix) ? layer_as_json(*content)
                                       : std::string(content->begin(), content->end());
}

}  // namespace

std::optional<std::string> attribute_of_frame(const frame::Snapshot& frame,
                                              const std::string& name) {
  if (const auto layer = layer_of(name)) return layer_value(frame, *layer, name);
  return is_computed(name) ? computed_value(frame.info(), name) : std::nullopt;
}

std::optional<std::string> group_attribute(const frame::PythonStore& store,
                                           const std::string& group, const std::string& name) {
  if (name == kStoreAttribute && group == "/") return frame::store_kind_name(store.kind());
  if (name == kGroupKindAttribute) return store.group_kind(group);
  const auto layer = layer_of(name);
  const auto frame = layer ? store.attributes(group) : nullptr;
  return frame ? layer_value(*frame, *layer, name) : std::nullopt;
}

}  // namespace bloscfs::fs
