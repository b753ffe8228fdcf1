#include "fs/content/pending_bytes.hpp"

#include <algorithm>
#include <utility>

#include "frame/container/checksum_failure.hpp"
#include "fs/content/frozen_bytes.hpp"

namespace bloscfs::fs {

namespace {

/// Bytes that become zeros if a part of them does not decode. Smaller parts take more reads.
constexpr std::ptrdiff_t kSmallestGap = 4096;

}  // namespace

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
    read_base(request, offset, out);
  } else {
    std::fill(out.begin(), out.end(), std::uint8_t{0});
    const auto from = std::min<std::int64_t>(offset, std::ssize(header_));
    const auto count = std::min<std::ptrdiff_t>(std::ssize(header_) - from, std::ssize(out));
    std::copy_n(header_.begin() + from, count, out.begin());
  }
  layer_.apply(offset, out);
}

/// Reads committed bytes. If they do not decode, reads each half alone, down to kSmallestGap, since
/// a damaged chunk must not cost the sound ones next to it.
void PendingBytes::read_base(Request& request, std::int64_t offset, codec::MutableBytes out) const {
  try {
    compare_checksums(request, offset, std::ssize(out));
    read_committed(request, base_, layer_.lower_end, offset, out);
  } catch (const codec::Error&) {
    // Bytes of a file that another program is changing may decode and be wrong nevertheless.
    const frame::Snapshot& committed = base_->reader().snapshot();
    if (!committed.is_lasting() && !committed.is_unchanged_without_wait()) throw;
    if (std::ssize(out) <= kSmallestGap) {
      std::fill(out.begin(), out.end(), std::uint8_t{0});
      has_gaps_ = true;
      return;
    }
    const std::size_t half = out.size() / 2;
    read_base(request, offset, out.first(half));
    read_base(request, offset + static_cast<std::int64_t>(half), out.subspan(half));
  }
}

/// Compares the chunks of which the layer leaves bytes. The bytes are kept even if they do not
/// match, since the old file may not be there any more.
void PendingBytes::compare_checksums(Request& request, std::int64_t offset,
                                     std::int64_t size) const {
  if (is_doubtful_) return;
  const std::int64_t end = std::min(offset + size, layer_.lower_end);
  std::vector<std::pair<std::int64_t, std::int64_t>> hidden;  // begin and end
  layer_.bytes.for_each(offset, size, [&](const ByteOverlay::Part& part) {
    hidden.emplace_back(part.offset, part.offset + part.size);
  });
  std::sort(hidden.begin(), hidden.end());
  std::int64_t first = end, last = offset, at = offset;
  const auto add_gap = [&](std::int64_t until) {
    if (at >= until) return;
    first = std::min(first, at);
    last = until;
  };
  for (const auto& [begin, stop] : hidden) {
    add_gap(std::min(begin, end));
    at = std::max(at, stop);
  }
  add_gap(end);
  if (first >= last) return;
  try {
    base_->require_checksums(request, first, last - first);
  } catch (const frame::ChecksumFailure&) {
    is_doubtful_ = true;
  }
}

}  // namespace bloscfs::fs
