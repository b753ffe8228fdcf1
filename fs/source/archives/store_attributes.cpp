#include "fs/source/archives/store_attributes.hpp"

#include "fs/view/attributes.hpp"

namespace bloscfs::fs {
namespace {

constexpr const char* kGroupKindAttribute = "user.blosc2.kind";

}  // namespace

std::optional<std::string> group_attribute(const frame::PythonStore& store,
                                           const std::string& group, const std::string& name) {
  if (name == kStoreAttribute && group == "/") return frame::store_kind_name(store.kind());
  if (name == kGroupKindAttribute) return store.group_kind(group);
  const auto frame = layer_of(name) ? store.attributes(group) : nullptr;
  return frame ? value_of(values_of(*frame), name) : std::nullopt;
}

}  // namespace bloscfs::fs
