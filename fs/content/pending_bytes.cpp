#include "fs/content/pending_bytes.hpp"

#include <algorithm>

#include "fs/content/frozen_bytes.hpp"

namespace bloscfs::fs {

std::int64_t PendingBytes::next_data(Request& request, std::int64_t offset) const {
  const std::int64_t below = next_below(request, layer_.bytes.end_of_zeros(offset));
  return std::min({size_, below, layer_.bytes.next_written(offset).value_or(size_)});
}

std::int64_t PendingBytes::next_below(Request& request, std::int64_t offset) const {
  for (;;) {
    if (base_ == nullptr) return offset < std::ssize(header_) ? offset : size_;
    const auto found = offset < layer_.lower_end ? base_->seek_data(request, offset) : std::nullopt;
    if (!found || *found >= layer_.lower_end) return size_;
    const std::int64_t end = layer_.bytes.end_of_zeros(*found);
    if (end == *found) return end;
    offset = end;
  }
}

void PendingBytes::read(Request& request, std::int64_t offset, codec::MutableBytes out) const {
  if (base_ != nullptr) {
    read_committed(request, base_, layer_.lower_end, offset, out);
  } else {
    std::fill(out.begin(), out.end(), std::uint8_t{0});
    const auto from = std::min<std::int64_t>(offset, std::ssize(header_));
    const auto count = std::min<std::ptrdiff_t>(std::ssize(header_) - from, std::ssize(out));
    std::copy_n(header_.begin() + from, count, out.begin());
  }
  layer_.apply(offset, out);
}

}  // namespace bloscfs::fs
