#pragma once
// Buffers of what is written, whose memory is taken and given back by the thousand while somebody
// writes.

#include <cstddef>
#include <cstdint>
#include <utility>

#include "codec/bytes.hpp"
#include "fs/support/page_pool.hpp"

namespace bloscfs::fs {

/// Bytes of dirty data are kept in pieces of at most this size, that of most chunks.
inline constexpr std::size_t kCellSize = 128 << 10;

/// Bytes that grow at their end, in memory of a pool. New ones are not set. All that holds more
/// than half a cell takes the same memory, so that it serves the next one.
class PooledBuffer {
 public:
  explicit PooledBuffer(PagePool& pages) : pages_(&pages) {}
  PooledBuffer(PagePool& pages, codec::Bytes bytes);
  PooledBuffer(PooledBuffer&& other) noexcept
      : pages_(other.pages_),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  PooledBuffer& operator=(PooledBuffer&& other) noexcept {
    std::swap(pages_, other.pages_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~PooledBuffer();

  std::uint8_t* data() { return data_; }
  const std::uint8_t* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::size_t capacity() const { return capacity_; }
  operator codec::Bytes() const { return {data_, size_}; }

  void reserve(std::size_t capacity);
  /// At most capacity().
  void resize(std::size_t size) { size_ = size; }
  /// That many bytes, not set, in place of what is there.
  codec::MutableBytes room_for(std::size_t size) {
    size_ = 0;
    reserve(size);
    size_ = size;
    return {data_, size};
  }

 private:
  PagePool* pages_;
  std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace bloscfs::fs
