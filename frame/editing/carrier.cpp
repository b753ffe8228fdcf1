#include "frame/editing/carrier.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "codec/bytes.hpp"
#include "codec/error.hpp"
#include "frame/header/cframe_format.hpp"
#include "frame/python/msgpack_cursor.hpp"

namespace bloscfs::frame::inline editing {
namespace {

constexpr char kObjectLayer[] = "b2o";
constexpr char kLazyArrayLayer[] = "LazyArray";
constexpr char kProxyLayer[] = "proxy-source";
/// One bit for each chunk, beginning with the lowest bit of the first byte.
constexpr char kFetchedChunksLayer[] = "proxy-fetched";
/// One bit for each block: first the blocks of the first chunk, then those of the second one, and
/// so on.
constexpr char kFetchedBlocksLayer[] = "proxy-fetched-blocks";
/// Present while a proxy is being written to. The bits of the two layers above are then not valid.
constexpr char kDirtyLayer[] = "proxy-dirty";
/// Marks an array that has its full size and arrives chunk by chunk. kFillStateLayer tells the
/// progress.
constexpr char kFillLayer[] = "fill_nonce";
constexpr char kFillStateLayer[] = "fill_state";

/// Most bytes of a marker (b2o or LazyArray), which tells the kind of an object in some dozens of
/// bytes.
constexpr std::size_t kMaxMarker = 4096;
/// Most bytes of a layer of bits: one bit for each chunk that a frame can have.
constexpr std::size_t kMaxFetched = std::size_t{32} << 20;
/// Most blocks of a proxy whose bits can be read.
constexpr std::int64_t kMostBits = 8 * static_cast<std::int64_t>(kMaxFetched);
/// Most missing blocks for which missing_blocks() checks whether they are only padding.
constexpr std::int64_t kMostLookedAt = std::int64_t{1} << 20;
constexpr std::size_t kMaxFillState = 256;

const MetalayerEntry* find_layer(const std::vector<MetalayerEntry>& layers, std::string_view name) {
  const auto found = std::find_if(layers.begin(), layers.end(),
                                  [&](const MetalayerEntry& layer) { return layer.name == name; });
  return found == layers.end() ? nullptr : &*found;
}

/// Returns the first value, without the contents of an array or a map; nil if the bytes are not
/// msgpack.
MsgpackValue first_value(codec::Bytes bytes) {
  try {
    return MsgpackCursor(bytes).take();
  } catch (const codec::Error&) {
    return {};
  }
}

/// Returns the content of a marker, or nothing if it is too large.
std::vector<std::uint8_t> read_marker(const Snapshot& snapshot, const MetalayerEntry& layer) {
  if (layer.stored_size > kMaxMarker) return {};
  return snapshot.read_metalayer(layer);
}

/// Returns the text under the key "kind" of a map; empty if the map has no such key.
std::string kind_in(codec::Bytes marker) {
  try {
    MsgpackCursor cursor(marker);
    for (std::size_t left = cursor.read_map(); left > 0; --left) {
      if (cursor.read_if_text() == "kind") return std::string(cursor.read_if_text().value_or(""));
      cursor.skip();
    }
  } catch (const codec::Error&) {
  }
  return {};
}

std::string describe(const std::string& kind) {
  static const std::map<std::string, const char*> kNames = {
      {"lazyexpr", "a lazy expression"},
      {"lazyudf", "a lazy user-defined function (UDF)"},
      {"c2array", "a reference to a remote array"},
      {"remote_proxy", "a proxy of a remote array"},
      {"remote_array", "a proxy of a remote array"},
      {"remote_parquet", "a reference to a remote Parquet file"},
  };
  const auto known = kNames.find(kind);
  if (known != kNames.end()) return known->second;
  return kind.empty() ? "an object of Python" : fmt::format("an object of Python ({})", kind);
}

/// Returns the number of blocks or chunks along each axis.
std::vector<std::int64_t> count_along(const std::vector<std::int64_t>& whole,
                                      const std::vector<std::int32_t>& part) {
  std::vector<std::int64_t> counts;
  for (std::size_t i = 0; i < whole.size(); i++)
    counts.push_back(codec::ceil_div<std::int64_t>(whole[i], std::max(part[i], 1)));
  return counts;
}

std::int64_t product_of(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{1}, std::multiplies<>());
}

/// How chunks are cut into blocks.
class Cut {
 public:
  explicit Cut(const FrameInfo& info) : info_(info) {
    if (info.has_blocked_array()) {
      const ArrayInfo& array = *info.array;
      chunks_ = count_along(array.shape, array.chunkshape);
      blocks_ = count_along({array.chunkshape.begin(), array.chunkshape.end()}, array.blockshape);
    } else if (info.chunksize > 0 && info.blocksize > 0) {
      blocks_ = {codec::ceil_div(info.chunksize, info.blocksize)};
    }
  }

  /// Returns the number of blocks in each chunk; 0 if it is not known.
  std::int64_t block_count() const { return blocks_.empty() ? 0 : product_of(blocks_); }

  /// False for a block that is only padding. Proxies never fetch such blocks.
  bool has_items(std::int64_t number) const {
    std::int64_t chunk = number / block_count(), block = number % block_count();
    if (!info_.has_blocked_array())
      return chunk * info_.chunksize + block * info_.blocksize < info_.nbytes;
    const ArrayInfo& array = *info_.array;
    for (std::size_t i = array.shape.size(); i-- > 0;) {
      const std::int64_t begin =
          chunk % std::max<std::int64_t>(chunks_[i], 1) * array.chunkshape[i] +
          block % blocks_[i] * array.blockshape[i];
      if (begin >= array.shape[i]) return false;
      chunk /= std::max<std::int64_t>(chunks_[i], 1);
      block /= blocks_[i];
    }
    return true;
  }

