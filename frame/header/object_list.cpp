#include "frame/header/object_list.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/header/arrow_batch.hpp"
#include "frame/header/msgpack_json.hpp"

namespace bloscfs::frame::inline header {
namespace {

using nlohmann::json;

/// The metalayers that describe a list of objects. The first one that a frame has decides.
struct ListLayer {
  std::string_view name;
  ObjectList::Layout layout;
};
constexpr std::array<ListLayer, 2> kListLayers = {
    ListLayer{"batcharray", ObjectList::Layout::batch_in_block},
    ListLayer{"vlarray", ObjectList::Layout::object_in_chunk}};

/// Most bytes of such a metalayer. It takes some hundred bytes, plus the schema of its columns.
constexpr std::uint32_t kMaxDescription = 1 << 20;

constexpr std::string_view kTupleMark = "__tuple__";

ObjectList::Serializer serializer_of(std::string_view layer, const json& description) {
  const auto found = description.find("serializer");
  if (found == description.end() || !found->is_string())
    codec::throw_malformed(fmt::format("metalayer {}: no serializer", layer));
  const auto& name = found->get_ref<const std::string&>();
  if (name == "msgpack") return ObjectList::Serializer::msgpack;
  if (name == "json") return ObjectList::Serializer::json;
  // python-blosc2 serializes only batches with Arrow.
  if (name == "arrow" && layer == kListLayers.front().name) return ObjectList::Serializer::arrow;
  codec::throw_unsupported(fmt::format("objects of the serializer {}", name));
}

/// Removes the marks of tuples. The recursion is bounded because the parser has bounded the depth
/// of the value.
void take_tuple_marks(json& value) {
  if (!value.is_structured()) return;
  if (value.is_array() && !value.empty() && value.front() == kTupleMark) value.erase(value.begin());
  for (json& inner : value) take_tuple_marks(inner);
}

}  // namespace

std::optional<ObjectList> parse_object_list(std::string_view name, codec::Bytes content) {
  const auto layer = std::find_if(kListLayers.begin(), kListLayers.end(),
                                  [&](const ListLayer& known) { return known.name == name; });
  if (layer == kListLayers.end()) return std::nullopt;
  const auto description = msgpack_to_json(content);
  if (!description || !description->is_object())
    codec::throw_malformed(fmt::format("metalayer {}: no msgpack map", name));
  return ObjectList{layer->layout, serializer_of(name, *description)};
}

std::optional<ObjectList> object_list_of(const Snapshot& snapshot) {
  for (const ListLayer& known : kListLayers)
    for (const MetalayerEntry& layer : snapshot.metalayers()) {
      if (layer.name != known.name) continue;
      if (layer.stored_size > kMaxDescription)
        codec::throw_malformed(fmt::format("metalayer {}: {} bytes > {}", layer.name,
                                           layer.stored_size, kMaxDescription));
      return parse_object_list(layer.name, snapshot.read_metalayer(layer));
    }
  return std::nullopt;
}

std::vector<json> objects_of(const ObjectList& list, codec::Bytes document) {
  if (list.serializer == ObjectList::Serializer::arrow)
    return objects_of({list.layout, ObjectList::Serializer::msgpack}, arrow_to_msgpack(document));
  const bool is_json = list.serializer == ObjectList::Serializer::json;
  auto value = is_json ? parse_json(document) : msgpack_to_json(document, Marks::base64);
  if (!value)
    codec::throw_malformed(fmt::format("a document of {} bytes: no {} that JSON can express",
                                       document.size(), is_json ? "JSON" : "msgpack"));
  std::vector<json> objects;
  if (list.layout == ObjectList::Layout::object_in_chunk)
    objects.push_back(*std::move(value));
  else if (value->is_array())
    objects = std::move(value->get_ref<json::array_t&>());
  else
    codec::throw_malformed("a batch of objects: no array");
  for (json& object : objects) take_tuple_marks(object);
  return objects;
}

}  // namespace bloscfs::frame::inline header
