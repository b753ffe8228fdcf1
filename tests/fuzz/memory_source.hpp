#pragma once
// The fuzzer's bytes as a file.

#include <algorithm>
#include <cstring>

#include "frame/store/byte_source.hpp"

namespace bloscfs::frame::fuzz {

class MemorySource final : public ByteSource {
 public:
  /// `bytes` must outlive this object.
  explicit MemorySource(Bytes bytes) : bytes_(bytes) {}

  std::size_t read_at(std::uint64_t offset, MutableBytes out) const override {
    if (offset >= bytes_.size()) return 0;
    const auto at = static_cast<std::size_t>(offset);
    const std::size_t size = std::min(out.size(), bytes_.size() - at);
    if (size > 0) std::memcpy(out.data(), bytes_.data() + at, size);
    return size;
  }

  FileStamp stamp() const override { return {1, 1, static_cast<std::int64_t>(bytes_.size()), 0}; }

 private:
  Bytes bytes_;
};

}  // namespace bloscfs::frame::fuzz
