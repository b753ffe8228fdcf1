#pragma once
// Where the elements of an array are in the chunks and blocks that store it (frame/formats/b2nd.md,
// "Geometry"). Pure.

#include <cstdint>
#include <functional>
#include <vector>

#include "frame/container/frame_info.hpp"

namespace bloscfs::frame::inline array {

/// Maps byte ranges of the array to the padded, blocked storage. The array may be in C or Fortran
/// order; the storage is always in C order. Extents count bytes along the last dimension, and items
/// along the others. For an array in Fortran order the extents are reversed, except for the bytes
/// of an item.
class ArrayGeometry {
 public:
  ArrayGeometry(const ArrayInfo& array, std::int32_t typesize);

  std::int64_t nbytes() const { return nbytes_; }  ///< of the array, without padding

  /// A run of bytes that are contiguous both in the array and in one stored block.
  struct Run {
    std::int64_t array_offset;
    std::int64_t in_block;  ///< offset from the start of the block
    std::int64_t length;
  };
  /// Runs of equal length at equal distances.
  struct Rows {
    Run first;
    std::int64_t count;
    std::int64_t array_step, block_step;  ///< between the starts of two runs; above 0

    Run last() const {
      return {first.array_offset + (count - 1) * array_step,
              first.in_block + (count - 1) * block_step, first.length};
    }
  };
  /// The part of a range that one block holds.
  struct BlockPart {
    std::int64_t chunk;         ///< chunk number in C order
    std::int64_t chunk_offset;  ///< of the block's first byte in the chunk's contents
    std::int64_t block_size;    ///< bytes
    std::int64_t used_size;  ///< bytes of the block that belong to the array; the rest is padding
    std::int64_t used_end;   ///< end of the last of them, from the start of the block
    const std::vector<Rows>* rows;  ///< ascending in the array, and in C order also in the block

    /// Calls `use(run)` for each run, in order.
    template <typename Use>
    void for_each_run(Use use) const {
      for (const Rows& some : *rows) {
        Run run = some.first;
        for (std::int64_t i = 0; i < some.count; ++i) {
          use(static_cast<const Run&>(run));
          run.array_offset += some.array_step;
          run.in_block += some.block_step;
        }
      }
    }
  };
  /// Calls `visit` once for every block that holds bytes of [offset, offset + length), which must
  /// be inside the array. The order ascends along the array by chunk row, chunk and block.
  void for_each_block(std::int64_t offset, std::int64_t length,
                      const std::function<void(const BlockPart&)>& visit) const;

  /// The chunk that holds array byte `offset`, and the end of the run of array bytes from there
  /// that is in the same chunk.
  struct ChunkRun {
    std::int64_t chunk;
    std::int64_t end;
  };
  ChunkRun chunk_run(std::int64_t offset) const;

  /// The chunks [first_chunk, last_chunk) of one slab, and the slab's byte range [begin, end) in
  /// the array. A slab has all chunks with the same first chunk index. Callers use it to skip empty
  /// slabs. In Fortran order such chunks are not consecutive, and the slab is only part of one
  /// chunk's run.
  struct Slab {
    std::int64_t first_chunk, last_chunk;
    std::int64_t begin, end;
  };
  Slab slab_at(std::int64_t offset) const;

 private:
  void set_steps();

  std::vector<std::int64_t> shape_, chunk_, block_;  ///< last dimension in bytes
  std::vector<std::int64_t> chunks_along_, blocks_along_, strides_;
  /// Steps from one index to the next: in chunk numbers, in block numbers of a chunk, in bytes of a
  /// block.
  std::vector<std::int64_t> chunk_steps_, block_steps_, item_steps_;
  bool is_reversed_ = false;
  std::int64_t nbytes_ = 0;
  std::int64_t padded_chunk_size_ = 0;
  std::int64_t block_size_ = 0;
};

}  // namespace bloscfs::frame::inline array
