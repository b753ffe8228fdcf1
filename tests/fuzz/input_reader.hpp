#pragma once
// Reads the fuzzer's bytes one value at a time. After their end, all values are zero.

#include <algorithm>
#include <cstdint>

#include "codec/bytes.hpp"

namespace bloscfs::fuzz {

class InputReader {
 public:
  /// `bytes` must outlive this object.
  explicit InputReader(codec::Bytes bytes) : bytes_(bytes) {}

  bool empty() const { return at_ == bytes_.size(); }
  std::uint8_t byte() { return at_ < bytes_.size() ? bytes_[at_++] : std::uint8_t{0}; }
  std::uint16_t word() {
    const std::uint8_t low = byte();
    return static_cast<std::uint16_t>(low | byte() << 8);
  }
  /// Returns a number less than `count`, which is at most 256.
  std::size_t below(std::size_t count) { return byte() % count; }
  /// Returns `size` bytes, or as many as are left.
  codec::Bytes bytes(std::size_t size) {
    const codec::Bytes part = bytes_.subspan(at_, std::min(size, bytes_.size() - at_));
    at_ += part.size();
    return part;
  }

 private:
  codec::Bytes bytes_;
  std::size_t at_ = 0;
};

}  // namespace bloscfs::fuzz
