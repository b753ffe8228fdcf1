#pragma once
// Turns an array, whose elements are in C order or in Fortran order as it says, into the contents
// of its chunks: padded, and blocked (frame/formats/b2nd.md, "Geometry"). The counterpart of
// ArrayGeometry for whole chunks. Pure.

#include <cstdint>
#include <vector>

#include "codec/bytes.hpp"
#include "frame/container/frame_info.hpp"

namespace bloscfs::frame::inline array {

class ArrayCutter {
 public:
  /// The shapes are those of a frame, as array_sizes() accepts them.
  ArrayCutter(const ArrayInfo& array, std::int32_t typesize);

  std::int64_t chunk_count() const;
  /// Bytes of the contents of every chunk.
  std::int64_t chunksize() const { return chunksize_; }

  /// True if chunk after chunk has the array's bytes from begin to end.
  bool cuts_runs() const { return cuts_runs_; }
  /// True if, besides, they stand in that order in the chunk's contents, with zeros behind them
  /// where there is padding.
  bool keeps_order() const { return keeps_order_; }

  /// Where the array's bytes that a chunk has begin and end; with cuts_runs() it has all between.
  struct Range {
    std::int64_t begin, end;
    std::size_t size() const { return static_cast<std::size_t>(end - begin); }
  };
  Range range(std::int64_t chunk) const;

  /// Fills `out`, of chunksize() bytes, with the contents of a chunk; `part` is the array's bytes
  /// in range(chunk).
  void cut(std::int64_t chunk, codec::Bytes part, codec::MutableBytes out) const;

 private:
  /// One dimension; all in bytes for the last one, in items for the others.
  struct Dimension {
    std::int64_t shape, chunk, block;
    std::int64_t padded;        ///< chunk, in whole blocks
    std::int64_t chunks;        ///< along this dimension
    std::int64_t array_stride;  ///< bytes from one index to the next
    std::int64_t block_stride;  ///< the same inside a block
    std::int64_t next_block;    ///< bytes from one block to the next in the chunk's contents
  };
  struct Span {
    std::int64_t first, count;  ///< what of a chunk lies inside the array
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
