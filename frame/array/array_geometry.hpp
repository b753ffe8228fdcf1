#pragma once
// Where the elements of an array lie in the chunks and blocks that it is stored in
// (frame/formats/b2nd.md, "Geometry"). Pure.

#include <cstdint>
#include <functional>
#include <vector>

#include "frame/container/frame_info.hpp"

namespace bloscfs::frame::inline array {

/// Maps byte ranges of the array, whose elements are in C order or in Fortran order as it says, to
/// where they lie in the padded, blocked storage, which always is in C order.
/// All extents are in bytes along the last dimension, in items along the others; those of an array
/// in Fortran order are reversed, but for the bytes of an item.
class ArrayGeometry {
 public:
  ArrayGeometry(const ArrayInfo& array, std::int32_t typesize);

  std::int64_t nbytes() const { return nbytes_; }  ///< of the array, without padding

  /// A run of bytes, contiguous both in the array and in one stored block.
  struct Run {
    std::int64_t array_offset;
    std::int64_t in_block;  ///< offset from the start of the block
    std::int64_t length;
  };
  /// Runs of one length that follow each other at equal distances.
  struct Rows {
    Run first;
    std::int64_t count;
    std::int64_t array_step, block_step;  ///< above 0; from the begin of one to that of the next

    Run last() const {
      return {first.array_offset + (count - 1) * array_step,
              first.in_block + (count - 1) * block_step, first.length};
    }
  };
  /// Part of the range that one block holds.
  struct BlockPart {
    std::int64_t chunk;         ///< chunk number in C order
    std::int64_t chunk_offset;  ///< of the block's first byte in the chunk's contents
    std::int64_t block_size;    ///< bytes
    std::int64_t used_size;     ///< bytes of the block that are the array's; the rest is padding
    std::int64_t used_end;      ///< end of the last of them, from the start of the block
    const std::vector<Rows>* rows;  ///< ascending in the array, in C order also in the block

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
  /// lie inside the array, in an order that ascends by chunk row, chunk and block along the array.
  void for_each_block(std::int64_t offset, std::int64_t length,
                      const std::function<void(const BlockPart&)>& visit) const;

  /// The chunk that holds array byte `offset`, and the end of the run of array bytes from there
  /// that the same chunk holds.
  struct ChunkRun {
    std::int64_t chunk;
    std::int64_t end;
  };
  ChunkRun chunk_run(std::int64_t offset) const;

  /// Chunks [first, last) that cover one slab: all chunks with the same first chunk index, and the
  /// array byte range [begin, end) of that slab. For skipping over empty slabs. In Fortran order
  /// such chunks do not follow each other: there it is a part of the run of one.
  struct Slab {
    std::int64_t first_chunk, last_chunk;
    std::int64_t begin, end;
  };
  Slab slab_at(std::int64_t offset) const;

 private:
  void set_steps();

  std::vector<std::int64_t> shape_, chunk_, block_;  ///< last dimension in bytes
  std::vector<std::int64_t> chunks_along_, blocks_along_, strides_;
  /// From one index to the next: of chunk numbers, of those of blocks in a chunk, of bytes in one.
  std::vector<std::int64_t> chunk_steps_, block_steps_, item_steps_;
  bool is_reversed_ = false;
  std::int64_t nbytes_ = 0;
  std::int64_t padded_chunk_size_ = 0;
  std::int64_t block_size_ = 0;
};

}  // namespace bloscfs::frame::inline array
