#include "frame/editing/special_chunk.hpp"

#include <algorithm>

#include <boost/endian/conversion.hpp>

#include "codec/encode_settings.hpp"
#include "codec/special_value.hpp"

namespace bloscfs::frame::inline editing {
namespace {

using Buffer = std::vector<std::uint8_t>;

/// Shorter chunks are stored uncompressed.
constexpr std::int32_t kMinEncodedNbytes = 32;

codec::ChunkHeader plan(std::int32_t nbytes, const FrameInfo& frame) {
  codec::EncodeSettings settings;
  settings.typesize = frame.typesize;
  settings.blocksize = frame.blocksize;
  settings.split = codec::SplitMode::never;
  return codec::plan_chunk(settings, nbytes);
}

Buffer finish(codec::ChunkHeader header, const Buffer& payload) {
  header.cbytes = header.header_size + static_cast<std::int32_t>(payload.size());
  const auto head = codec::serialize_chunk_header(header);
  Buffer chunk(head.size() + payload.size());
  std::copy(payload.begin(), payload.end(), std::copy(head.begin(), head.end(), chunk.begin()));
  return chunk;
}

Buffer repeat(const Buffer& item, codec::ChunkHeader header) {
  header.special = codec::SpecialValue::value;
  return finish(header, item);
}

/// Makes a chunk with one empty stream for each block, which decodes to zeros.
Buffer blocks_of_zeros(codec::ChunkHeader header) {
  constexpr std::size_t kStart = 4, kEmptyStream = 4;
  const auto blocks = static_cast<std::size_t>(header.block_count);
  if (header.nbytes < kMinEncodedNbytes) {
    header.memcpyed = true;
    return finish(header, Buffer(static_cast<std::size_t>(header.nbytes)));
  }
  Buffer payload((kStart + kEmptyStream) * blocks);
  for (std::size_t block = 0; block < blocks; ++block)
    boost::endian::store_little_u32(
        &payload[kStart * block],
        static_cast<std::uint32_t>(codec::kChunkHeaderBytes + kStart * blocks +
                                   kEmptyStream * block));
  return finish(header, payload);
}

}  // namespace

Buffer store_special(codec::SpecialValue value, std::int32_t nbytes, const FrameInfo& frame) {
  const codec::ChunkHeader header = plan(nbytes, frame);
  if (value == codec::SpecialValue::nan) {
    const codec::Bytes item = codec::special_pattern(value, frame.typesize);
    return repeat({item.begin(), item.end()}, header);
  }
  if (nbytes % frame.typesize != 0) return blocks_of_zeros(header);
  return repeat(Buffer(static_cast<std::size_t>(frame.typesize)), header);
}

}  // namespace bloscfs::frame::inline editing
