#include "fs/fuse/request_cells.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include <linux/fuse.h>
#include <sys/uio.h>
#include <unistd.h>

namespace bloscfs::fs {
namespace {

constexpr std::size_t kHeaders = sizeof(fuse_in_header) + sizeof(fuse_write_in);
constexpr std::size_t kCells = kRequestSize / kCellSize;
/// Cells pay for writes of this size.
constexpr std::size_t kLargeWrite = kCellSize / 2;
/// A thread that has seen a large write is ready for another during so many requests.
constexpr int kPatience = 64;

/// Where a thread reads requests to.
struct Incoming {
  std::array<PooledBuffer, kCells> cells;
  std::size_t filled = 0;  ///< cells that have the bytes of a write
  int patience = 0;        ///< requests for which there shall be cells
};

thread_local Incoming incoming;

/// The headers, and the rest in cells.
ssize_t read_with_cells(int fd, std::uint8_t* buffer) {
  std::array<iovec, 1 + kCells> parts;
  parts[0] = {buffer, kHeaders};
  for (std::size_t i = 0; i < kCells; i++)
    parts[i + 1] = {incoming.cells[i].room_for(kCellSize).data(), kCellSize};
  return ::readv(fd, parts.data(), static_cast<int>(parts.size()));
}

/// Puts what lies in cells behind the headers, where libfuse expects it.
void move_to(std::uint8_t* buffer, std::size_t size) {
  for (std::size_t i = 0; size > 0; i++) {
    const std::size_t part = std::min(size, kCellSize);
    std::memcpy(buffer, incoming.cells[i].data(), part);
    buffer += part;
    size -= part;
  }
}

void keep_in_cells(std::size_t size) {
  incoming.filled = (size + kCellSize - 1) / kCellSize;
  incoming.cells[incoming.filled - 1].resize(size - (incoming.filled - 1) * kCellSize);
}

}  // namespace

ssize_t read_request(int fd, codec::MutableBytes buffer) {
  const bool with_cells = incoming.patience > 0;
  incoming.filled = 0;
  if (!with_cells) incoming.cells = {};
  const ssize_t got =
      with_cells ? read_with_cells(fd, buffer.data()) : ::read(fd, buffer.data(), buffer.size());
  if (got < 0) return got;
  const std::size_t rest = std::max(static_cast<std::size_t>(got), kHeaders) - kHeaders;
  fuse_in_header header{};
  std::memcpy(&header, buffer.data(), std::min(static_cast<std::size_t>(got), sizeof header));
  const bool is_write = header.opcode == FUSE_WRITE && rest > 0;
  if (with_cells && is_write)
    keep_in_cells(rest);
  else if (with_cells)
    move_to(buffer.data() + kHeaders, rest);
  if (is_write && rest >= kLargeWrite)
    incoming.patience = kPatience;
  else if (with_cells)
    incoming.patience--;
  return got;
}

std::span<PooledBuffer> written_cells() { return std::span(incoming.cells).first(incoming.filled); }

}  // namespace bloscfs::fs
