#include "fs/content/pending_bytes.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <utility>

#include "frame/container/checksum_failure.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/content/frozen_bytes.hpp"

namespace bloscfs::fs {

namespace {

/// Parts that do not decode are found exactly while reads of few bytes remain. After that, the
/// whole piece of kCoarsePiece becomes zeros.
constexpr std::ptrdiff_t kCoarsePiece = 4096;
/// A smaller piece has one part that does not decode: no block of an array has shorter rows.
constexpr std::ptrdiff_t kFinePiece = 64;
/// Chunks of one read that are looked at one by one if the read fails.
constexpr std::size_t kMostChunks = 1024;

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

PendingBytes::Missing PendingBytes::missing_chunks(std::int64_t offset, std::int64_t size) const {
  const std::lock_guard lock(missing_mutex_);
  std::set<std::int64_t> chunks;
  if (missing_.empty() || !base_->add_chunks_of(offset, size, kMostChunks, chunks))
    return Missing::none;
  const auto count = std::count_if(chunks.begin(), chunks.end(),
                                   [&](std::int64_t chunk) { return missing_.contains(chunk); });
  if (count == 0) return Missing::none;
  return count == std::ssize(chunks) ? Missing::all : Missing::some;
}

/// Notes which chunks of the range cannot be opened.
void PendingBytes::find_missing_chunks(Request& request, std::int64_t offset,
                                       std::int64_t size) const {
  std::set<std::int64_t> chunks;
  if (!base_->add_chunks_of(offset, size, kMostChunks, chunks)) return;
  for (const std::int64_t chunk : chunks) try {
      base_->reader().open_chunk(request, chunk);
    } catch (const codec::Error&) {
      const std::lock_guard lock(missing_mutex_);
      missing_.insert(chunk);
    }
}

/// Reads committed bytes. Returns false if they do not decode.
bool PendingBytes::try_base(Request& request, std::int64_t offset, codec::MutableBytes out) const {
  if (missing_chunks(offset, std::ssize(out)) != Missing::none) return false;
  bool decodes = true;
  try {
    compare_checksums(request, offset, std::ssize(out));
    read_committed(request, base_, layer_.lower_end, offset, out);
  } catch (const codec::Error&) {
    decodes = false;
    find_missing_chunks(request, offset, std::ssize(out));
    if (std::ssize(out) <= kCoarsePiece) fine_reads_--;
  }
  // Bytes of a file that another program is changing may decode and be wrong nevertheless.
  const frame::Snapshot& committed = base_->reader().snapshot();
  if (!committed.is_lasting() && !committed.is_unchanged_without_wait())
    frame::throw_errno(EIO, "changed by another program");
  return decodes;
}

/// Reads committed bytes, and zeros for those that do not decode. A damaged chunk must not cost the
/// sound ones next to it.
void PendingBytes::read_base(Request& request, std::int64_t offset, codec::MutableBytes out) const {
  if (try_base(request, offset, out)) return;
  const bool is_fine = fine_reads_ > 0;
  const std::size_t size = out.size(), half = size / 2;
  if (missing_chunks(offset, std::ssize(out)) == Missing::all) {
    std::fill(out.begin(), out.end(), std::uint8_t{0});
    has_gaps_ = true;
    return;
  }
  if (static_cast<std::ptrdiff_t>(size) > (is_fine ? kFinePiece : kCoarsePiece)) {
    read_base(request, offset, out.first(half));
    read_base(request, offset + static_cast<std::int64_t>(half), out.subspan(half));
    return;
  }
  std::size_t begin = 0, end = size;  // of the part that does not decode
  for (std::size_t step = is_fine ? std::bit_ceil(size) / 2 : 0; step > 0; step /= 2) {
    const auto at = [&](std::size_t from) { return offset + static_cast<std::int64_t>(from); };
    if (begin + step < end && try_base(request, at(begin), out.subspan(begin, step))) begin += step;
    if (begin + step < end && try_base(request, at(end - step), out.subspan(end - step, step)))
      end -= step;
  }
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(begin),
            out.begin() + static_cast<std::ptrdiff_t>(end), std::uint8_t{0});
  has_gaps_ = true;
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
