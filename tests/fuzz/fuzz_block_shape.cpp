// Arbitrary bytes as the only stored block of a chunk, whose codec and filters use the shape of an
// array's blocks. The decoded contents are encoded again. If nothing is lost, decoding must return
// the same contents.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "codec/chunk_encoder.hpp"
#include "codec/error.hpp"
#include "codec/loss.hpp"
#include "tests/fuzz/input_reader.hpp"

namespace {

using namespace bloscfs::codec;
using bloscfs::fuzz::InputReader;

constexpr std::int64_t kMaxDecodeMemory = 8 << 20;

/// Makes a chunk of one block: header, block start and stream.
std::vector<std::uint8_t> chunk_of(ChunkHeader h, Bytes stored) {
  constexpr std::int32_t kStart = kExtendedHeaderSize + 4;
  h.cbytes = kStart + static_cast<std::int32_t>(stored.size());
  const auto header = serialize_chunk_header(h);
  std::vector<std::uint8_t> chunk(header.begin(), header.end());
  for (int i = 0; i < 4; ++i) chunk.push_back(static_cast<std::uint8_t>(kStart >> (8 * i)));
  chunk.insert(chunk.end(), stored.begin(), stored.end());
  return chunk;
}

/// Returns an empty vector if the chunk is refused.
std::vector<std::uint8_t> decode(Bytes bytes, std::int32_t typesize, const BlockShape& shape) {
  try {
    const Chunk chunk = open_chunk(bytes, typesize, shape);
    if (chunk.decode_memory() > kMaxDecodeMemory) return {};
    std::vector<std::uint8_t> out(static_cast<std::size_t>(chunk.nbytes()));
    BlockDecoder().decode_all(chunk, bytes, out);
    return out;
  } catch (const Error&) {
    return {};
  }
}

void encode_again(const ChunkHeader& h, const std::vector<std::uint8_t>& contents) {
  EncodeSettings settings;
  settings.codec = h.codec;
  settings.codec_meta = h.codec_meta;
  settings.filters = h.filters;
  settings.typesize = h.full_typesize;
  settings.blocksize = h.blocksize;
  settings.block_shape = h.block_shape;
  settings.split = h.dont_split ? SplitMode::never : SplitMode::always;
  try {
    const auto chunk = ChunkEncoder(settings).encode_stored(contents);
    const auto found = decode(chunk, h.full_typesize, h.block_shape);
    const bool is_lossy = loss_of(h.codec, h.filters) != Loss::none;
    if (is_lossy ? found.size() != contents.size() : found != contents) std::abort();
  } catch (const Error&) {  // settings that cannot be written
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Ten bytes choose shape, item size, codec and filters. The rest is the stored block.
  InputReader input(Bytes(data, size));
  std::vector<std::int32_t> extents(input.byte() % 5);
  for (std::int32_t& extent : extents) extent = input.byte();
  ChunkHeader h;
  h.version = kChunkVersionBlosc2;
  h.header_size = kExtendedHeaderSize;
  h.typesize = h.full_typesize = std::array{1, 2, 4, 8}[input.byte() % 4];
  h.block_shape = BlockShape(extents);
  const std::int64_t block = h.block_shape.block_size(h.typesize);
  h.nbytes = h.blocksize =
      static_cast<std::int32_t>(std::clamp<std::int64_t>(block, h.typesize, 1 << 20));
  h.block_count = 1;
  h.codec = std::array{CodecId::ndlz, CodecId::zfp_accuracy, CodecId::zfp_precision,
                       CodecId::zfp_rate, CodecId::lz4}[input.byte() % 5];
  h.codec_meta = input.byte();
  const std::uint8_t choice = input.byte();
  h.dont_split = choice % 2 == 0;
  h.filters[4] = {std::array{FilterId::none, FilterId::ndcell, FilterId::ndmean}[choice / 2 % 3],
                  input.byte()};
  if (choice >= 128) h.filters[5].id = FilterId::shuffle;
  const std::vector<std::uint8_t> chunk = chunk_of(h, input.bytes(size));
  const std::vector<std::uint8_t> contents = decode(chunk, h.full_typesize, h.block_shape);
  if (!contents.empty()) encode_again(h, contents);
  return 0;
}
