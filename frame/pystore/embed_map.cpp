#include "frame/pystore/embed_map.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/pystore/msgpack_cursor.hpp"
#include "frame/pystore/store_names.hpp"

namespace bloscfs::frame {
namespace {

constexpr std::size_t kMaxEmbedMap = std::size_t{16} << 20;
constexpr std::size_t kMaxKeyPart = 255, kMaxKey = 4096;
constexpr std::string_view kNeverInKeys{":\n\r\t"};
constexpr std::uint8_t kMsgpackMap32 = 0xdf;

/// What the map says of one key, before anything is believed.
struct Claim {
  std::optional<std::uint64_t> offset, length;
  std::optional<std::string_view> urlbase, path;
};

Claim read_claim(MsgpackCursor& cursor) {
  Claim claim;
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

/// Nothing where the claim is neither a range of the heap nor a reference.
std::optional<std::variant<EmbeddedLeaf, ReferencedLeaf>> checked(const Claim& claim,
                                                                  std::uint64_t heap_size) {
  if (claim.offset && claim.length) {
    if (*claim.offset > heap_size || *claim.length > heap_size - *claim.offset ||
        *claim.length == 0)
      return std::nullopt;
    return EmbeddedLeaf{*claim.offset, *claim.length};
  }
  if (claim.urlbase && claim.path && has_no_nul(*claim.urlbase) && has_no_nul(*claim.path))
    return ReferencedLeaf{std::string(*claim.urlbase), std::string(*claim.path)};
  return std::nullopt;
}

/// Goes to the first pair of the inner map and returns how many there are; nothing without such a
/// map.
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

EmbedMap::EmbedMap(Bytes bytes, std::uint64_t heap_size) {
  MsgpackCursor cursor(bytes);
  const auto pairs = find_pairs(cursor);
  if (!pairs) codec::throw_malformed(fmt::format("{}: no embed_map", kEmbedMapName));
  for (std::size_t left = *pairs; left > 0; --left) {
    const std::string_view key = cursor.read_text();
    const auto leaf = checked(read_claim(cursor), heap_size);
    if (!is_valid_key(key))
      left_out_.add(fmt::format("embedded leaf {}: no key", key));
    else if (!leaf)
      left_out_.add(
          fmt::format("embedded leaf {}: no range of the contents, nor a reference", key));
    else
      entries_.push_back({std::string(key), *leaf});
  }
  // Of two with one key the later wins, as for Python.
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.key < b.key; });
  const auto same = [](const Entry& a, const Entry& b) { return a.key == b.key; };
  const auto kept = std::unique(entries_.rbegin(), entries_.rend(), same);
  entries_.erase(entries_.begin(), kept.base());
}

EmbedMap EmbedMap::read(const Snapshot& embed, codec::BlockDecoder& decoder) {
  const auto layer = find_map_layer(embed);
  if (!layer) return {};
  return {embed.read_vlmetalayer(*layer, kMaxEmbedMap, decoder),
          static_cast<std::uint64_t>(embed.info().nbytes)};
}

std::size_t EmbedMap::memory() const {
  std::size_t bytes = entries_.capacity() * sizeof(Entry);
  for (const Entry& entry : entries_) {
    bytes += entry.key.capacity();
    if (const auto* const reference = std::get_if<ReferencedLeaf>(&entry.leaf))
      bytes += reference->urlbase.capacity() + reference->path.capacity();
  }
  return bytes;
}

std::size_t EmbedMap::lower_bound(std::string_view key) const {
  const auto less = [](const Entry& entry, std::string_view wanted) { return entry.key < wanted; };
  return static_cast<std::size_t>(std::lower_bound(entries_.begin(), entries_.end(), key, less) -
                                  entries_.begin());
}

const EmbedMap::Entry* EmbedMap::find(std::string_view key) const {
  const std::size_t at = lower_bound(key);
  return at < entries_.size() && entries_[at].key == key ? &entries_[at] : nullptr;
}

bool may_have_embedded(const Snapshot& embed) {
  try {
    codec::BlockDecoder decoder;
    const EmbedMap map = EmbedMap::read(embed, decoder);
    return !map.left_out().empty() ||
           std::any_of(map.entries().begin(), map.entries().end(), [](const auto& entry) {
             return !entry.key.ends_with("/" + std::string(kGroupAttributes));
           });
  } catch (const codec::Error&) {
    return true;
  }
}

}  // namespace bloscfs::frame
