#include "frame/bloscpack/bloscpack_page.hpp"

#include <fmt/core.h>

#include "codec/error.hpp"

namespace bloscfs::frame::inline bloscpack {

void BloscpackPage::walk(const ByteSource& source, const BloscpackMap::Checkpoint& from) {
  ChunkWalker walker(source, geometry_.area, from.position);
  std::int64_t content_offset = from.content_offset;
  positions_.reserve(static_cast<std::size_t>(count_));
  if (!geometry_.uniform) {
    content_offsets_.reserve(static_cast<std::size_t>(count_) + 1);
    content_offsets_.push_back(content_offset);
  }
  try {
    for (std::int64_t i = 0; i < count_; ++i) {
      const std::uint64_t position = walker.position();
      content_offset += walker.step();
      positions_.push_back(static_cast<std::int64_t>(position));
      if (!geometry_.uniform) content_offsets_.push_back(content_offset);
    }
  } catch (const codec::Error& e) {
    failure_ = e.what();
  }
}

ChunkPlace BloscpackPage::place(std::int64_t chunk) const {
  const auto i = static_cast<std::size_t>(chunk - first_);
  if (i >= positions_.size() || positions_[i] == -1) codec::throw_malformed(failure_);
  const ChunkArea& area = geometry_.area;
  area.check_position(chunk, positions_[i]);
  ChunkPlace place;
  place.number = chunk;
  if (geometry_.uniform) {
    place.content_offset = chunk * geometry_.chunk_size;
    place.nbytes = geometry_.nbytes_of(chunk);
  } else {
    place.content_offset = content_offsets_[i];
    place.nbytes = static_cast<std::int32_t>(content_offsets_[i + 1] - content_offsets_[i]);
  }
  place.stored_offset = static_cast<std::uint64_t>(positions_[i]);
  place.stored_limit = area.end - area.digest_size - place.stored_offset;
  return place;
}

std::int64_t BloscpackPage::chunk_at(std::int64_t content_offset) const {
  if (geometry_.uniform) return geometry_.chunk_at(content_offset);
  const auto behind =
      std::upper_bound(content_offsets_.begin(), content_offsets_.end(), content_offset);
  if (behind == content_offsets_.begin() || behind == content_offsets_.end())
    codec::throw_malformed(failure_.empty()
                               ? fmt::format("content offset {} is not in the {} chunks from {} on",
                                             content_offset, count_, first_)
                               : failure_);
  return first_ + (behind - content_offsets_.begin() - 1);
}

std::size_t BloscpackPage::memory() const {
  return sizeof(*this) + failure_.capacity() +
         (positions_.capacity() + content_offsets_.capacity()) * sizeof(std::int64_t);
}

}  // namespace bloscfs::frame::inline bloscpack
