#pragma once
// Buffers for written data. Writers take and give back thousands of them.

#include <cstddef>
#include <cstdint>
#include <utility>

#include "codec/bytes.hpp"
#include "fs/support/page_pool.hpp"

namespace bloscfs::fs {

/// Dirty data is kept in pieces of at most this size, which is the size of most chunks.
inline constexpr std::size_t kCellSize = 128 << 10;

/// Bytes in memory of a pool that can grow at their end. New bytes are uninitialized. A buffer of
/// more than half a cell, and at most one, takes a whole cell, so that its memory can serve the
/// next such buffer.
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
  /// `size` is at most capacity().
  void resize(std::size_t size) { size_ = size; }
  /// Replaces the contents by `size` uninitialized bytes.
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
