#include "frame/pystore/window_source.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "codec/error.hpp"

namespace bloscfs::frame::inline pystore {

WindowSource::WindowSource(std::shared_ptr<const ByteSource> below, std::uint64_t offset,
                           std::uint64_t size)
    : below_(std::move(below)), offset_(offset), size_(size), size_below_(below_->stamp().size) {
  const auto end = static_cast<std::uint64_t>(std::max<std::int64_t>(size_below_, 0));
  if (offset > end || size > end - offset)
    codec::throw_malformed(fmt::format("{} bytes at {} of a file of {}", size, offset, end));
}

std::size_t WindowSource::read_at(std::uint64_t offset, MutableBytes out) const {
  if (offset >= size_) return 0;
  const auto size = std::min<std::uint64_t>(out.size(), size_ - offset);
  return below_->read_at(offset_ + offset, out.first(static_cast<std::size_t>(size)));
}

std::vector<ByteRange> WindowSource::ranges_below(std::span<const ByteRange> ranges) const {
  std::vector<ByteRange> below;
  for (const ByteRange& range : ranges) {
    const auto size = static_cast<std::int64_t>(size_);
    if (range.offset < 0 || range.size <= 0 || range.offset >= size) continue;
    below.push_back({static_cast<std::int64_t>(offset_) + range.offset,
                     std::min(range.size, size - range.offset)});
  }
  return below;
}

void WindowSource::expect(std::span<const ByteRange> ranges) const {
  below_->expect(ranges_below(ranges));
}

bool WindowSource::is_available(std::span<const ByteRange> ranges) const {
  return below_->is_available(ranges_below(ranges));
}

FileStamp WindowSource::stamp() const {
  FileStamp stamp = below_->stamp();
  stamp.size = stamp.size == size_below_ ? static_cast<std::int64_t>(size_) : -1;
  return stamp;
}

}  // namespace bloscfs::frame::inline pystore
