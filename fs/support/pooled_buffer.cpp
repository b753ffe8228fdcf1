#include "fs/support/pooled_buffer.hpp"

#include <cstring>

namespace bloscfs::fs {
namespace {

/// Returns the size of the piece to take for `capacity` bytes.
std::size_t taken_for(std::size_t capacity) {
  return capacity > kCellSize / 2 && capacity <= kCellSize ? kCellSize
                                                           : PagePool::piece_size(capacity);
}

}  // namespace

PooledBuffer::PooledBuffer(PagePool& pages, codec::Bytes bytes)
    : pages_(&pages), size_(bytes.size()), capacity_(taken_for(bytes.size())) {
  data_ = pages_->take(capacity_);
  if (!bytes.empty()) std::memcpy(data_, bytes.data(), bytes.size());
}

PooledBuffer::~PooledBuffer() {
  if (data_ != nullptr) pages_->give(data_, capacity_);
}

void PooledBuffer::reserve(std::size_t capacity) {
  if (capacity <= capacity_) return;
  capacity = taken_for(capacity);
  std::uint8_t* const grown = pages_->take(capacity);
  if (data_ != nullptr) {
    std::memcpy(grown, data_, size_);
    pages_->give(data_, capacity_);
  }
  data_ = grown;
  capacity_ = capacity;
}

}  // namespace bloscfs::fs
