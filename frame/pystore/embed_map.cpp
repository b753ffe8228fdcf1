#include "frame/pystore/embed_map.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/pystore/store_names.hpp"
#include "frame/python/msgpack_cursor.hpp"

namespace bloscfs::frame::inline pystore {
namespace {

constexpr std::size_t kMaxEmbedMap = std::size_t{16} << 20;
/// Most bytes of a map that may_have_embedded() reads.
constexpr std::size_t kMaxMapLookedAt = std::size_t{64} << 10;
constexpr std::size_t kMaxKeyPart = 255;
/// Memory for decoding a map, as a multiple of its size: the map, its largest block as stored, and
/// the scratch memory of the filters.
constexpr std::size_t kTimesMap = 3;
constexpr std::string_view kNeverInKeys{":\n\r\t"};
constexpr std::uint8_t kMsgpackMap32 = 0xdf;

}  // namespace

/// The unchecked fields of a key in the map.
struct EmbedClaim {
  std::optional<std::uint64_t> offset, length;
  std::optional<std::string_view> urlbase, path;

  bool is_range() const { return offset && length; }
};

namespace {

EmbedClaim read_claim(MsgpackCursor& cursor) {
  EmbedClaim claim;
  for (std::size_t left = cursor.read_map(); left > 0; --left) {
    const std::string_view field = cursor.read_text();
    if (field == "offset")
      claim.offset = cursor.read_count();
    else if (field == "length")
      claim.length = cursor.read_count();
    else if (field == "urlbase")
      claim.urlbase = cursor.read_if_text();
    else if (field == "path")
      claim.path = cursor.read_if_text();
    else
      cursor.skip();
  }
  return claim;
}

bool has_no_nul(std::string_view text) { return text.find('\0') == std::string_view::npos; }

/// True if the claim is a range inside the heap, or a reference.
bool is_sound(const EmbedClaim& claim, std::uint64_t heap_size) {
  if (claim.is_range())
    return *claim.offset <= heap_size && *claim.length <= heap_size - *claim.offset &&
           *claim.length > 0;
  return claim.urlbase && claim.path && has_no_nul(*claim.urlbase) && has_no_nul(*claim.path);
}

/// Returns the bytes of the texts that the map keeps for an entry.
std::size_t text_size(std::string_view key, const EmbedClaim& claim) {
  return key.size() + (claim.is_range() ? 0 : claim.urlbase->size() + claim.path->size());
}

/// Moves to the first pair of the inner map and returns the number of pairs; nullopt if there is no
/// such map.
std::optional<std::size_t> find_pairs(MsgpackCursor& cursor) {
  for (std::size_t left = cursor.read_map(); left > 0; --left) {
    if (cursor.read_text() != "embed_map") {
      cursor.skip();
      continue;
    }
    return cursor.read_map();
  }
  return std::nullopt;
}

/// Calls `visit(key, claim)` for each entry of the map, valid or not.
template <typename Visit>
void for_each_claim(Bytes bytes, const Visit& visit) {
  MsgpackCursor cursor(bytes);
  const auto pairs = find_pairs(cursor);
  if (!pairs) codec::throw_malformed(fmt::format("{}: no embed_map", kEmbedMapName));
  for (std::size_t left = *pairs; left > 0; --left) {
    const std::string_view key = cursor.read_text();
    visit(key, read_claim(cursor));
  }
}

std::optional<MetalayerEntry> find_map_layer(const Snapshot& embed) {
  for (const MetalayerEntry& layer : embed.vlmetalayers())
    if (layer.name == kEmbedMapName) return layer;
  return std::nullopt;
}

}  // namespace

std::string ReferencedLeaf::url() const {
  std::string_view base = urlbase, rest = path;
  while (base.ends_with('/')) base.remove_suffix(1);
  while (rest.starts_with('/')) rest.remove_prefix(1);
  return fmt::format("{}/{}", base, rest);
}

bool is_path_key(std::string_view key) {
  if (!key.starts_with('/') || key.size() > kMaxKey || !has_no_nul(key)) return false;
  for (std::size_t at = 1; at <= key.size();) {
    const std::size_t end = std::min(key.find('/', at), key.size());
    const std::string_view part = key.substr(at, end - at);
    if (part.empty() || part == "." || part == ".." || part.size() > kMaxKeyPart) return false;
    at = end + 1;
  }
  return true;
}

bool is_valid_key(std::string_view key) {
  return is_path_key(key) && key.find_first_of(kNeverInKeys) == std::string_view::npos;
}

EmbedMap::EmbedMap(Bytes bytes, std::uint64_t heap_size, MemoryCharge& charge) {
  const auto is_entry = [&](std::string_view key, const EmbedClaim& claim) {
    return is_valid_key(key) && is_sound(claim, heap_size);
  };
  std::size_t entries = 0, texts = 0;
  for_each_claim(bytes, [&](std::string_view key, const EmbedClaim& claim) {
    if (!is_entry(key, claim)) return;
    entries++;
    texts += text_size(key, claim);
  });
  charge.take(entries * sizeof(Entry) + texts);
  entries_.reserve(entries);
  texts_.reserve(texts);
  for_each_claim(bytes, [&](std::string_view key, const EmbedClaim& claim) {
    if (is_entry(key, claim)) return add(key, claim);
    left_out_.add(
        fmt::format("embedded leaf {}: {}", key.substr(0, kMaxKey),
                    is_valid_key(key) ? "no range of the contents, nor a reference" : "no key"));
  });
  sort_entries();
}

void EmbedMap::add(std::string_view key, const EmbedClaim& claim) {
  Entry entry{};
  entry.text_at = static_cast<std::uint32_t>(texts_.size());
  entry.key_size = static_cast<std::uint16_t>(key.size());
  entry.is_reference = !claim.is_range();
  texts_ += key;
  if (entry.is_reference) {
    entry.first = claim.urlbase->size();
    entry.second = claim.path->size();
    texts_.append(*claim.urlbase).append(*claim.path);
  } else {
    entry.first = *claim.offset;
    entry.second = *claim.length;
  }
  entries_.push_back(entry);
}

/// Of two entries with one key the later wins, as in Python. Sorts in place, because a stable sort
/// takes memory.
void EmbedMap::sort_entries() {
  const auto key_of = [this](const Entry& entry) {
    return std::string_view(texts_).substr(entry.text_at, entry.key_size);
  };
  std::sort(entries_.begin(), entries_.end(), [&](const Entry& a, const Entry& b) {
    const int order = key_of(a).compare(key_of(b));
    return order != 0 ? order < 0 : a.text_at < b.text_at;
  });
  const auto same = [&](const Entry& a, const Entry& b) { return key_of(a) == key_of(b); };
  const auto kept = std::unique(entries_.rbegin(), entries_.rend(), same);
  entries_.erase(entries_.begin(), kept.base());
}

EmbedMap EmbedMap::read(const Snapshot& embed, codec::BlockDecoder& decoder, MemoryCharge& charge) {
  const auto layer = find_map_layer(embed);
  if (!layer) return {};
  const auto size = static_cast<std::size_t>(
      std::clamp<std::int64_t>(embed.vlmetalayer_size(*layer), 0, kMaxEmbedMap));
  const MemoryCharge::Part decoded(charge, kTimesMap * size);
  return {embed.read_vlmetalayer(*layer, kMaxEmbedMap, decoder),
          static_cast<std::uint64_t>(embed.info().nbytes), charge};
}

EmbedMap::Leaf EmbedMap::leaf(std::size_t at) const {
  const Entry& entry = entries_[at];
  if (!entry.is_reference) return EmbeddedLeaf{entry.first, entry.second};
  const std::string_view texts = std::string_view(texts_).substr(entry.text_at + entry.key_size);
  return ReferencedLeaf{std::string(texts.substr(0, entry.first)),
                        std::string(texts.substr(entry.first, entry.second))};
}

std::size_t EmbedMap::lower_bound(std::string_view key) const {
  const auto less = [this](const Entry& entry, std::string_view wanted) {
    return std::string_view(texts_).substr(entry.text_at, entry.key_size) < wanted;
  };
  return static_cast<std::size_t>(std::lower_bound(entries_.begin(), entries_.end(), key, less) -
                                  entries_.begin());
}

std::optional<std::size_t> EmbedMap::find(std::string_view key) const {
  const std::size_t at = lower_bound(key);
  return at < size() && this->key(at) == key ? std::optional(at) : std::nullopt;
}

bool may_have_embedded(const Snapshot& embed) {
  try {
    const auto layer = find_map_layer(embed);
    if (!layer) return false;
    codec::BlockDecoder decoder;
    const EmbedMap map(embed.read_vlmetalayer(*layer, kMaxMapLookedAt, decoder),
                       static_cast<std::uint64_t>(embed.info().nbytes));
    if (!map.left_out().empty()) return true;
    for (std::size_t at = 0; at < map.size(); at++)
      if (last_part(map.key(at)) != kGroupAttributes) return true;
    return false;
  } catch (const codec::Error&) {
    return true;
  }
}

}  // namespace bloscfs::frame::inline pystore
