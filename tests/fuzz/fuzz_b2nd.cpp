// A b2nd metalayer of arbitrary bytes, in a frame whose fields are the first bytes of the input;
// and arithmetic on arrays that the parser accepts.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "frame/array/array_geometry.hpp"
#include "frame/header/b2nd.hpp"
#include "tests/fuzz/frame_walk.hpp"

namespace {

using namespace bloscfs::frame;

/// The sizes of typesize, chunksize, blocksize (4 bytes each) and nbytes (8).
constexpr std::size_t kFrameFields = 20;
constexpr std::int64_t kMaxRange = 4096;

void check(bool holds) {
  if (!holds) std::abort();
}

void check_range(const ArrayGeometry& geometry, std::int64_t offset) {
  const std::int64_t length = std::min(kMaxRange, geometry.nbytes() - offset);
  std::int64_t found = 0;
  geometry.for_each_block(offset, length, [&](const ArrayGeometry::BlockPart& part) {
    part.for_each_run([&](const ArrayGeometry::Run& run) {
      check(run.length > 0 && run.in_block >= 0 && run.in_block + run.length <= part.block_size);
      check(run.array_offset >= offset && run.array_offset + run.length <= offset + length);
      found += run.length;
    });
  });
  check(found == length);
  check(geometry.chunk_run(offset).end > offset);
  const ArrayGeometry::Slab slab = geometry.slab_at(offset);
  check(slab.begin <= offset && offset < slab.end);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < kFrameFields) return 0;
  FrameInfo frame;
  std::memcpy(&frame.typesize, data, 4);
  std::memcpy(&frame.chunksize, data + 4, 4);
  std::memcpy(&frame.blocksize, data + 8, 4);
  std::memcpy(&frame.nbytes, data + 12, 8);
  if (frame.typesize <= 0 || frame.nbytes < 0) return 0;  // frame headers refuse such values
  fuzz::tolerate([&] {
    const ArrayInfo array = parse_b2nd({data + kFrameFields, size - kFrameFields}, frame);
    const ArrayGeometry geometry(array, frame.typesize);
    if (geometry.nbytes() == 0) return;
    for (const std::int64_t offset :
         {std::int64_t{0}, geometry.nbytes() / 2, geometry.nbytes() - 1})
      check_range(geometry, offset);
  });
  return 0;
}
