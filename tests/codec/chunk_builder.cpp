#include "tests/codec/chunk_builder.hpp"

#include <boost/endian/conversion.hpp>

#include "codec/block_decoder.hpp"
#include "codec/error.hpp"
#include "tests/support/decode_chunk.hpp"

namespace bloscfs::test {
namespace {

std::string error_with(codec::FormatErrc code, const ByteVector& chunk, std::int32_t typesize) {
  try {
    decode(chunk, typesize);
  } catch (const codec::Error& error) {
    if (error.code() == codec::make_error_code(code)) return error.what();
  }
  return {};
}

}  // namespace

void append(ByteVector& to, const ByteVector& more) {
  to.insert(to.end(), more.begin(), more.end());
}

void put_int32(ByteVector& in, std::size_t offset, std::int32_t value) {
  boost::endian::store_little_s32(in.data() + offset, value);
}

void append_int32(ByteVector& to, std::int32_t value) {
  to.resize(to.size() + 4);
  put_int32(to, to.size() - 4, value);
}

ByteVector build_header(const ChunkPlan& plan, std::int32_t cbytes) {
  ByteVector header{plan.version, 1, plan.flags, plan.typesize};
  for (const std::int32_t field : {plan.nbytes, plan.blocksize, cbytes})
    append_int32(header, field);
  if ((plan.flags & codec::kFlagExtendedHeader) != codec::kFlagExtendedHeader) return header;
  header.resize(32);
  const std::size_t first = 6 - plan.filters.size();
  for (std::size_t i = 0; i < plan.filters.size(); ++i) {
    header[16 + first + i] = static_cast<std::uint8_t>(plan.filters[i].first);
    header[24 + first + i] = plan.filters[i].second;
  }
  header[22] = plan.codec_id;
  header[30] = plan.flags2;
  header[31] = plan.blosc2_flags;
  return header;
}

ByteVector build_chunk(const ChunkPlan& plan, const std::vector<ByteVector>& blocks) {
  ByteVector chunk = build_header(plan, 0);
  ByteVector behind_starts;
  if ((plan.blosc2_flags & codec::kBlosc2Dictionary) != 0) {
    append_int32(behind_starts, static_cast<std::int32_t>(plan.dictionary.size()));
    append(behind_starts, plan.dictionary);
  }
  std::size_t start = chunk.size() + 4 * blocks.size() + behind_starts.size();
  for (const ByteVector& block : blocks) {
    append_int32(chunk, static_cast<std::int32_t>(start));
    start += block.size();
  }
  append(chunk, behind_starts);
  for (const ByteVector& block : blocks) append(chunk, block);
  put_int32(chunk, 12, static_cast<std::int32_t>(chunk.size()));
  return chunk;
}

ByteVector coded_stream(const ByteVector& stream) {
  ByteVector bytes;
  append_int32(bytes, static_cast<std::int32_t>(stream.size()));
  append(bytes, stream);
  return bytes;
}

ByteVector raw_stream(const ByteVector& contents) { return coded_stream(contents); }

ByteVector zero_stream() { return ByteVector(4); }

ByteVector run_stream(std::uint8_t byte) {
  ByteVector bytes;
  append_int32(bytes, -std::int32_t{byte});
  bytes.push_back(1);
  return bytes;
}

ByteVector noise(std::size_t size, std::uint32_t seed) {
  ByteVector bytes(size);
  std::uint64_t state = seed * 0x9E3779B97F4A7C15ULL + 1;
  for (auto& byte : bytes) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    byte = static_cast<std::uint8_t>(state >> 56);
  }
  return bytes;
}

ByteVector walk(std::size_t size, std::uint32_t seed) {
  ByteVector bytes(size + 4);
  const ByteVector steps = noise(size / 4 + 1, seed);
  std::int32_t value = 0x01020304;
  for (std::size_t i = 0; i < size; i += 4) {
    value += steps[i / 4] % 8;
    put_int32(bytes, i, value);
  }
  bytes.resize(size);
  return bytes;
}

ByteVector decode(const ByteVector& chunk, std::int32_t full_typesize) {
  codec::BlockDecoder decoder;
  return decode_chunk(chunk, full_typesize, std::size_t{64} << 20, decoder);
}

std::string malformed(const ByteVector& chunk, std::int32_t full_typesize) {
  return error_with(codec::FormatErrc::malformed, chunk, full_typesize);
}

std::string unsupported(const ByteVector& chunk, std::int32_t full_typesize) {
  return error_with(codec::FormatErrc::unsupported, chunk, full_typesize);
}

}  // namespace bloscfs::test
