#include "fs/view/attributes.hpp"

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "codec/error.hpp"
#include "codec/names.hpp"
#include "frame/header/cframe_format.hpp"
#include "frame/header/metalayer_names.hpp"
#include "frame/header/msgpack_json.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/view/thread_decoder.hpp"

namespace bloscfs::fs {
namespace {

using frame::FrameInfo;
using frame::MetalayerEntry;
using frame::Snapshot;

constexpr std::size_t kMaxName = 255;  ///< XATTR_NAME_MAX

std::string filters_text(const FrameInfo& info) {
  std::vector<std::string> steps;
  for (const codec::FilterStep& step : info.filters) {
    if (step.id == codec::FilterId::none) continue;
    const std::string name = codec::filter_name(step.id);
    steps.push_back(step.meta == 0 ? name : fmt::format("{}:{}", name, step.meta));
  }
  return fmt::format("{}", fmt::join(steps, ","));
}

std::optional<std::string> number_if(bool applies, std::int64_t value) {
  return applies ? std::optional<std::string>(std::to_string(value)) : std::nullopt;
}

template <typename T>
std::optional<std::string> list_if(bool applies, const std::vector<T>& values) {
  if (!applies) return std::nullopt;
  return fmt::format("{}", fmt::join(values, ","));
}

/// Attribute values are one line of ASCII. A stored dtype may contain other characters.
std::optional<std::string> dtype_text(const FrameInfo& info) {
  if (!info.array || !info.array->dtype) return std::nullopt;
  const std::string& dtype = *info.array->dtype;
  const bool plain =
      std::all_of(dtype.begin(), dtype.end(), [](char c) { return c >= ' ' && c <= '~'; });
  return plain ? std::optional<std::string>(dtype) : std::nullopt;
}

using Value = std::optional<std::string> (*)(const FrameInfo&);
struct Computed {
  std::string_view name;
  Value value;  ///< nullopt if the container does not have the attribute
};

const Computed kComputed[] = {
    {"codec",
     [](const FrameInfo& i) {
       return i.codec ? std::optional<std::string>(codec::codec_name(*i.codec)) : std::nullopt;
     }},
    {"clevel", [](const FrameInfo& i) { return number_if(i.is_frame(), i.clevel); }},
    {"filters",
     [](const FrameInfo& i) {
       return i.is_frame() ? std::optional<std::string>(filters_text(i)) : std::nullopt;
     }},
    {"typesize", [](const FrameInfo& i) { return number_if(true, i.typesize); }},
    {"chunksize", [](const FrameInfo& i) { return number_if(i.chunksize >= 0, i.chunksize); }},
    {"blocksize", [](const FrameInfo& i) { return number_if(i.is_frame(), i.blocksize); }},
    {"nbytes", [](const FrameInfo& i) { return number_if(true, i.nbytes); }},
    {"cbytes", [](const FrameInfo& i) { return number_if(true, i.cbytes); }},
    {"nchunks", [](const FrameInfo& i) { return number_if(true, i.nchunks); }},
    {"shape",
     [](const FrameInfo& i) { return i.array ? list_if(true, i.array->shape) : std::nullopt; }},
    {"chunkshape",
     [](const FrameInfo& i) {
       return i.array ? list_if(i.has_blocked_array(), i.array->chunkshape) : std::nullopt;
     }},
    {"blockshape",
     [](const FrameInfo& i) {
       return i.array ? list_if(i.has_blocked_array(), i.array->blockshape) : std::nullopt;
     }},
    {"dtype", dtype_text},
};

/// The most bytes of metalayer contents that are kept for one container.
constexpr std::size_t kMaxKeptContents = 128U << 10;

bool can_be_listed(std::string_view attribute, const LayerName& layer) {
  return is_free(layer) && !layer.name.empty() && attribute.size() <= kMaxName;
}

void check_unchanged(const Snapshot& snapshot) {
  if (!snapshot.unchanged()) frame::throw_errno(EIO, "source was changed while in use");
}

const Computed* find_computed(std::string_view attribute) {
  if (!attribute.starts_with(kAttributePrefix)) return nullptr;
  attribute.remove_prefix(kAttributePrefix.size());
  for (const Computed& computed : kComputed)
    if (computed.name == attribute) return &computed;
  return nullptr;
}

/// Throws codec::Error if the metalayer is damaged.
bool is_too_large(const Snapshot& snapshot, LayerKind kind, const MetalayerEntry& entry) {
  const std::int64_t size =
      kind == LayerKind::fixed ? entry.stored_size : snapshot.vlmetalayer_size(entry);
  return size > static_cast<std::int64_t>(kMaxAttributeSize);
}

std::vector<std::uint8_t> read_entry(const Snapshot& snapshot, LayerKind kind,
                                     const MetalayerEntry& entry, codec::BlockDecoder& decoder) {
  return kind == LayerKind::fixed ? snapshot.read_metalayer(entry)
                                  : snapshot.read_vlmetalayer(entry, kMaxAttributeSize, decoder);
}

/// Keeps the content if it is at most `room` bytes.
FrameAttributes::Layer look_at_layer(const Snapshot& snapshot, LayerKind kind,
                                     const MetalayerEntry& entry, std::size_t room,
                                     codec::BlockDecoder& decoder) {
  FrameAttributes::Layer layer{{kind, entry.name}, false, nullptr};
  try {
    layer.is_too_large = is_too_large(snapshot, kind, entry);
    if (layer.is_too_large || room == 0) return layer;
    auto content = read_entry(snapshot, kind, entry, decoder);
    if (content.size() <= room)
      layer.content = std::make_shared<const std::vector<std::uint8_t>>(std::move(content));
  } catch (const codec::Error&) {
    // A damaged metalayer is listed all the same. Reading it reports the damage.
  }
  return layer;
}

}  // namespace

const FrameAttributes::Layer* FrameAttributes::find(const LayerName& name) const {
  const auto found = std::find_if(layers.begin(), layers.end(),
                                  [&](const Layer& layer) { return layer.name == name; });
  return found == layers.end() ? nullptr : &*found;
}

std::size_t FrameAttributes::memory() const {
  std::size_t bytes = sizeof(*this);
  for (const Layer& layer : layers)
    bytes +=
        sizeof(layer) + layer.name.name.capacity() + (layer.content ? layer.content->size() : 0);
  if (info.array)
    bytes += info.array->shape.size() * 2 * sizeof(std::int64_t) +
             info.array->dtype.value_or(std::string()).size();
  return bytes;
}

FrameAttributes look_at_attributes(const Snapshot& snapshot, codec::BlockDecoder& decoder) {
  FrameAttributes found{snapshot.info(), {}};
  std::size_t room = kMaxKeptContents;
  for (const LayerKind kind : {LayerKind::fixed, LayerKind::variable}) {
    for (const MetalayerEntry& entry : entries_of(snapshot, kind)) {
      found.layers.push_back(look_at_layer(snapshot, kind, entry, room, decoder));
      if (const auto& content = found.layers.back().content) room -= content->size();
    }
  }
  check_unchanged(snapshot);
  return found;
}

std::optional<LayerName> layer_of(std::string_view attribute) {
  if (attribute.starts_with(kMetaPrefix))
    return LayerName{LayerKind::fixed, std::string(attribute.substr(kMetaPrefix.size()))};
  for (const std::string_view prefix : {kVlmetaPrefix, kJsonPrefix})
    if (attribute.starts_with(prefix))
      return LayerName{LayerKind::variable, std::string(attribute.substr(prefix.size()))};
  return std::nullopt;
}

std::string attribute_of(const LayerName& layer) {
  return std::string(layer.kind == LayerKind::fixed ? kMetaPrefix : kVlmetaPrefix) + layer.name;
}

bool is_free(const LayerName& layer) {
  return layer.kind == LayerKind::fixed
             ? !frame::defines_frame_kind(layer.name)
             : !frame::is_bound_to_frame(layer.name) && layer.name != frame::kPackedTensorLayer;
}

bool has_listed_metalayers(const Snapshot& snapshot) {
  const FrameInfo& info = snapshot.info();
  if (!info.is_frame()) return false;
  const auto is_listed = [](const MetalayerEntry& entry) {
    return is_free({LayerKind::fixed, entry.name});
  };
  // A trailer that is not empty may have metalayers of variable length to list.
  return info.trailer_len != frame::kEmptyTrailerLen ||
         std::any_of(snapshot.metalayers().begin(), snapshot.metalayers().end(), is_listed);
}

bool is_computed(std::string_view attribute) { return find_computed(attribute) != nullptr; }

std::vector<std::string> list_attributes(const FrameAttributes* found,
                                         const LayerChanges& changes) {
  std::vector<std::string> names;
  const auto add = [&](const LayerName& layer) {
    std::string name = attribute_of(layer);
    if (can_be_listed(name, layer)) names.push_back(std::move(name));
  };
  // A change replaces the committed metalayer of the same name, or removes it.
  if (found != nullptr)
    for (const FrameAttributes::Layer& layer : found->layers)
      if (!layer.is_too_large && changes.count(layer.name) == 0) add(layer.name);
  for (const auto& [layer, content] : changes)
    if (content && content->size() <= kMaxAttributeSize) add(layer);
  return names;
}

std::optional<std::string> computed_value(const FrameInfo& info, std::string_view attribute) {
  const Computed* const computed = find_computed(attribute);
  if (computed == nullptr) return std::nullopt;
  auto value = computed->value(info);
  if (value && value->size() > kMaxAttributeSize) frame::throw_errno(E2BIG, attribute);
  return value;
}

std::optional<std::vector<std::uint8_t>> read_layer(const Snapshot& snapshot, const LayerName& name,
                                                    codec::BlockDecoder& decoder) {
  const auto entry = name.name.empty() ? std::nullopt : find_layer(snapshot, name);
  if (!entry) return std::nullopt;
  if (is_too_large(snapshot, name.kind, *entry)) frame::throw_errno(E2BIG, name.name);
  auto content = read_entry(snapshot, name.kind, *entry, decoder);
  check_unchanged(snapshot);
  return content;
}

std::string layer_as_json(codec::Bytes content) {
  std::string text = frame::to_line(frame::metalayer_to_json(content));
  if (text.size() > kMaxAttributeSize) frame::throw_errno(E2BIG, "JSON");
  return text;
}

std::vector<std::uint8_t> layer_from_json(const std::string& text) {
  std::vector<std::uint8_t> content;
  try {
    content =
        frame::json_to_msgpack({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  } catch (const std::runtime_error& error) {
    frame::throw_errno(EINVAL, error.what());
  }
  if (content.size() > kMaxAttributeSize) frame::throw_errno(E2BIG, "msgpack");
  return content;
}

LayerChange content_for(std::string_view attribute, const std::string& value) {
  return std::make_shared<const std::vector<std::uint8_t>>(
      attribute.starts_with(kJsonPrefix) ? layer_from_json(value)
                                         : std::vector<std::uint8_t>(value.begin(), value.end()));
}

AttributeValues values_of(const Snapshot& snapshot) {
  return {{},
          [from = &snapshot](const LayerName& name) {
            return read_layer(*from, name, thread_decoder());
          },
          [from = &snapshot] { return from->info(); }};
}

std::optional<std::string> value_of(const AttributeValues& values, const std::string& attribute) {
  const auto layer = layer_of(attribute);
  if (!layer)
    return is_computed(attribute) ? computed_value(values.info(), attribute) : std::nullopt;
  std::optional<std::vector<std::uint8_t>> content;
  if (const auto change = values.changes.find(*layer); change == values.changes.end())
    content = values.layer(*layer);
  else if (change->second)
    content = *change->second;
  if (!content) return std::nullopt;
  return attribute.starts_with(kJsonPrefix) ? layer_as_json(*content)
                                            : std::string(content->begin(), content->end());
}

bool has_supported_namespace(std::string_view name) {
  return name.starts_with("user.") || name.starts_with("trusted.") ||
         name == "system.posix_acl_access" || name == "system.posix_acl_default";
}

}  // namespace bloscfs::fs
