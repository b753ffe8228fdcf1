#pragma once
// A pool of large pieces of memory. Reuse avoids page faults: one for every 4 KiB of fresh memory
// costs as much as decoding into it.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codec/bytes.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Thread-safe. The pool outlives all memory that is taken from it.
class PagePool {
 public:
  /// The most bytes of unused pieces that a pool keeps by default. Without kept pieces, reading
  /// takes more than twice the time, and writing 1.5 times. If only pieces of power-of-two sizes
  /// are kept, which serve no stored bytes, reading takes 20 % more time, and writing 10 %.
  static constexpr std::size_t kMostKept = std::size_t{20} << 20;

  /// Keeps up to `most_kept` bytes of the pieces that are given back.
  explicit PagePool(std::size_t most_kept = kMostKept) : most_kept_(most_kept) {}
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  std::size_t most_kept() const { return most_kept_; }

  /// Returns the size of the piece that serves a request for `size` bytes.
  static std::size_t piece_size(std::size_t size);

  /// Returns an uninitialized piece. `piece_size` must be a result of piece_size(). Throws
  /// std::bad_alloc.
  std::uint8_t* take(std::size_t piece_size);
  /// Takes a piece back. Keeps pieces of 8 KiB to 1 MiB for the next request of the same size.
  void give(std::uint8_t* piece, std::size_t piece_size) noexcept;

  /// Returns the memory of all kept pieces to the system. An idle daemon of 23 MiB shrinks by 10
  /// MiB.
  void trim();

 private:
  /// The unused pieces of one size.
  struct Pieces {
    std::vector<std::uint8_t*> kept;
    std::vector<std::uint8_t*> empty;  ///< pieces whose memory was returned to the system
    std::uint8_t* slab = nullptr;      ///< the part of the newest slab that is not cut into pieces
                                       ///< yet
    std::size_t slab_left = 0;
  };
  using Sizes = std::unordered_map<std::size_t, Pieces>;

  std::uint8_t* find(std::size_t piece_size) EXCLUDES(mutex_);
  std::uint8_t* cut(Pieces& pieces, std::size_t piece_size) REQUIRES(mutex_);
  void keep(std::uint8_t* piece, std::size_t piece_size) EXCLUDES(mutex_);
  void drop_one(Sizes::value_type& entry) REQUIRES(mutex_);

  const std::size_t most_kept_;
  Mutex mutex_;
  Sizes sizes_ GUARDED_BY(mutex_);
  std::size_t kept_ GUARDED_BY(mutex_) = 0;  ///< bytes
  std::vector<std::uint8_t*> slabs_ GUARDED_BY(mutex_);
  std::atomic<std::size_t> taken_{0};  ///< pieces in use
};

/// Owns `size` uninitialized bytes of a pool.
class PooledBytes {
 public:
  PooledBytes() = default;
  PooledBytes(PagePool& pages, std::size_t size)
      : pages_(&pages), data_(pages.take(PagePool::piece_size(size))), size_(size) {}
  PooledBytes(PooledBytes&& other) noexcept { swap(other); }
  PooledBytes& operator=(PooledBytes&& other) noexcept {
    swap(other);
    return *this;
  }
  ~PooledBytes() {
    if (data_ != nullptr) pages_->give(data_, PagePool::piece_size(size_));
  }

  std::size_t size() const { return size_; }
  codec::Bytes view() const { return {data_, size_}; }
  codec::MutableBytes span() { return {data_, size_}; }

 private:
  void swap(PooledBytes& other) {
    std::swap(pages_, other.pages_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

  PagePool* pages_ = nullptr;
  std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace bloscfs::fs
