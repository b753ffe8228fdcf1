#include "fs/file_view.hpp"

#include <algorithm>
#include <utility>

#include "fs/npy.hpp"

namespace bloscfs::fs {
namespace {

/// Steps that a search for the next hole or data may take before it settles for what it knows:
/// reporting a hole as data is always allowed.
constexpr int kMaxSeekSteps = 1 << 20;

bool is_zero(codec::SpecialValue value) {
  return value == codec::SpecialValue::zero || value == codec::SpecialValue::uninit;
}

}  // namespace

ViewShape view_shape(const frame::FrameInfo& info, bool raw) {
  ViewShape shape;
  shape.blocked = info.array && info.kind != frame::ContainerKind::bloscpack;
  shape.content_size = info.nbytes;
  if (shape.blocked) shape.content_size = frame::ArrayGeometry(*info.array, info.typesize).nbytes();
  if (raw) return shape;
  if (auto header = npy_view(info)) {
    shape.is_array = true;
    shape.header = std::move(*header);
  }
  return shape;
}

FileView::FileView(ViewShape shape, FrameReader reader)
    : shape_(std::move(shape)), reader_(std::move(reader)) {
  const frame::FrameInfo& info = reader_.snapshot().info();
  if (shape_.blocked) geometry_.emplace(*info.array, info.typesize);
}

void FileView::read(std::int64_t offset, std::int64_t size, ReplyData& out) const {
  if (offset >= this->size()) return;
  size = std::min(size, this->size() - offset);
  const auto header_size = static_cast<std::int64_t>(shape_.header.size());
  if (offset < header_size && size > 0) {
    const std::int64_t part = std::min(size, header_size - offset);
    const auto bytes = out.add_owned(static_cast<std::size_t>(part));
    std::copy_n(shape_.header.begin() + offset, part, bytes.begin());
    offset += part;
    size -= part;
  }
  if (size > 0) read_content(offset - header_size, size, out);
}

void FileView::read_content(std::int64_t offset, std::int64_t size, ReplyData& out) const {
  if (geometry_)
    read_blocked(offset, out.add_owned(static_cast<std::size_t>(size)));
  else
    reader_.read(offset, size, out);
}

void FileView::read_blocked(std::int64_t offset, codec::MutableBytes out) const {
  const auto copy_part = [&](const frame::ArrayGeometry::BlockPart& part) {
    const auto copy_runs = [&](const FrameReader::Span& span, std::int64_t position) {
      // A run may cross from one stored block to the next if the chunk has its own block size.
      for (const auto& run : *part.runs) {
        const std::int64_t begin = std::max(run.in_block, position);
        const std::int64_t end = std::min(run.in_block + run.length, position + span.size);
        if (begin >= end) continue;
        const std::int64_t target = run.array_offset + (begin - run.in_block) - offset;
        span.copy(begin - position, out.subspan(static_cast<std::size_t>(target),
                                                static_cast<std::size_t>(end - begin)));
      }
    };
    reader_.visit_chunk(part.chunk, part.chunk_offset, part.block_size, copy_runs);
  };
  geometry_->for_each_block(offset, static_cast<std::int64_t>(out.size()), copy_part);
}

void FileView::prefetch(std::int64_t offset, std::int64_t size) const {
  const auto header_size = static_cast<std::int64_t>(shape_.header.size());
  const std::int64_t begin = std::max(offset, header_size);
  const std::int64_t end = std::min(offset + size, this->size());
  if (begin >= end) return;
  if (geometry_) {
    geometry_->for_each_block(
        begin - header_size, end - begin, [&](const frame::ArrayGeometry::BlockPart& part) {
          reader_.prefetch_chunk(part.chunk, part.chunk_offset, part.block_size);
        });
    return;
  }
  for (std::int64_t at = begin - header_size; at < end - header_size;) {
    const frame::ChunkPlace place = reader_.place_at(at);
    const std::int64_t chunk_end = place.content_offset + place.nbytes;
    const std::int64_t part = std::min(end - header_size, chunk_end) - at;
    reader_.prefetch_chunk(place.number, at - place.content_offset, part);
    at += part;
  }
}

bool FileView::chunk_is_hole(std::int64_t chunk) const {
  return is_zero(reader_.place(chunk).special);
}

FileView::Extent FileView::flat_extent_at(std::int64_t content_offset) const {
  const frame::ChunkPlace place = reader_.place_at(content_offset);
  const auto page = reader_.page_of_chunk(place.number);
  if (page->uniform_special()) {
    const frame::ChunkPlace last = page->place(page->first_chunk() + page->chunk_count() - 1);
    return {last.content_offset + last.nbytes, is_zero(place.special)};
  }
  return {place.content_offset + place.nbytes, is_zero(place.special)};
}

bool FileView::slab_is_hole(const frame::ArrayGeometry::Slab& slab) const {
  for (std::int64_t chunk = slab.first_chunk; chunk < slab.last_chunk;) {
    const auto page = reader_.page_of_chunk(chunk);
    if (!is_zero(page->place(chunk).special)) return false;
    chunk = page->uniform_special() ? page->first_chunk() + page->chunk_count() : chunk + 1;
  }
  return true;
}

FileView::Extent FileView::blocked_extent_at(std::int64_t content_offset, SlabMemo& memo) const {
  if (content_offset >= memo.end) {
    const auto slab = geometry_->slab_at(content_offset);
    memo = {slab.end, slab_is_hole(slab)};
  }
  if (memo.hole) return {memo.end, true};
  const auto run = geometry_->chunk_run(content_offset);
  return {run.end, chunk_is_hole(run.chunk)};
}

FileView::Extent FileView::extent_at(std::int64_t content_offset, SlabMemo& memo) const {
  if (const auto special = reader_.snapshot().all_chunks_special())
    return {shape_.content_size, is_zero(*special)};
  return geometry_ ? blocked_extent_at(content_offset, memo) : flat_extent_at(content_offset);
}

std::optional<std::int64_t> FileView::seek(std::int64_t offset, bool want_hole) const {
  if (offset < 0 || offset >= size()) return std::nullopt;
  const auto header_size = static_cast<std::int64_t>(shape_.header.size());
  if (offset < header_size) {
    if (!want_hole) return offset;
    offset = header_size;
  }
  SlabMemo memo;
  for (int step = 0; offset < size(); step++) {
    if (step == kMaxSeekSteps) return want_hole ? size() : offset;
    const Extent extent = extent_at(offset - header_size, memo);
    if (extent.hole == want_hole) return offset;
    offset = header_size + extent.end;
  }
  return want_hole ? std::optional(size()) : std::nullopt;
}

std::optional<std::int64_t> FileView::seek_data(std::int64_t offset) const {
  return seek(offset, false);
}

std::optional<std::int64_t> FileView::seek_hole(std::int64_t offset) const {
  return seek(offset, true);
}

}  // namespace bloscfs::fs
