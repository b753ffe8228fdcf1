#include "tests/tools/hostile_frames.hpp"

#include <algorithm>
#include <stdexcept>

#include "tests/support/frame_writer.hpp"

namespace bloscfs::test {
namespace {

constexpr std::int64_t kMi = std::int64_t{1} << 20, kGi = kMi << 10;
constexpr std::int64_t kLargestBlock = 0x1FFFF000;
/// Index entries: a chunk of zeros, and the chunk at offset 0.
const ByteVector kZeroEntries{0, 0, 0, 0, 0, 0, 0, 0x81}, kFirstChunk(8, 0);

ByteVector zero_entry() { return {0, 0, 0, 0, 0, 0, 0, 0x81}; }

/// Makes nearly the largest number of vlmetalayers, all with the same stored bytes.
Metalayers many_layers(const ByteVector& chunk) {
  Metalayers layers;
  for (int i = 0; i < 8000; i++) layers.emplace_back("m" + std::to_string(i), chunk);
  return layers;
}

FramePlan plan_of(std::int64_t chunks, std::int64_t chunksize, std::int64_t blocksize) {
  FramePlan plan;
  plan.nbytes = chunks * chunksize;
  plan.chunksize = static_cast<std::size_t>(chunksize);
  plan.blocksize = static_cast<std::size_t>(blocksize);
  return plan;
}

/// Makes a frame whose index entries all name the same stored chunk.
ByteVector same_chunk_frame(std::int64_t chunks, const ByteVector& chunk, std::int64_t chunksize,
                            std::int64_t blocksize) {
  return encode_frame_around(
      plan_of(chunks, chunksize, blocksize), chunk,
      encode_run_chunk(kFirstChunk, 8 * chunks, 8 * std::min(chunks, kMi / 8)));
}

HostileFrame terabytes_of_zeros() {
  const std::int64_t chunks = kMi;
  return {"zeros.b2frame", encode_frame_around(plan_of(chunks, kGi, kMi), {},
                                               encode_repeated_chunk(zero_entry(), 8 * chunks))};
}

HostileFrame one_block_of_index() {
  return {"index_block.b2frame",
          encode_frame_around(plan_of(kLargestBlock / 8, kGi, kMi), {},
                              encode_run_chunk(kZeroEntries, kLargestBlock, kLargestBlock))};
}

HostileFrame many_blocks_of_index() {
  const std::int64_t block = 40 * kMi, count = 50;
  return {"index_pages.b2frame",
          encode_frame_around(plan_of(count * block / 8, kGi, kMi), {},
                              encode_run_chunk(kZeroEntries, count * block, block))};
}

/// Each chunk is a single block of 512 MiB.
HostileFrame large_blocks() {
  return {"large_blocks.b2frame",
          same_chunk_frame(65536, encode_run_chunk({7}, kLargestBlock, kLargestBlock),
                           kLargestBlock, kLargestBlock),
          kLargestBlock};
}

HostileFrame many_blocks() {
  const std::int64_t block = 100 * kMi;
  return {"many_blocks.b2frame",
          same_chunk_frame(1000, encode_run_chunk({7}, 20 * block, block), 20 * block, block),
          block};
}

HostileFrame millions_of_chunks() {
  return {"chunks.b2frame",
          same_chunk_frame(std::int64_t{1} << 26, encode_run_chunk({7}, kMi, kMi), kMi, kMi), kMi};
}

/// Makes vlmetalayers of 1 MiB of MessagePack each. Depending on `byte` they hold empty arrays,
/// which take much memory as JSON, or deeply nested ones.
HostileFrame metalayers(const char* name, std::uint8_t byte) {
  FramePlan plan = plan_of(0, 1, 1);
  plan.vlmetalayers = many_layers(encode_repeated_chunk({byte}, kMi));
  plan.has_encoded_vlmetalayers = true;
  return {name, encode_frame_around(plan, {}, {})};
}

}  // namespace

std::vector<HostileFrame> hostile_frames() {
  constexpr std::uint8_t kEmptyArray = 0x90, kArrayOfOne = 0x91;
  return {terabytes_of_zeros(),
          one_block_of_index(),
          many_blocks_of_index(),
          large_blocks(),
          many_blocks(),
          millions_of_chunks(),
          metalayers("metalayers.b2frame", kEmptyArray),
          metalayers("nested_metalayers.b2frame", kArrayOfOne)};
}

HostileFrame hostile_frame(const std::string& name) {
  for (HostileFrame& frame : hostile_frames())
    if (frame.name == name) return std::move(frame);
  throw std::logic_error("no hostile frame " + name);
}

}  // namespace bloscfs::test
