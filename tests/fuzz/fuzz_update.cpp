// Arbitrary bytes as a chunk in which blocks are replaced. Those blocks must then have the new
// contents.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "codec/block_decoder.hpp"
#include "codec/chunk_encoder.hpp"
#include "codec/error.hpp"
#include "tests/support/decode_chunk.hpp"

namespace {

using namespace bloscfs::codec;

constexpr std::int32_t kMaxNbytes = 1 << 20;

EncodeSettings settings_for(std::uint8_t choice, std::int32_t typesize) {
  EncodeSettings settings;
  settings.codec = static_cast<CodecId>(choice % 3);
  settings.clevel = choice / 3 % 10;
  settings.typesize = typesize;
  settings.filters[5].id = static_cast<FilterId>(choice / 32 % 4);
  return settings;
}

void check_block(Bytes stored, std::int32_t typesize, ByteRange range, std::uint8_t expected) {
  BlockDecoder decoder;
  std::vector<std::uint8_t> contents;
  try {
    contents = bloscfs::test::decode_chunk(stored, typesize, kMaxNbytes, decoder);
  } catch (const Error&) {  // other blocks may be as damaged as before
    return;
  }
  const auto begin = contents.begin() + range.offset;
  if (std::any_of(begin, begin + range.size, [&](std::uint8_t byte) { return byte != expected; }))
    std::abort();
}

bool is_lossy(const ChunkHeader& header) {
  return header.has_filter(FilterId::trunc_prec) || header.has_filter(FilterId::int_trunc);
}

void update(Bytes input, std::uint8_t choice, std::int32_t typesize) {
  const Chunk chunk = open_chunk(input, typesize);
  if (chunk.nbytes() == 0 || chunk.nbytes() > kMaxNbytes || is_lossy(chunk.header())) return;
  const std::int32_t block = choice % chunk.block_count();
  const ByteRange range = chunk.block_content(block);
  const std::vector<std::uint8_t> contents(static_cast<std::size_t>(range.size), choice);
  const BlockUpdate change{block, contents};
  ChunkEncoder encoder(settings_for(choice, chunk.header().full_typesize));
  const EncodedChunk result = encoder.update(chunk, input, {&change, 1});
  if (result.special == SpecialValue::none) {
    check_block(result.bytes, chunk.header().full_typesize, range, choice);
  } else if (result.special == SpecialValue::zero && choice != 0) {
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The whole input is the chunk, so that chunks can be seeds. Its last byte also chooses the
  // update.
  if (size == 0) return 0;
  const std::uint8_t choice = data[size - 1];
  try {
    update(Bytes(data, size), choice, choice % 8 == 0 ? choice * 100 : 0);
  } catch (const Error&) {  // expected for damaged input
  }
  return 0;
}
