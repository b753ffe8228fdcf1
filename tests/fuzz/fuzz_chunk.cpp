// Arbitrary bytes as a chunk, which is opened, and decoded block by block if the blocks are small.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "codec/block_decoder.hpp"
#include "codec/error.hpp"

namespace {

using namespace bloscfs::codec;

constexpr std::int64_t kMaxDecodeMemory = 8 << 20;
constexpr std::int32_t kMaxBlocks = 64;

std::vector<std::uint8_t> decode_block(BlockDecoder& decoder, const Chunk& chunk, Bytes input,
                                       std::int32_t block, Bytes reference) {
  const ByteRange stored = chunk.block_stored(block);
  std::vector<std::uint8_t> out(static_cast<std::size_t>(chunk.block_content(block).size));
  decoder.decode(
      chunk, block,
      input.subspan(static_cast<std::size_t>(stored.offset), static_cast<std::size_t>(stored.size)),
      reference, out);
  return out;
}

void decode_blocks(const Chunk& chunk, Bytes input) {
  if (chunk.decode_memory() > kMaxDecodeMemory) return;
  BlockDecoder decoder;
  std::vector<std::uint8_t> reference;
  for (std::int32_t block = 0; block < std::min(chunk.block_count(), kMaxBlocks); ++block) {
    try {
      const bool needs = chunk.needs_reference(block);
      if (needs && reference.empty()) reference = decode_block(decoder, chunk, input, 0, {});
      decode_block(decoder, chunk, input, block, needs ? Bytes(reference) : Bytes());
    } catch (const Error&) {  // a bad block does not affect the next one
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The container's item size does not depend on the chunk. The first byte chooses it.
  if (size == 0) return 0;
  const std::int32_t typesize = data[0] < 128 ? data[0] : data[0] * 100;
  const Bytes input(data + 1, size - 1);
  try {
    decode_blocks(open_chunk(input, typesize), input);
  } catch (const Error&) {  // expected for damaged input
  }
  return 0;
}
