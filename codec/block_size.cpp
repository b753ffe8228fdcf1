#include "codec/block_size.hpp"

#include <algorithm>

#include "codec/compressor/codec_table.hpp"

namespace bloscfs::codec {
namespace {

constexpr std::int32_t kKi = 1024;
constexpr std::int32_t kSmallestSized = 32 * kKi;  // smaller chunks are one block
constexpr std::int32_t kLargestSplitBlock = 4096 * kKi;
constexpr std::int32_t kMaxSplitTypesize = 16;
constexpr std::int32_t kMinSplitItems = 32;
constexpr std::int32_t kMinSplitItemsBlosc1 = 128;

// Default sizes by level 0 to 9. The first two are bytes of a block. The last one is bytes of each
// stream of a split block.
constexpr std::int32_t kFastBlocks[] = {8 * kKi,   16 * kKi,  32 * kKi,  64 * kKi,  128 * kKi,
                                        128 * kKi, 256 * kKi, 256 * kKi, 256 * kKi, 256 * kKi};
constexpr std::int32_t kStrongBlocks[] = {16 * kKi,  32 * kKi,  64 * kKi,  128 * kKi, 256 * kKi,
                                          256 * kKi, 512 * kKi, 512 * kKi, 512 * kKi, 1024 * kKi};
constexpr std::int32_t kSplitStreams[] = {0,        32 * kKi, 32 * kKi,  32 * kKi,  64 * kKi,
                                          64 * kKi, 64 * kKi, 128 * kKi, 256 * kKi, 512 * kKi};

bool has_shuffle(const EncodeSettings& settings) {
  return std::any_of(settings.filters.begin(), settings.filters.end(),
                     [](const FilterStep& step) { return step.id == FilterId::shuffle; });
}

bool codec_gains_from_splitting(const EncodeSettings& settings) {
  const CodecRow* const codec = find_codec(settings.codec);
  return codec != nullptr && settings.clevel <= codec->splits_up_to_level;
}

std::int32_t automatic_blocksize(const EncodeSettings& settings, std::int32_t nbytes) {
  const auto level = static_cast<std::size_t>(settings.clevel);
  if (level > 0 && splits_blocks(settings, nbytes)) {
    const std::int64_t size = std::int64_t{kSplitStreams[level]} * settings.typesize;
    return static_cast<std::int32_t>(
        std::clamp<std::int64_t>(size, kSmallestSized, kLargestSplitBlock));
  }
  if (nbytes < kSmallestSized) return nbytes;
  const CodecRow* const codec = find_codec(settings.codec);
  return codec != nullptr && codec->is_fast ? kFastBlocks[level] : kStrongBlocks[level];
}

}  // namespace

std::int32_t choose_blocksize(const EncodeSettings& settings, std::int32_t nbytes) {
  const std::int32_t typesize = settings.typesize;
  const std::int32_t header_typesize = typesize > 255 ? 1 : typesize;
  if (nbytes == 0 || nbytes < header_typesize) return 1;
  std::int32_t size =
      settings.blocksize > 0 ? settings.blocksize : automatic_blocksize(settings, nbytes);
  size = std::clamp(size, header_typesize, nbytes);
  return size > typesize ? size - size % typesize : size;
}

bool splits_blocks(const EncodeSettings& settings, std::int32_t blocksize) {
  const bool small_items = settings.typesize <= kMaxSplitTypesize;
  const std::int32_t items = blocksize / settings.typesize;
  // Blosc1 has only a flag against splitting. If it is clear, the reader decides by its own rule.
  if (settings.blosc1_header && (!small_items || items < kMinSplitItemsBlosc1)) return false;
  switch (settings.split) {
    case SplitMode::always:
      return true;
    case SplitMode::never:
      return false;
    default:
      return codec_gains_from_splitting(settings) && has_shuffle(settings) && small_items &&
             items >= kMinSplitItems;
  }
}

}  // namespace bloscfs::codec