 private:
  const FrameInfo& info_;
  std::vector<std::int64_t> chunks_, blocks_;  ///< along each axis
};

/// Returns the content of a vlmetalayer that is a msgpack binary value; empty if there is no such
/// layer.
std::vector<std::uint8_t> read_bits(const Snapshot& snapshot,
                                    const std::vector<MetalayerEntry>& layers,
                                    std::string_view name, codec::BlockDecoder& decoder) {
  const auto* const layer = find_layer(layers, name);
  if (layer == nullptr) return {};
  const auto value = snapshot.read_vlmetalayer(*layer, kMaxFetched, decoder);
  const MsgpackValue bits = first_value(value);
  if (bits.type != MsgpackValue::Type::binary) return {};
  return {bits.content.begin(), bits.content.end()};
}

/// Returns how many of the first `count` bits are set.
std::int64_t count_set(const std::vector<std::uint8_t>& bits, std::int64_t count) {
  std::int64_t set = 0;
  for (std::int64_t at = 0; at < count; at += 8) {
    const unsigned mask = count - at < 8 ? (1U << (count - at)) - 1 : 0xFFU;
    set += std::popcount(bits[static_cast<std::size_t>(at / 8)] & mask);
  }
  return set;
}

/// Returns the number of blocks whose bits are not set. Excludes blocks of padding, unless too many
/// bits are clear to check each block.
std::int64_t missing_blocks(const std::vector<std::uint8_t>& bits, std::int64_t count,
                            const Cut& cut) {
  std::int64_t missing = count - count_set(bits, count);
  if (missing > kMostLookedAt) return missing;
  for (std::int64_t number = 0; number < count; number++) {
    const bool is_set = (bits[static_cast<std::size_t>(number / 8)] >> (number % 8) & 1) != 0;
    if (!is_set && !cut.has_items(number)) missing--;
  }
  return missing;
}

}  // namespace

bool may_lack_contents(const Snapshot& snapshot) {
  const auto& layers = snapshot.metalayers();
  return find_layer(layers, kObjectLayer) != nullptr ||
         find_layer(layers, kLazyArrayLayer) != nullptr || is_proxy(snapshot);
}

std::optional<std::string> carried_object(const Snapshot& snapshot) {
  if (const auto* layer = find_layer(snapshot.metalayers(), kObjectLayer))
    return describe(kind_in(read_marker(snapshot, *layer)));
  if (const auto* layer = find_layer(snapshot.metalayers(), kLazyArrayLayer)) {
    const auto marker = read_marker(snapshot, *layer);
    // The layer holds the integer 1 for a function (frame/formats/metalayers.md).
    return describe(first_value(marker).unsigned_integer == 1 ? "lazyudf" : "lazyexpr");
  }
  return std::nullopt;
}

bool is_proxy(const Snapshot& snapshot) {
  return find_layer(snapshot.metalayers(), kProxyLayer) != nullptr;
}

std::optional<FetchedPart> fetched_part(const Snapshot& snapshot, codec::BlockDecoder& decoder) {
  const auto layers = snapshot.vlmetalayers();
  const bool notes_blocks = find_layer(layers, kFetchedBlocksLayer) != nullptr;
  if (!notes_blocks && find_layer(layers, kFetchedChunksLayer) == nullptr) return std::nullopt;
  const std::int64_t chunks = snapshot.info().nchunks;
  if (chunks == 0) return FetchedPart{};
  const Cut cut(snapshot.info());
  const bool is_dirty = find_layer(layers, kDirtyLayer) != nullptr;
  // Returns the bits of a layer; empty if python-blosc2 would not trust them.
  const auto believed = [&](const char* name, std::int64_t count) {
    auto bits = is_dirty ? std::vector<std::uint8_t>() : read_bits(snapshot, layers, name, decoder);
    if (std::ssize(bits) != codec::ceil_div<std::int64_t>(count, 8)) bits.clear();
    return bits;
  };
  const std::int64_t blocks = cut.block_count();
  if (blocks > 0 && chunks <= kMostBits / blocks)
    if (const auto bits = believed(kFetchedBlocksLayer, chunks * blocks); !bits.empty())
      return FetchedPart{missing_blocks(bits, chunks * blocks, cut), chunks * blocks, "blocks"};
  const auto bits = believed(kFetchedChunksLayer, chunks);
  return FetchedPart{bits.empty() ? chunks : chunks - count_set(bits, chunks), chunks, "chunks"};
}

bool is_being_filled(const Snapshot& snapshot, codec::BlockDecoder& decoder) {
  if (snapshot.info().trailer_len <= kEmptyTrailerLen)
    return false;  // the empty trailer has no vlmetalayers
  const auto layers = snapshot.vlmetalayers();
  if (find_layer(layers, kFillLayer) == nullptr) return false;
  const auto* const state = find_layer(layers, kFillStateLayer);
  if (state == nullptr) return true;
  const auto value = snapshot.read_vlmetalayer(*state, kMaxFillState, decoder);
  const MsgpackValue text = first_value(value);
  return !text.is_text("complete") && !text.is_text("published");
}

}  // namespace bloscfs::frame::inline editing
