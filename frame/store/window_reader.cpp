#include "frame/store/window_reader.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "codec/error.hpp"

namespace bloscfs::frame::inline store {
namespace {

constexpr std::size_t kWindow = 1024;

}  // namespace

void WindowReader::load(std::uint64_t offset, std::size_t size) {
  const std::uint64_t wanted = offset < size_ ? std::min<std::uint64_t>(size, size_ - offset) : 0;
  if (offset >= window_at_ && offset - window_at_ <= window_.size() &&
      window_.size() - (offset - window_at_) >= wanted)
    return;
  window_.resize(static_cast<std::size_t>(wanted));
  window_at_ = offset;
  window_.resize(source_.read_at(offset, window_));
}

Bytes WindowReader::at(std::uint64_t offset, std::size_t size, const char* what) {
  if (offset > size_ || size_ - offset < size)
    codec::throw_malformed(
        fmt::format("{} at {}: {} bytes needed, its section has {}", what, offset, size, size_));
  if (offset < window_at_ || offset - window_at_ > window_.size() ||
      window_.size() - (offset - window_at_) < size)
    load(offset, std::max(size, kWindow));
  if (offset - window_at_ > window_.size() || window_.size() - (offset - window_at_) < size)
    codec::throw_malformed(fmt::format("{} at {}: the file ends before", what, offset));
  return Bytes(window_).subspan(static_cast<std::size_t>(offset - window_at_), size);
}

std::vector<std::uint8_t> WindowReader::take_whole() {
  if (window_at_ != 0 || window_.size() < size_) return {};
  window_.resize(static_cast<std::size_t>(size_));
  return std::move(window_);
}

}  // namespace bloscfs::frame::inline store
