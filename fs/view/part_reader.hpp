#pragma once
// Copies the bytes that a request wants of one block of an array to their places in the reply.

#include <cstdint>

#include "codec/bytes.hpp"
#include "frame/array/array_geometry.hpp"
#include "fs/view/block_reader.hpp"
#include "fs/view/read_request.hpp"

namespace bloscfs::fs {

/// Copies the wanted part of one block, on one thread. The constructor's arguments outlive it.
class PartReader {
 public:
  /// For `kept_by_kernel` see ReplyData.
  PartReader(const BlockReader& blocks, const frame::OpenedChunk& opened,
             const frame::ArrayGeometry::BlockPart& part, ReadRequest& request, bool kept_by_kernel)
      : blocks_(blocks),
        opened_(opened),
        part_(part),
        request_(request),
        kept_by_kernel_(kept_by_kernel) {}

  /// Fills the bytes of `out` that belong to the part. `out` begins at `offset` of the array.
  /// Throws the errors of FrameReader.
  void read(std::int64_t offset, codec::MutableBytes out);

 private:
  /// Gets the span that begins at that byte of the array's block. One block may need several spans,
  /// since the chunk may have smaller blocks than the array.
  void enter(std::int64_t in_block);
  /// Records how much of the present span has gone to the kernel.
  void leave() const;
  std::int64_t span_end() const { return span_begin_ + span_.size; }
  bool is_in_span(std::int64_t in_block) const {
    return in_block >= span_begin_ && in_block < span_end();
  }
  void copy_rows(const frame::ArrayGeometry::Rows& rows, std::uint8_t* to);
  void copy_run(const frame::ArrayGeometry::Run& run, codec::MutableBytes to);
  void count_given(std::int64_t size, std::int64_t end);

  const BlockReader& blocks_;
  const frame::OpenedChunk& opened_;
  const frame::ArrayGeometry::BlockPart& part_;
  ReadRequest& request_;
  const bool kept_by_kernel_;

  BlockReader::Span span_;
  std::int64_t span_begin_ = 0;  ///< in the block
  std::int64_t given_ = 0;       ///< bytes of the span that count as given to the kernel
};

}  // namespace bloscfs::fs
