#include "fs/content/size_limit.hpp"

#include <algorithm>
#include <cerrno>

#include <fmt/core.h>

#include "codec/bytes.hpp"
#include "codec/compressor/codec_table.hpp"
#include "codec/filter/filter_table.hpp"
#include "codec/filter/pipeline.hpp"
#include "frame/array/array_shapes.hpp"
#include "frame/header/frame_limits.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/encoding/new_frame.hpp"

namespace bloscfs::fs {
namespace {

using frame::FrameInfo;
using frame::max_chunk_count;

void require(bool fits, std::int64_t size) {
  if (!fits)
    frame::throw_errno(EFBIG, fmt::format("{} bytes are more than a frame can hold", size));
}

/// Throws EFBIG if the existing frame cannot have `count` chunks. The limit is lower for a frame
/// with checksums.
void require_chunks(const StoredFile& file, std::int64_t count, std::int64_t size) {
  require(count <= max_chunk_count(file.snapshot->has_checksums()), size);
}

/// Changing a part of a chunk needs the whole chunk in memory three times: as stored, decoded, and
/// new.
void require_memory(const StoredFile& file) {
  if (!can_be_encoded(file.snapshot->info().chunksize, file.memory))
    frame::throw_errno(
        EFBIG, fmt::format("chunks of {} bytes need more than cache_size: mount with a larger one",
                           file.snapshot->info().chunksize));
}

/// Throws EFBIG if an array that is shown without an NPY header, and so grows by rows, would have
/// too many chunks.
void require_rows(const StoredFile& file, std::int64_t size) {
  const FrameInfo& info = file.snapshot->info();
  frame::ArrayInfo array = *info.array;
  const std::int64_t row = frame::row_size(array, info.typesize);
  if (!array.shape.empty() && row > 0) array.shape.front() = size / row;
  const auto count = frame::array_chunk_count(array, info.typesize);
  require(count.has_value(), size);
  require_chunks(file, *count, size);
}

/// Checks the limits of a flat frame that replaces the present container.
void require_flat(const StoredFile& file, std::int64_t size) {
  const std::int64_t chunksize = min_flat_chunk(file.options);
  const bool has_checksums =
      file.options.checksum || (file.snapshot != nullptr && file.snapshot->has_checksums());
  require(codec::ceil_div<std::int64_t>(size, chunksize) <= max_chunk_count(has_checksums), size);
  const std::int64_t kept = file.view == nullptr ? 0 : std::min(size, file.view->size());
  if (!can_be_rewritten(codec::ceil_div<std::int64_t>(kept, chunksize), file.memory))
    frame::throw_errno(
        EFBIG, fmt::format("{} bytes cannot become a flat frame with this cache_size", kept));
}

}  // namespace

bool can_be_changed_in_part(const FrameInfo& info) {
  if (info.vl_blocks || (info.codec && !codec::can_compress(*info.codec))) return false;
  const bool has_shape = info.block_shape.is_known();
  if (info.codec && codec::find_codec(*info.codec)->depends_on_shape && !has_shape) return false;
  return std::all_of(info.filters.begin(), info.filters.end(), [&](const codec::FilterStep& step) {
    return codec::is_supported(step.id) &&
           (has_shape || !codec::find_filter(step.id)->depends_on_shape);
  });
}

void require_storable(const StoredFile& file, std::int64_t begin, std::int64_t size) {
  if (file.view == nullptr) return require_flat(file, size);
  const FrameInfo& info = file.snapshot->info();
  const ViewShape& shape = file.view->shape();
  const bool keeps_size = size == file.view->size();
  // A commit edits an array in place if its size and header stay, or if it has no header (raw).
  // Otherwise it stores everything as a new flat frame.
  if (shape.is_array || shape.blocked) {
    const bool keeps_header = begin >= static_cast<std::int64_t>(shape.header.size());
    if ((keeps_size && keeps_header) || file.raw) require_memory(file);
    if (keeps_size && keeps_header) return require_chunks(file, info.nchunks, size);
    return file.raw ? require_rows(file, size) : require_flat(file, size);
  }
  if (info.variable_chunks && keeps_size) return require_chunks(file, info.nchunks, size);
  if (info.variable_chunks || info.chunksize <= 0) return require_flat(file, size);
  require_memory(file);
  require_chunks(file, codec::ceil_div<std::int64_t>(size, info.chunksize), size);
}

}  // namespace bloscfs::fs
