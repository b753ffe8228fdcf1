#pragma once
// Large pieces of memory that are used again: a page fault for every 4 KiB of fresh memory costs as
// much as decoding into it.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codec/bytes.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// Thread-safe. Outlives all that has memory of it.
class PagePool {
 public:
  /// Without pieces that are kept reading takes more than twice the time, and writing half as much
  /// again; where only powers of two are kept, and so no stored bytes, a fifth and a tenth more.
  static constexpr std::size_t kMostKept = std::size_t{20} << 20;

  /// Of those that are given back, `most_kept` bytes are kept.
  explicit PagePool(std::size_t most_kept = kMostKept) : most_kept_(most_kept) {}
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  std::size_t most_kept() const { return most_kept_; }

  /// The size of the piece that is taken for `size` bytes.
  static std::size_t piece_size(std::size_t size);

  /// A piece of so many bytes, as piece_size() gives them, whose contents are not set. Throws
  /// std::bad_alloc.
  std::uint8_t* take(std::size_t piece_size);
  /// Takes a piece back. Pieces of 8 KiB to 1 MiB are kept for the next who wants one of the size.
  void give(std::uint8_t* piece, std::size_t piece_size) noexcept;

  /// Gives the pieces that are kept back to the system: 10 of 23 MiB that a daemon has at rest.
  void trim();

 private:
  /// Pieces of one size that nobody uses.
  struct Pieces {
    std::vector<std::uint8_t*> kept;
    std::vector<std::uint8_t*> empty;  ///< of slabs, without memory
    std::uint8_t* slab = nullptr;      ///< what is not cut yet
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
  std::atomic<std::size_t> taken_{0};  ///< pieces that somebody has
};

/// Owns so many bytes, which are not set.
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
