#pragma once
// The bytes of one reply, in pieces: cached blocks that it keeps alive, and memory of its own.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <sys/uio.h>

#include "codec/bytes.hpp"
#include "fs/support/page_pool.hpp"

namespace bloscfs::fs {

/// A reply of 1 MiB has fewer than IOV_MAX pieces, however it is composed.
class ReplyData {
 public:
  /// Smaller pieces are copied. Pinning and sending them on their own would cost more.
  static constexpr std::size_t kLeastShared = 4096;

  /// `pages` outlives it. `kept_by_kernel`: the kernel's page cache takes the bytes, so that they
  /// will not be asked for again soon.
  explicit ReplyData(PagePool& pages, bool kept_by_kernel = false)
      : pages_(pages), kept_by_kernel_(kept_by_kernel) {}

  bool is_kept_by_kernel() const { return kept_by_kernel_; }
  /// Adds bytes that `owner` keeps alive.
  void add_shared(std::shared_ptr<const void> owner, codec::Bytes bytes);
  /// Adds `size` uninitialised bytes and returns them. The caller must fill them at once.
  codec::MutableBytes add_owned(std::size_t size);
  /// Adds zeros without allocating them.
  void add_zeros(std::size_t size);

  std::size_t size() const { return size_; }
  std::span<const iovec> pieces() const { return pieces_; }
  void copy_to(codec::MutableBytes out) const;

 private:
  void add_piece(const std::uint8_t* data, std::size_t size);
  codec::MutableBytes allocate(std::size_t size);

  PagePool& pages_;
  std::vector<iovec> pieces_;
  std::vector<std::shared_ptr<const void>> owners_;
  codec::MutableBytes room_;  ///< for the next small parts
  std::size_t size_ = 0;
  const bool kept_by_kernel_;
};

}  // namespace bloscfs::fs
