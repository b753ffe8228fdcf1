#include "fs/view/reply_data.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace bloscfs::fs {
namespace {

constexpr std::array<std::uint8_t, 256 << 10> kZeros{};
/// Small parts are gathered in pieces of this size.
constexpr std::size_t kRoom = 64 << 10;

}  // namespace

void ReplyData::add_piece(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return;
  size_ += size;
  if (!pieces_.empty()) {
    iovec& last = pieces_.back();
    if (static_cast<const std::uint8_t*>(last.iov_base) + last.iov_len == data) {
      last.iov_len += size;
      return;
    }
  }
  pieces_.push_back({const_cast<std::uint8_t*>(data), size});  // writev only reads
}

codec::MutableBytes ReplyData::allocate(std::size_t size) {
  const auto memory = std::make_shared<PooledBytes>(pages_, size);
  owners_.push_back(memory);
  return memory->span();
}

void ReplyData::add_shared(std::shared_ptr<const void> owner, codec::Bytes bytes) {
  if (bytes.size() < kLeastShared) {
    std::copy(bytes.begin(), bytes.end(), add_owned(bytes.size()).begin());
    return;
  }
  add_piece(bytes.data(), bytes.size());
  if (owners_.empty() || owners_.back() != owner) owners_.push_back(std::move(owner));
}

codec::MutableBytes ReplyData::add_owned(std::size_t size) {
  codec::MutableBytes bytes;
  if (size >= kLeastShared) {
    bytes = allocate(size);
  } else {
    if (room_.size() < size) room_ = allocate(kRoom);
    bytes = room_.first(size);
    room_ = room_.subspan(size);
  }
  add_piece(bytes.data(), size);
  return bytes;
}

void ReplyData::add_zeros(std::size_t size) {
  if (size < kLeastShared) {
    std::ranges::fill(add_owned(size), std::uint8_t{0});
    return;
  }
  while (size > 0) {
    const std::size_t part = std::min(size, kZeros.size());
    add_piece(kZeros.data(), part);
    size -= part;
  }
}

void ReplyData::copy_to(codec::MutableBytes out) const {
  std::size_t at = 0;
  for (const iovec& piece : pieces_) {
    std::memcpy(out.data() + at, piece.iov_base, piece.iov_len);
    at += piece.iov_len;
  }
}

}  // namespace bloscfs::fs
