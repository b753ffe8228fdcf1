#pragma once
// Large pieces of memory that are used again: a page fault for every 4 KiB of fresh memory costs as
// much as decoding into it.

#include <cstddef>
#include <cstdint>
#include <utility>

#include "codec/bytes.hpp"

namespace bloscfs::fs {

/// The size of the piece that is taken for `size` bytes.
std::size_t pooled_size(std::size_t size);

/// A piece of so many bytes, as pooled_size() gives them, whose contents are not set. Thread-safe.
std::uint8_t* take_memory(std::size_t pooled_size);
/// Gives a piece back. Up to 20 MiB are kept, in pieces of at most 1 MiB, for the next who wants
/// one of its size.
void give_memory(std::uint8_t* piece, std::size_t pooled_size) noexcept;

/// Does in advance what take_memory() may need next, and what can take long: to be called when
/// nobody waits.
void prepare_memory() noexcept;

/// Gives the pieces that are kept back to the system.
void trim_page_pool();

/// Owns so many bytes, which are not set.
class PooledBytes {
 public:
  PooledBytes() = default;
  explicit PooledBytes(std::size_t size) : data_(take_memory(pooled_size(size))), size_(size) {}
  PooledBytes(PooledBytes&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  PooledBytes& operator=(PooledBytes&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~PooledBytes() {
    if (data_ != nullptr) give_memory(data_, pooled_size(size_));
  }

  std::size_t size() const { return size_; }
  codec::Bytes view() const { return {data_, size_}; }
  codec::MutableBytes span() { return {data_, size_}; }

 private:
  std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace bloscfs::fs
