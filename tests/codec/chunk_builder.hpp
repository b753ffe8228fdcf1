#pragma once
// Builds chunks byte by byte, so that tests can set every field.

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "codec/chunk_format.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

using Steps = std::vector<std::pair<codec::FilterId, std::uint8_t>>;

/// Header fields of a chunk. The builder adds sizes and block starts.
struct ChunkPlan {
  std::uint8_t version = 5;
  std::uint8_t flags = 0x15;  ///< extended header, not split, BloscLZ
  std::uint8_t typesize = 1;
  std::int32_t nbytes = 0;
  std::int32_t blocksize = 0;
  Steps filters;  ///< placed in the last of the six slots
  std::uint8_t codec_id = 0;
  std::uint8_t flags2 = 0;
  std::uint8_t blosc2_flags = 0;
  ByteVector dictionary;  ///< stored if `blosc2_flags` says so
};

/// Returns the first 16 or 32 bytes, as the flags say.
ByteVector build_header(const ChunkPlan& plan, std::int32_t cbytes);
/// Returns a chunk with block starts. `blocks` has the stored bytes of each block.
ByteVector build_chunk(const ChunkPlan& plan, const std::vector<ByteVector>& blocks);
/// These return a stream with its size in front: uncompressed bytes, zeros, or a run of one byte.
ByteVector raw_stream(const ByteVector& contents);
ByteVector zero_stream();
ByteVector run_stream(std::uint8_t byte);
/// Returns a codec's stream with its size in front.
ByteVector coded_stream(const ByteVector& stream);

void append(ByteVector& to, const ByteVector& more);
void append_int32(ByteVector& to, std::int32_t value);
void put_int32(ByteVector& in, std::size_t offset, std::int32_t value);
/// Returns the same noise for the same seed.
ByteVector noise(std::size_t size, std::uint32_t seed = 1);
/// Returns contents that compress: as 4-byte items, they change in small steps.
ByteVector walk(std::size_t size, std::uint32_t seed = 1);

/// Returns the contents that decode_chunk() gives with a new decoder, at most 64 MiB.
ByteVector decode(const ByteVector& chunk, std::int32_t full_typesize = 0);
/// These return what() of the Error that decode() throws with that code; an empty string if it
/// throws none, or one with another code.
std::string malformed(const ByteVector& chunk, std::int32_t full_typesize = 0);
std::string unsupported(const ByteVector& chunk, std::int32_t full_typesize = 0);

}  // namespace bloscfs::test
