#pragma once
// Cuts an array, in C or Fortran order, into the padded and blocked contents of its chunks
// (frame/formats/b2nd.md, "Geometry"). ArrayGeometry maps in the other direction. Pure.

#include <cstdint>
#include <vector>

#include "codec/bytes.hpp"
#include "frame/container/frame_info.hpp"

namespace bloscfs::frame::inline array {

class ArrayCutter {
 public:
  /// The shapes must be valid for a frame, as array_sizes() checks.
  ArrayCutter(const ArrayInfo& array, std::int32_t typesize);

  std::int64_t chunk_count() const;
  /// Returns the bytes of the contents of every chunk.
  std::int64_t chunksize() const { return chunksize_; }

  /// True if the chunks, in order, hold consecutive ranges of the array's bytes.
  bool cuts_runs() const { return cuts_runs_; }
  /// True if cuts_runs(), and each chunk's contents hold its range in order, followed by zeros for
  /// padding.
  bool keeps_order() const { return keeps_order_; }

  /// The range of the array that holds a chunk's bytes. With cuts_runs() the chunk has all bytes of
  /// the range.
  struct Range {
    std::int64_t begin, end;
    std::size_t size() const { return static_cast<std::size_t>(end - begin); }
  };
  Range range(std::int64_t chunk) const;

  /// Fills `out`, of chunksize() bytes, with the contents of a chunk. `part` holds the array's
  /// bytes in range(chunk).
  void cut(std::int64_t chunk, codec::Bytes part, codec::MutableBytes out) const;

 private:
  /// One dimension. The last one counts bytes, the others count items.
  struct Dimension {
    std::int64_t shape, chunk, block;
    std::int64_t padded;        ///< chunk, rounded up to whole blocks
    std::int64_t chunks;        ///< along this dimension
    std::int64_t array_stride;  ///< bytes from one index to the next
    std::int64_t block_stride;  ///< bytes from one index to the next inside a block
    std::int64_t next_block;    ///< bytes from one block to the next in the chunk's contents
  };
  struct Span {
    std::int64_t first, count;  ///< the part of a chunk that is inside the array
  };

  void merge_whole_dimensions();
  void set_strides();
  void set_fortran_strides();
  void recognise_runs();
  std::vector<Span> spans(std::int64_t chunk) const;
  void copy(std::size_t dimension, const std::vector<Span>& spans, const std::uint8_t* from,
            std::uint8_t* to) const;
  void copy_run(const Dimension& last, std::int64_t count, const std::uint8_t* from,
                std::uint8_t* to) const;

  std::vector<Dimension> dimensions_;  ///< at least one
  std::int64_t chunksize_ = 0;
  bool cuts_runs_ = false;
  bool keeps_order_ = false;
};

}  // namespace bloscfs::frame::inline array
