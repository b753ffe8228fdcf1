#include "frame/store/store_writer.hpp"

#include <algorithm>

namespace bloscfs::frame::inline store {
namespace {

constexpr std::size_t kBuffer = std::size_t{256} << 10;
/// Up to this size, filling a gap with zeros costs less than a separate write.
constexpr std::uint64_t kSmallGap = 4096;

}  // namespace

void StoreWriter::append(Bytes bytes) {
  if (file_ == nullptr) {
    position_ += bytes.size();
    return;
  }
  if (buffer_.size() + bytes.size() > kBuffer) flush();
  if (bytes.size() >= kBuffer) {
    file_->write_at(position_, bytes);
    position_ += bytes.size();
    return;
  }
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void StoreWriter::copy(const ByteSource& source, std::uint64_t offset, std::uint64_t size) {
  if (file_ == nullptr) {
    position_ += size;
    return;
  }
  std::vector<std::uint8_t> window(
      static_cast<std::size_t>(std::min<std::uint64_t>(size, kBuffer)));
  while (size > 0) {
    const auto count = std::min<std::uint64_t>(size, window.size());
    const MutableBytes part = MutableBytes(window).first(static_cast<std::size_t>(count));
    source.read_exactly_at(offset, part, "copied bytes");
    append(part);
    offset += count;
    size -= count;
  }
}

void StoreWriter::skip_to(std::uint64_t position) {
  const std::uint64_t gap = position - this->position();
  if (file_ != nullptr && gap <= kSmallGap) {
    buffer_.resize(buffer_.size() + static_cast<std::size_t>(gap));
    return;
  }
  flush();
  position_ = position;
}

void StoreWriter::replace(std::uint64_t position, Bytes bytes) {
  if (file_ == nullptr) return;
  if (position < position_) return file_->write_at(position, bytes);
  std::copy(bytes.begin(), bytes.end(),
            buffer_.begin() + static_cast<std::ptrdiff_t>(position - position_));
}

void StoreWriter::flush() {
  if (buffer_.empty()) return;
  file_->write_at(position_, buffer_);
  position_ += buffer_.size();
  buffer_.clear();
}

}  // namespace bloscfs::frame::inline store
