#pragma once
// Requests of the kernel, read so that what a write brings lies in cells of dirty data already and
// need not be copied there.

#include <cstddef>
#include <span>
#include <vector>

#include <sys/types.h>

#include "fs/support/pooled_buffer.hpp"

namespace bloscfs::fs {

/// The most that one request reads or writes: 256 pages, the most that the kernel asks for.
inline constexpr std::size_t kRequestSize = std::size_t{1} << 20;

/// Reads one request after the other. For one thread.
class RequestCells {
 public:
  /// `pages` outlives it, and has the cells.
  explicit RequestCells(PagePool& pages) : pages_(pages) {}

  /// As read(2) from the kernel's device; all of a request but what lies in cells is in `buffer`.
  /// All of it is there where there is no memory for cells. Throws nothing, but must not be
  /// noexcept: libfuse ends its threads by cancelling them here, which unwinds their stacks.
  ssize_t read(int fd, codec::MutableBytes buffer);

  /// The bytes of the write request that was read last: cells that are full but for the last one.
  /// Empty where the buffer has the bytes. Whoever takes a cell leaves an empty one.
  std::span<PooledBuffer> written() { return std::span(cells_).first(filled_); }

 private:
  bool make_room() noexcept;
  ssize_t read_with_cells(int fd, std::uint8_t* buffer);
  void move_to(std::uint8_t* buffer, std::size_t size) const;
  void keep(std::size_t size);

  PagePool& pages_;
  std::vector<PooledBuffer> cells_;
  std::size_t filled_ = 0;  ///< cells that have the bytes of a write
  int timeout_ = 0;         ///< requests for which there shall be cells
};

}  // namespace bloscfs::fs
