#pragma once
// A source that has one range of its bytes in memory.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "frame/store/byte_source.hpp"

namespace bloscfs::frame::inline reading {

class CopiedSource final : public ByteSource {
 public:
  /// `bytes` are the bytes of `source` from `position` on.
  CopiedSource(std::shared_ptr<const ByteSource> source, std::uint64_t position,
               std::vector<std::uint8_t> bytes)
      : source_(std::move(source)), position_(position), bytes_(std::move(bytes)) {}

  std::size_t read_at(std::uint64_t offset, MutableBytes out) const override {
    if (offset < position_ || offset - position_ > bytes_.size() ||
        out.size() > bytes_.size() - (offset - position_))
      return source_->read_at(offset, out);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset - position_), out.size(),
                out.begin());
    return out.size();
  }
  FileStamp stamp() const override { return source_->stamp(); }

 private:
  const std::shared_ptr<const ByteSource> source_;
  const std::uint64_t position_;
  const std::vector<std::uint8_t> bytes_;
};

}  // namespace bloscfs::frame::inline reading
