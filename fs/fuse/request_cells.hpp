#pragma once
// Requests of the kernel, read so that what a write brings lies in cells of dirty data already and
// need not be copied there.

#include <cstddef>
#include <span>

#include <sys/types.h>

#include "fs/support/pooled_buffer.hpp"

namespace bloscfs::fs {

/// The most that one request reads or writes: 256 pages, the most that the kernel asks for.
inline constexpr std::size_t kRequestSize = std::size_t{1} << 20;

/// As read(2) from the kernel's device; all of a request but what lies in cells is in `buffer`.
ssize_t read_request(int fd, codec::MutableBytes buffer);

/// The bytes of the write request that this thread has read: cells that are full but for the last
/// one. Empty where the buffer has the bytes. Whoever takes a cell leaves an empty one.
std::span<PooledBuffer> written_cells();

}  // namespace bloscfs::fs
