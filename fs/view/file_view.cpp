#include "fs/view/file_view.hpp"

#include <algorithm>
#include <utility>

#include "codec/error.hpp"
#include "codec/special_value.hpp"
#include "frame/array/array_geometry.hpp"
#include "fs/numpy/npy.hpp"
#include "fs/view/part_reader.hpp"
#include "fs/view/stored_contents.hpp"

namespace bloscfs::fs {
namespace {

/// Estimated bytes that an open file takes in addition to what is read of it: handle, content,
/// view, node.
constexpr std::size_t kOpenCost = 3 << 10;
/// Work for one step of a search for the next hole or data, in bytes that could be decoded in the
/// same time.
constexpr std::int64_t kSeekStep = 64;

}  // namespace

ViewShape view_shape(const frame::FrameInfo& info, bool raw) {
  ViewShape shape;
  shape.blocked = info.has_blocked_array();
  shape.content_size = info.nbytes;
  if (shape.blocked) {
    // The elements, without the padding of blocks at the edges.
    shape.content_size = frame::ArrayGeometry(*info.array, info.typesize).nbytes();
    shape.fortran_order = info.array->fortran_order;
  }
  if (raw) return shape;
  if (auto header = npy_view(info)) {
    shape.is_array = true;
    shape.header = std::move(*header);
  }
  return shape;
}

FileView::FileView(Request& request, ViewShape shape, FrameReader reader)
    : shape_(std::move(shape)),
      reader_(std::move(reader)),
      held_(request, reader_.cache().budget(), memory()) {
  const frame::FrameInfo& info = reader_.snapshot().info();
  if (!shape_.blocked) return;
  frame::ArrayInfo array = *info.array;
  array.fortran_order = shape_.fortran_order;
  geometry_.emplace(array, info.typesize);
}

std::size_t FileView::memory() const {
  return kOpenCost + reader_.snapshot().memory() + shape_.header.capacity();
}

const std::optional<std::string>& FileView::missing(Request& request) const {
  std::call_once(missing_->was_asked,
                 [&] { missing_->contents = missing_contents(request, reader_); });
  return missing_->contents;
}

void FileView::require_contents(Request& request) const {
  if (const auto& what = missing(request)) codec::throw_unsupported(*what);
}

void FileView::read(Request& request, std::int64_t offset, std::int64_t size,
                    ReplyData& out) const {
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
  if (size > 0) read_content(request, offset - header_size, size, out);
}

void FileView::read_content(Request& request, std::int64_t offset, std::int64_t size,
                            ReplyData& out) const {
  require_contents(request);
  if (!geometry_) return reader_.read(request, offset, size, out);
  // Add the bytes only when they are complete: after a failure, unfilled memory must not be sent.
  const auto bytes =
      std::make_shared<PooledBytes>(reader_.cache().pages(), static_cast<std::size_t>(size));
  read_blocked(request, offset, bytes->span(), out.is_kept_by_kernel());
  out.add_shared(bytes, bytes->view());
}

void FileView::read_blocked(Request& request, std::int64_t offset, codec::MutableBytes out,
                            bool kept_by_kernel) const {
  ReadRequest reading = reader_.begin_request(request);
  std::shared_ptr<const frame::OpenedChunk> opened;
  const auto copy_part = [&](const frame::ArrayGeometry::BlockPart& part) {
    if (!opened || opened->place.number != part.chunk)
      opened = reader_.open_chunk(part.chunk, reading);
    PartReader(reader_.blocks(), *opened, part, reading, kept_by_kernel).read(offset, out);
  };
  geometry_->for_each_block(offset, static_cast<std::int64_t>(out.size()), copy_part);
}

void FileView::require_checksums(Request& request, std::int64_t offset, std::int64_t size) const {
  if (!reader_.snapshot().has_checksums()) return;
  const auto header_size = static_cast<std::int64_t>(shape_.header.size());
  const std::int64_t begin = std::max<std::int64_t>(0, offset - header_size);
  const std::int64_t end = std::min(offset + size, this->size()) - header_size;
  if (begin >= end) return;
  if (!geometry_) return reader_.require_checksums(request, begin, end - begin);
  std::optional<std::int64_t> last;
  geometry_->for_each_block(begin, end - begin, [&](const frame::ArrayGeometry::BlockPart& part) {
    if (last == part.chunk) return;
    reader_.require_checksum(request, *reader_.open_chunk(request, part.chunk));
    last = part.chunk;
  });
}

bool FileView::add_chunks_of(std::int64_t offset, std::int64_t size, std::size_t most,
                             std::set<std::int64_t>& chunks) const {
  const frame::FrameInfo& info = reader_.snapshot().info();
  const auto header_size = static_cast<std::int64_t>(shape_.header.size());
  if (offset < header_size || offset + size > this->size()) return false;
  if (info.variable_chunks || info.chunksize <= 0) return false;
  offset -= header_size;
  if (geometry_) {
    geometry_->for_each_block(offset, size, [&](const frame::ArrayGeometry::BlockPart& part) {
      if (chunks.size() <= most) chunks.insert(part.chunk);
    });
    return chunks.size() <= most;
  }
  const std::int64_t last = (offset + size - 1) / info.chunksize;
  for (std::int64_t chunk = offset / info.chunksize; chunk <= last; chunk++) {
    if (chunks.size() > most) return false;
    chunks.insert(chunk);
  }
  return chunks.size() <= most;
}

void FileView::prefetch(Request& request, std::int64_t offset, std::int64_t size,
                        const std::atomic<std::int64_t>& reached) const {
  const auto header_size = static_cast<std::int64_t>(shape_.header.size());
  const std::int64_t begin = std::max({offset, header_size, reached.load()});
  const std::int64_t end = std::min(offset + size, this->size());
  if (begin >= end) return;
  if (geometry_)
    prefetch_blocked(request, begin - header_size, end - begin, reached);
  else
    reader_.prefetch(request, begin - header_size, end - begin, [&](std::int64_t content_offset) {
      return header_size + content_offset <= reached;
    });
}

void FileView::prefetch_blocked(Request& request, std::int64_t offset, std::int64_t size,
                                const std::atomic<std::int64_t>& reached) const {
  ReadRequest reading = reader_.begin_request(request);
  const auto header_size = static_cast<std::int64_t>(shape_.header.size());
  std::shared_ptr<const frame::OpenedChunk> opened;
  geometry_->for_each_block(offset, size, [&](const frame::ArrayGeometry::BlockPart& part) {
    // Skip the block only if the reader has passed its last row. A reader goes through all blocks
    // of one layer at the same time.
    const auto last = part.rows->back().last();
    if (header_size + last.array_offset + last.length <= reached) return;
    if (!opened || opened->place.number != part.chunk)
      opened = reader_.open_chunk(part.chunk, reading);
    std::int64_t fetched = part.chunk_offset;
    for (const auto& rows : *part.rows) {
      const std::int64_t begin = std::max(fetched, part.chunk_offset + rows.first.in_block);
      const std::int64_t end = part.chunk_offset + rows.last().in_block + rows.last().length;
      if (begin < end) fetched = reader_.blocks().prefetch(*opened, begin, end - begin, reading);
    }
  });
}

bool FileView::Search::should_continue() {
  reading.work().check();
  reading.work().add(kSeekStep);
  return !reading.work().exhausted();
}

FileView::Extent FileView::flat_extent_at(std::int64_t content_offset, Search& search) const {
  const frame::ChunkPlace place = reader_.index().place_at(content_offset, search.reading);
  const auto page = reader_.index().page_of_chunk(place.number, search.reading);
  // If all chunks of the page are holes, or if none is, the extent goes to the end of the page.
  if (!page->uniform_hole())
    return {place.content_offset + place.nbytes, codec::reads_as_zeros(place.special)};
  const frame::ChunkPlace last = page->place(page->first_chunk() + page->chunk_count() - 1);
  return {last.content_offset + last.nbytes, codec::reads_as_zeros(place.special)};
}

bool FileView::slab_is_hole(const frame::ArrayGeometry::Slab& slab, Search& search) const {
  for (std::int64_t chunk = slab.first_chunk; chunk < slab.last_chunk;) {
    if (!search.should_continue()) return false;
    const auto page = reader_.index().page_of_chunk(chunk, search.reading);
    if (!codec::reads_as_zeros(page->place(chunk).special)) return false;
    chunk = page->uniform_hole() ? page->first_chunk() + page->chunk_count() : chunk + 1;
  }
  return true;
}

FileView::Extent FileView::blocked_extent_at(std::int64_t content_offset, Search& search) const {
  if (content_offset >= search.slab_end) {
    const auto slab = geometry_->slab_at(content_offset);
    search.slab_is_hole = slab_is_hole(slab, search);
    search.slab_end = slab.end;
  }
  if (search.slab_is_hole) return {search.slab_end, true};
  const auto run = geometry_->chunk_run(content_offset);
  return {run.end,
          codec::reads_as_zeros(reader_.index().place_of_chunk(run.chunk, search.reading).special)};
}

std::int64_t FileView::seek_content(Request& request, std::int64_t offset, bool want_hole) const {
  const std::int64_t end = shape_.content_size;
  if (const auto special = reader_.snapshot().all_chunks_special())
    return codec::reads_as_zeros(*special) == want_hole ? offset : end;
  Search search(request, reader_);
  while (offset < end) {
    // A search that takes too long may report data where a hole is.
    if (!search.should_continue()) return want_hole ? end : offset;
    const Extent extent =
        geometry_ ? blocked_extent_at(offset, search) : flat_extent_at(offset, search);
    if (extent.hole == want_hole) return offset;
    offset = extent.end;
  }
  return end;
}

std::optional<std::int64_t> FileView::seek(Request& request, std::int64_t offset,
                                           bool want_hole) const {
  if (offset < 0 || offset >= size()) return std::nullopt;
  // A container without its contents counts as data as a whole. Copying programs skip holes, and
  // would not notice that they cannot read the contents.
  if (missing(request)) return want_hole ? size() : offset;
  const auto header_size = static_cast<std::int64_t>(shape_.header.size());
  if (offset < header_size && !want_hole) return offset;
  const std::int64_t begin = std::max<std::int64_t>(offset - header_size, 0);
  const std::int64_t found = header_size + seek_content(request, begin, want_hole);
  if (found == size() && !want_hole) return std::nullopt;
  return found;
}

std::optional<std::int64_t> FileView::seek_data(Request& request, std::int64_t offset) const {
  return seek(request, offset, false);
}

std::optional<std::int64_t> FileView::seek_hole(Request& request, std::int64_t offset) const {
  return seek(request, offset, true);
}

}  // namespace bloscfs::fs
