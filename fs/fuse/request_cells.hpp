#pragma once
// Reads requests of the kernel such that the bytes of a write already lie in cells of dirty data.
// They need not be copied there.

#include <cstddef>
#include <span>
#include <vector>

#include <sys/types.h>

#include "fs/support/pooled_buffer.hpp"

namespace bloscfs::fs {

/// The largest read or write of one request: 256 pages, the kernel's limit.
inline constexpr std::size_t kRequestSize = std::size_t{1} << 20;

/// Reads requests one after another. For one thread.
class RequestCells {
 public:
  /// `pages` provides the cells, and outlives this object.
  explicit RequestCells(PagePool& pages) : pages_(pages) {}

  /// Reads a request from the kernel's device, as read(2) does. Puts all but the bytes in cells
  /// into `buffer`; without memory for cells, the whole request. Throws nothing, but must not be
  /// noexcept: libfuse cancels its threads here, which unwinds their stacks.
  ssize_t read(int fd, codec::MutableBytes buffer);

  /// Returns the bytes of the last write request, in cells that are full except for the last one.
  /// Empty if the bytes are in the buffer. A caller that takes a cell leaves an empty one in its
  /// place.
  std::span<PooledBuffer> written() { return std::span(cells_).first(filled_); }

 private:
  bool make_room() noexcept;
  ssize_t read_with_cells(int fd, std::uint8_t* buffer);
  void move_to(std::uint8_t* buffer, std::size_t size) const;
  void keep(std::size_t size);

  PagePool& pages_;
  std::vector<PooledBuffer> cells_;
  std::size_t filled_ = 0;  ///< cells with bytes of a write
  int timeout_ = 0;         ///< number of further requests to read with cells
};

}  // namespace bloscfs::fs
