#include "fs/fuse/request_cells.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <new>

#include <linux/fuse.h>
#include <sys/uio.h>
#include <unistd.h>

namespace bloscfs::fs {
namespace {

constexpr std::size_t kHeaders = sizeof(fuse_in_header) + sizeof(fuse_write_in);
constexpr std::size_t kCells = kRequestSize / kCellSize;
/// Minimum size of a write for which cells pay off. Without cells, writes of 1 MiB to a frame of
/// LZ4-compressed floats take 5 to 11 % more of the daemon's processor time.
constexpr std::size_t kLargeWrite = kCellSize / 2;
/// After a large write, a thread provides cells for this many further requests.
constexpr int kTimeout = 64;

}  // namespace

bool RequestCells::make_room() noexcept {
  try {
    while (cells_.size() < kCells) cells_.emplace_back(pages_);
    for (PooledBuffer& cell : cells_) cell.room_for(kCellSize);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

/// Reads the headers into the buffer, and the rest into cells.
ssize_t RequestCells::read_with_cells(int fd, std::uint8_t* buffer) {
  std::array<iovec, 1 + kCells> parts;
  parts[0] = {buffer, kHeaders};
  for (std::size_t i = 0; i < kCells; i++) parts[i + 1] = {cells_[i].data(), kCellSize};
  return ::readv(fd, parts.data(), static_cast<int>(parts.size()));
}

/// Copies `size` bytes from the cells to `buffer`, where libfuse expects them after the headers.
void RequestCells::move_to(std::uint8_t* buffer, std::size_t size) const {
  for (std::size_t i = 0; size > 0; i++) {
    const std::size_t part = std::min(size, kCellSize);
    std::memcpy(buffer, cells_[i].data(), part);
    buffer += part;
    size -= part;
  }
}

/// Leaves the `size` bytes of a write in the cells.
void RequestCells::keep(std::size_t size) {
  filled_ = (size + kCellSize - 1) / kCellSize;
  cells_[filled_ - 1].resize(size - (filled_ - 1) * kCellSize);
}

ssize_t RequestCells::read(int fd, codec::MutableBytes buffer) {
  filled_ = 0;
  const bool with_cells = timeout_ > 0 && make_room();
  if (!with_cells) cells_.clear();
  const ssize_t got =
      with_cells ? read_with_cells(fd, buffer.data()) : ::read(fd, buffer.data(), buffer.size());
  if (got < 0) return got;
  const std::size_t rest = std::max(static_cast<std::size_t>(got), kHeaders) - kHeaders;
  fuse_in_header header{};
  std::memcpy(&header, buffer.data(), std::min(static_cast<std::size_t>(got), sizeof header));
  const bool is_write = header.opcode == FUSE_WRITE && rest > 0;
  if (with_cells && is_write)
    keep(rest);
  else if (with_cells)
    move_to(buffer.data() + kHeaders, rest);
  if (is_write && rest >= kLargeWrite)
    timeout_ = kTimeout;
  else if (with_cells)
    timeout_--;
  return got;
}

}  // namespace bloscfs::fs
