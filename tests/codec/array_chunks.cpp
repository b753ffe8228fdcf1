#include "tests/codec/array_chunks.hpp"

#include <numeric>

#include "codec/block_decoder.hpp"
#include "codec/error.hpp"
#include "tests/codec/encoding.hpp"

namespace bloscfs::test {

using codec::BlockShape;
using codec::CodecId;
using codec::EncodeSettings;

ByteVector decode_array(const ByteVector& chunk, std::int32_t typesize, const Extents& shape) {
  const codec::Chunk opened = codec::open_chunk(chunk, typesize, BlockShape(shape));
  ByteVector out(static_cast<std::size_t>(opened.nbytes()));
  codec::BlockDecoder().decode_all(opened, chunk, out);
  return out;
}

std::string array_refusal(const ByteVector& chunk, std::int32_t typesize, const Extents& shape) {
  try {
    decode_array(chunk, typesize, shape);
  } catch (const codec::Error& error) {
    return error.what();
  }
  return {};
}

codec::EncodeSettings array_settings(CodecId id, std::uint8_t meta, std::int32_t typesize,
                                     const Extents& shape,
                                     std::initializer_list<codec::FilterStep> filters) {
  EncodeSettings settings = make_settings(id, 5, typesize, filters);
  settings.codec_meta = meta;
  settings.block_shape = BlockShape(shape);
  settings.blocksize = static_cast<std::int32_t>(settings.block_shape.block_size(typesize));
  if (id == CodecId::ndlz && typesize > 1) settings.split = codec::SplitMode::always;
  return settings;
}

std::string problem_of(const EncodeSettings& settings) {
  try {
    check_settings(settings);
  } catch (const codec::Error& error) {
    return error.what();
  }
  return {};
}

ByteVector ascending(std::size_t size) {
  ByteVector bytes(size);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  return bytes;
}

}  // namespace bloscfs::test
