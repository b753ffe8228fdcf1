#include "tools/content_comparison.hpp"

#include <algorithm>
#include <cstring>

#include "tools/interrupt.hpp"

namespace bloscfs::tools {
namespace {

/// Bytes of each side that are compared at a time.
constexpr std::int64_t kComparedAtOnce = std::int64_t{1} << 20;
/// Bytes of a stored chunk that are compared at a time.
constexpr std::int64_t kStoredWindow = std::int64_t{256} << 10;

frame::ChunkPlace place_of(const Input& input, std::int64_t chunk) {
  fs::Request request;
  fs::ReadRequest reading = input.reader().begin_request(request);
  return input.reader().index().page_of_chunk(chunk, reading)->place(chunk);
}

}  // namespace

ContentComparison::ContentComparison(Input& first_input, Elements& first, Input& other_input,
                                     Elements& other, std::int64_t itemsize)
    : first_input_(first_input),
      first_(first),
      other_input_(other_input),
      other_(other),
      itemsize_(itemsize),
      nbytes_(std::min(first.nbytes(), other.nbytes()) / itemsize * itemsize),
      same_layout_(have_same_layout()) {
  const frame::FrameInfo& info = first_input_.info();
  if (!same_layout_ || !info.has_blocked_array()) return;
  frame::ArrayInfo array = *info.array;
  // Elements::read() returns items in C order.
  array.fortran_order = false;
  geometry_.emplace(array, info.typesize);
}

/// True if chunks with equal stored bytes hold equal items at the same place.
bool ContentComparison::have_same_layout() const {
  const frame::FrameInfo& a = first_input_.info();
  const frame::FrameInfo& b = other_input_.info();
  if (a.variable_chunks || b.variable_chunks || a.vl_blocks || b.vl_blocks) return false;
  if (a.chunksize <= 0 || a.chunksize != b.chunksize || a.typesize != b.typesize) return false;
  if (a.nbytes != b.nbytes || a.has_blocked_array() != b.has_blocked_array()) return false;
  if (first_.is_fortran() || other_.is_fortran()) return false;
  return !a.has_blocked_array() ||
         (a.array->shape == b.array->shape && a.array->chunkshape == b.array->chunkshape &&
          a.array->blockshape == b.array->blockshape);
}

/// True if the chunk has the same special value, or the same stored bytes, on both sides.
bool ContentComparison::has_equal_stored_bytes(std::int64_t chunk) {
  const frame::ChunkPlace a = place_of(first_input_, chunk);
  const frame::ChunkPlace b = place_of(other_input_, chunk);
  constexpr auto kStored = codec::SpecialValue::none;
  if (a.special != kStored || b.special != kStored) return a.special == b.special;
  fs::Request request;
  const auto opened_a = first_input_.reader().open_chunk(request, chunk);
  const auto opened_b = other_input_.reader().open_chunk(request, chunk);
  const std::int64_t size = opened_a->chunk.header().cbytes;
  if (size != opened_b->chunk.header().cbytes) return false;
  first_bytes_.resize(kStoredWindow);
  other_bytes_.resize(kStoredWindow);
  for (std::int64_t at = 0; at < size; at += kStoredWindow) {
    const std::int64_t part = std::min(kStoredWindow, size - at);
    const auto read = [&](const Input& input, const frame::OpenedChunk& opened,
                          std::vector<std::uint8_t>& bytes) {
      input.snapshot().read_stored(
          opened, {at, part}, codec::MutableBytes(bytes).first(static_cast<std::size_t>(part)));
    };
    read(first_input_, *opened_a, first_bytes_);
    read(other_input_, *opened_b, other_bytes_);
    if (std::memcmp(first_bytes_.data(), other_bytes_.data(), static_cast<std::size_t>(part)) != 0)
      return false;
  }
  return true;
}

bool ContentComparison::have_equal_stored_bytes(std::int64_t first_chunk, std::int64_t end_chunk) {
  for (std::int64_t chunk = first_chunk; chunk < end_chunk; chunk++) {
    throw_if_interrupted();
    if (!has_equal_stored_bytes(chunk)) return false;
  }
  return true;
}

std::int64_t ContentComparison::skip_equal_chunks(std::int64_t offset, std::int64_t& next) {
  if (geometry_) {
    const auto slab = geometry_->slab_at(offset);
    next = slab.end;
    return have_equal_stored_bytes(slab.first_chunk, slab.last_chunk) ? next : offset;
  }
  const std::int64_t chunksize = first_input_.info().chunksize;
  const std::int64_t chunk = offset / chunksize;
  // `next` is the end of an item, because a chunk may end inside of an item.
  next = std::min(nbytes_, ((chunk + 1) * chunksize + itemsize_ - 1) / itemsize_ * itemsize_);
  const bool is_whole = next == std::min(nbytes_, (chunk + 1) * chunksize);
  return is_whole && have_equal_stored_bytes(chunk, chunk + 1) ? next : offset;
}

/// Returns the offset of the next item at which one of the sides may have data. Both sides read as
/// zeros up to that offset.
std::int64_t ContentComparison::skip_holes(std::int64_t offset) const {
  if (first_.is_fortran() || other_.is_fortran()) return offset;
  fs::Request request;
  const std::int64_t data =
      std::min({first_.view().seek_data(request, offset).value_or(nbytes_),
                other_.view().seek_data(request, offset).value_or(nbytes_), nbytes_});
  return data / itemsize_ * itemsize_;
}

/// Compares a range of bytes. Sets `found_` to the first difference, and counts the differing
/// items.
void ContentComparison::compare(std::int64_t offset, std::int64_t end) {
  const auto size = static_cast<std::size_t>(end - offset);
  const auto itemsize = static_cast<std::size_t>(itemsize_);
  first_bytes_.resize(size);
  other_bytes_.resize(size);
  first_.read(offset, first_bytes_);
  other_.read(offset, other_bytes_);
  if (std::memcmp(first_bytes_.data(), other_bytes_.data(), size) == 0) return;
  for (std::size_t at = 0; at < size; at += itemsize) {
    const std::uint8_t* const a = first_bytes_.data() + at;
    const std::uint8_t* const b = other_bytes_.data() + at;
    if (std::memcmp(a, b, itemsize) == 0) continue;
    if (found_)
      found_->items++;
    else
      found_ = {(offset + static_cast<std::int64_t>(at)) / itemsize_,
                {a, a + itemsize},
                {b, b + itemsize},
                1};
  }
}

std::optional<ContentDifference> ContentComparison::run(
    bool count_all, const std::function<void(std::int64_t)>& done) {
  const std::int64_t at_once = std::max<std::int64_t>(1, kComparedAtOnce / itemsize_) * itemsize_;
  std::int64_t unit_end = 0;
  for (std::int64_t offset = 0; offset < nbytes_ && (count_all || !found_);) {
    throw_if_interrupted();
    done(offset);
    // Skips a chunk, or a row of chunks, whose stored bytes are equal on both sides.
    if (offset >= unit_end) {
      unit_end = nbytes_;
      if (same_layout_)
        if (const auto end = skip_equal_chunks(offset, unit_end); end > offset) {
          offset = end;
          continue;
        }
    }
    offset = std::min(skip_holes(offset), unit_end);
    const std::int64_t end = std::min(offset + at_once, unit_end);
    if (offset < end) compare(offset, end);
    offset = end;
  }
  return std::move(found_);
}

}  // namespace bloscfs::tools
