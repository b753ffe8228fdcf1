#include "frame/editing/carrier.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <string_view>

#include <msgpack.hpp>

namespace bloscfs::frame::inline editing {
namespace {

constexpr char kObjectLayer[] = "b2o";
constexpr char kLazyArrayLayer[] = "LazyArray";
constexpr char kProxyLayer[] = "proxy-source";
constexpr char kFetchedLayer[] = "proxy-fetched";

/// A marker, which says what kind of object it is, takes some dozens of bytes.
constexpr std::size_t kMaxMarker = 4096;
/// A bit for each chunk that a frame can have.
constexpr std::size_t kMaxFetched = std::size_t{32} << 20;

const MetalayerEntry* find_layer(const std::vector<MetalayerEntry>& layers, std::string_view name) {
  const auto found = std::find_if(layers.begin(), layers.end(),
                                  [&](const MetalayerEntry& layer) { return layer.name == name; });
  return found == layers.end() ? nullptr : &*found;
}

/// A msgpack value with texts or bytes of up to `max_size`; nil where it is none.
msgpack::object_handle unpack(codec::Bytes bytes, std::size_t max_size) {
  try {
    return msgpack::unpack(reinterpret_cast<const char*>(bytes.data()), bytes.size(), nullptr,
                           nullptr, msgpack::unpack_limit(16, 16, max_size, max_size, 0, 4));
  } catch (const msgpack::unpack_error&) {
    return {};
  }
}

/// Nil for one that is too large, too.
msgpack::object_handle read_marker(const Snapshot& snapshot, const MetalayerEntry& layer) {
  if (layer.stored_size > kMaxMarker) return {};
  return unpack(snapshot.read_metalayer(layer), kMaxMarker);
}

/// The text that a map has under "kind"; empty if there is none.
std::string kind_in(const msgpack::object& marker) {
  if (marker.type != msgpack::type::MAP) return {};
  const auto text_of = [](const msgpack::object& value) -> std::string_view {
    if (value.type != msgpack::type::STR) return {};
    return {value.via.str.ptr, value.via.str.size};
  };
  for (std::uint32_t i = 0; i < marker.via.map.size; ++i) {
    const auto& item = marker.via.map.ptr[i];
    if (text_of(item.key) == "kind") return std::string(text_of(item.val));
  }
  return {};
}

std::string describe(const std::string& kind) {
  static const std::map<std::string, const char*> kNames = {
      {"lazyexpr", "a lazy expression"},
      {"lazyudf", "a lazy user-defined function (UDF)"},
      {"c2array", "a reference to a remote array"},
      {"remote_proxy", "a proxy of a remote array"},
  };
  const auto known = kNames.find(kind);
  return known == kNames.end() ? "an object of Python" : known->second;
}

}  // namespace

bool may_lack_contents(const Snapshot& snapshot) {
  const auto& layers = snapshot.metalayers();
  return find_layer(layers, kObjectLayer) != nullptr ||
         find_layer(layers, kLazyArrayLayer) != nullptr || is_proxy(snapshot);
}

std::optional<std::string> carried_object(const Snapshot& snapshot) {
  if (const auto* layer = find_layer(snapshot.metalayers(), kObjectLayer))
    return describe(kind_in(*read_marker(snapshot, *layer)));
  if (const auto* layer = find_layer(snapshot.metalayers(), kLazyArrayLayer)) {
    const auto marker = read_marker(snapshot, *layer);
    const bool is_function =
        marker->type == msgpack::type::POSITIVE_INTEGER && marker->via.u64 == 1;
    return describe(is_function ? "lazyudf" : "lazyexpr");
  }
  return std::nullopt;
}

bool is_proxy(const Snapshot& snapshot) {
  return find_layer(snapshot.metalayers(), kProxyLayer) != nullptr;
}

std::optional<bool> notes_all_fetched(const Snapshot& snapshot, codec::BlockDecoder& decoder) {
  const auto layers = snapshot.vlmetalayers();
  const auto* layer = find_layer(layers, kFetchedLayer);
  if (layer == nullptr) return std::nullopt;
  const auto bytes = snapshot.read_vlmetalayer(*layer, kMaxFetched, decoder);
  const auto bits = unpack(bytes, kMaxFetched);
  if (bits->type != msgpack::type::BIN) return std::nullopt;
  std::int64_t fetched = 0;
  for (std::uint32_t i = 0; i < bits->via.bin.size; ++i)
    fetched += std::popcount(static_cast<std::uint8_t>(bits->via.bin.ptr[i]));
  return fetched >= snapshot.info().nchunks;
}

}  // namespace bloscfs::frame::inline editing
