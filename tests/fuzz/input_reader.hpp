#pragma once
// The fuzzer's bytes, taken one value at a time: zeros behind their end.

#include <algorithm>
#include <cstdint>

#include "codec/bytes.hpp"

namespace bloscfs::fuzz {

class InputReader {
 public:
  /// `bytes` are borrowed for as long as this object lives.
  explicit InputReader(codec::Bytes bytes) : bytes_(bytes) {}

  bool empty() const { return at_ == bytes_.size(); }
  std::uint8_t byte() { return at_ < bytes_.size() ? bytes_[at_++] : std::uint8_t{0}; }
  std::uint16_t word() {
    const std::uint8_t low = byte();
    return static_cast<std::uint16_t>(low | byte() << 8);
  }
  /// Below `count`, which is at most 256.
  std::size_t below(std::size_t count) { return byte() % count; }
  /// At most so many as are left.
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
