#pragma once
// Bytes that were written to a file and are not committed yet, by their offset in the file.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "codec/bytes.hpp"
#include "codec/chunk.hpp"
#include "fs/support/pooled_buffer.hpp"

namespace bloscfs::fs {

/// Bytes, and ranges of zeros, that hide the bytes below them. Not thread-safe.
class ByteOverlay {
 public:
  /// A cell is the range of the file between two multiples of `cell_size`. Written bytes are stored
  /// in extents, each within one cell. Their memory comes from `pages`, which outlives them.
  ByteOverlay(PagePool& pages, std::int64_t cell_size) : pages_(&pages), cell_size_(cell_size) {}

  void write(std::int64_t offset, codec::Bytes bytes);
  /// Writes the bytes. Takes over their memory if they begin a cell, have at least a quarter of its
  /// size, and no other written bytes of the cell stay behind them.
  void write(std::int64_t offset, PooledBuffer& bytes);
  /// Makes a range read as zeros. Costs one entry, whatever the size of the range.
  void zero(std::int64_t offset, std::int64_t size);
  /// Discards everything from `size` on.
  void truncate(std::int64_t size);
  /// Applies all changes of `upper` on top of this overlay.
  void merge(const ByteOverlay& upper);
  /// Removes and returns all ranges of zeros, and the first written extents until these have at
  /// least `least` bytes.
  ByteOverlay split_off_first(std::size_t least);

  PagePool& pages() const { return *pages_; }
  bool empty() const { return extents_.empty() && zeros_.empty(); }
  /// Bytes of memory that the overlay uses, including its own tables.
  std::size_t memory() const { return memory_; }

  /// Copies the overlay's bytes and zeros in [offset, offset + out.size()) into `out`.
  void apply(std::int64_t offset, codec::MutableBytes out) const;
  bool touches(std::int64_t offset, std::int64_t size) const;
  /// Returns the offset of the first written byte from `offset` on.
  std::optional<std::int64_t> next_written(std::int64_t offset) const;
  /// Returns the end of the range of zeros that contains `offset`, or `offset` if there is none.
  /// Written bytes may lie over the zeros.
  std::int64_t end_of_zeros(std::int64_t offset) const;
  /// Returns the range's bytes if one extent has all of them, else nothing. Valid until the next
  /// change.
  codec::Bytes extent(std::int64_t offset, std::int64_t size) const;

  /// A written extent, or a range of zeros if `bytes` is null.
  struct Part {
    std::int64_t offset;
    std::int64_t size;
    const std::uint8_t* bytes;
  };
  /// Calls visit(part) for the overlay's parts of a range. Zeros come first, then the extents that
  /// lie over them, each in ascending order.
  void for_each(std::int64_t offset, std::int64_t size,
                const std::function<void(const Part&)>& visit) const;

 private:
  using Extents = std::map<std::int64_t, PooledBuffer>;
  using Zeros = std::map<std::int64_t, std::int64_t>;  ///< begin to end; disjoint, not adjacent

  void write_in_cell(std::int64_t offset, codec::Bytes bytes, std::int64_t cell_end);
  Extents::iterator extent_to_grow(std::int64_t offset, std::int64_t cell_begin);
  void remove_extents(std::int64_t begin, std::int64_t end);
  void grow(PooledBuffer& bytes, std::size_t size, std::size_t limit);
  Extents::iterator erase(Extents::iterator extent);
  Extents::const_iterator first_extent(std::int64_t offset) const;
  Zeros::const_iterator first_zeros(std::int64_t offset) const;

  PagePool* pages_;
  std::int64_t cell_size_;
  Extents extents_;
  Zeros zeros_;
  std::size_t memory_ = 0;
};

}  // namespace bloscfs::fs
