#include "fs/content/chunk_sums.hpp"

#include <set>

namespace bloscfs::fs {
namespace {

bool has_same_layout(const FileView& one, const FileView& other) {
  const frame::FrameInfo& a = one.reader().snapshot().info();
  const frame::FrameInfo& b = other.reader().snapshot().info();
  const auto shapes_are_equal = [&] {
    if (!a.array || !b.array) return !a.array && !b.array;
    return a.array->shape == b.array->shape && a.array->chunkshape == b.array->chunkshape &&
           a.array->blockshape == b.array->blockshape &&
           a.array->fortran_order == b.array->fortran_order;
  };
  return a.nbytes == b.nbytes && a.nchunks == b.nchunks && a.chunksize == b.chunksize &&
         a.blocksize == b.blocksize && a.typesize == b.typesize && shapes_are_equal() &&
         one.shape().is_array == other.shape().is_array &&
         one.shape().header == other.shape().header;
}

}  // namespace

std::optional<ChunkSum> sum_of_chunk(Request& request, const FileView& view, std::int64_t chunk) {
  const auto opened = view.reader().open_chunk(request, chunk);
  if (opened->place.special != codec::SpecialValue::none) return ChunkSum{opened->place.special, 0};
  if (opened->chunk.header().cbytes > kMostSummedBytes) return std::nullopt;
  return ChunkSum{codec::SpecialValue::none, view.reader().snapshot().checksum_of_stored(*opened)};
}

std::optional<ChunkSums> combinable_chunks(Request& request, const Layer& layer,
                                           const FileView& before, const ChunkSums& sums,
                                           const FileView& next) {
  if (layer.lower_end != Layer::kNoEnd || !has_same_layout(before, next)) return std::nullopt;
  std::set<std::int64_t> changed;
  bool are_known = true;
  layer.bytes.for_each(0, before.size(), [&](const ByteOverlay::Part& part) {
    are_known = are_known && before.add_chunks_of(part.offset, part.size, kMostSums, changed);
  });
  if (!are_known) return std::nullopt;
  ChunkSums same;
  for (const std::int64_t chunk : changed) {
    // With no checksum of its old state, or another one in `next`, the chunk may have changed.
    const auto known = sums.find(chunk);
    if (known == sums.end() || known->second != sum_of_chunk(request, next, chunk))
      return std::nullopt;
    same.insert(*known);
  }
  return same;
}

}  // namespace bloscfs::fs
