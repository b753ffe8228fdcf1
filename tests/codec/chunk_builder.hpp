#pragma once
// Puts chunks together byte by byte, so that tests decide every field.

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "codec/chunk_format.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

using Steps = std::vector<std::pair<codec::FilterId, std::uint8_t>>;

/// Header fields of a chunk; the builder adds sizes and starts.
struct ChunkPlan {
  std::uint8_t version = 5;
  std::uint8_t flags = 0x15;  ///< extended header, not split, BloscLZ
  std::uint8_t typesize = 1;
  std::int32_t nbytes = 0;
  std::int32_t blocksize = 0;
  Steps filters;  ///< the last ones of the six slots
  std::uint8_t codec_id = 0;
  std::uint8_t flags2 = 0;
  std::uint8_t blosc2_flags = 0;
  ByteVector dictionary;  ///< stored when the plan's flag says so
};

/// The first 16 or 32 bytes, as the flags say.
ByteVector build_header(const ChunkPlan& plan, std::int32_t cbytes);
/// A chunk with block starts; `blocks` are the stored bytes of each block.
ByteVector build_chunk(const ChunkPlan& plan, const std::vector<ByteVector>& blocks);
/// A stream stored as it is, zero, or run of a byte, with its size in front.
ByteVector raw_stream(const ByteVector& contents);
ByteVector zero_stream();
ByteVector run_stream(std::uint8_t byte);
/// A codec stream with its size in front.
ByteVector coded_stream(const ByteVector& stream);

void append(ByteVector& to, const ByteVector& more);
void append_int32(ByteVector& to, std::int32_t value);
void put_int32(ByteVector& in, std::size_t offset, std::int32_t value);
/// Reproducible noise.
ByteVector noise(std::size_t size, std::uint32_t seed = 1);
/// Contents that compress: small steps, seen as 4-byte items.
ByteVector walk(std::size_t size, std::uint32_t seed = 1);

/// Contents by decode_chunk with a fresh decoder and at most 64 MiB.
ByteVector decode(const ByteVector& chunk, std::int32_t full_typesize = 0);
/// what() of the Error that decode() throws with `code`; empty when it throws none, or another.
std::string malformed(const ByteVector& chunk, std::int32_t full_typesize = 0);
std::string unsupported(const ByteVector& chunk, std::int32_t full_typesize = 0);

}  // namespace bloscfs::test
