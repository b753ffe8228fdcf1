#include "fs/view/frame_reader.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "codec/error.hpp"
#include "fs/view/read_hints.hpp"

namespace bloscfs::fs {
namespace {

/// Larger blocks are copied into the reply, so that a request never pins more than a few MiB.
constexpr std::int64_t kLargestPinned = std::int64_t{1} << 20;
/// A read of at most this size is a small one (Purpose::small_read). If nothing was read ahead for
/// it, it may be the only read of its block.
constexpr std::int64_t kLargestSmallRead = 64 << 10;
/// The best compression that add_ahead() counts on. Contents that are compressed better are not
/// asked for further ahead.
constexpr double kLeastPacked = 1.0 / 64;
/// How many chunks of the index one read-ahead goes through.
constexpr int kMostAhead = 4096;

/// Adds a span's bytes to a reply: as zeros, shared, or copied.
void add_span(const BlockReader::Span& span, ReplyData& out) {
  const codec::SpecialValue special =
      span.special == nullptr ? codec::SpecialValue::none : span.special->header().special;
  if (special == codec::SpecialValue::zero || special == codec::SpecialValue::uninit)
    out.add_zeros(static_cast<std::size_t>(span.size));
  else if (span.block && static_cast<std::int64_t>(span.block->view().size()) <= kLargestPinned)
    out.add_shared(span.block, span.bytes);
  else
    span.copy(0, out.add_owned(static_cast<std::size_t>(span.size)));
}

}  // namespace

FrameReader::FrameReader(std::shared_ptr<const frame::Snapshot> snapshot, std::uint64_t content_id,
                         std::uint64_t index_id, BlockCache& cache, Stats& stats,
                         ReaderSettings settings)
    : source_(std::make_shared<const CachedSnapshot>(std::move(snapshot), content_id, index_id,
                                                     cache, stats, settings)),
      index_(source_),
      chunks_(source_),
      blocks_(source_),
      far_readers_(source_->snapshot().most_ahead() > 0 ? std::make_shared<FarReaders>()
                                                        : nullptr) {}

template <typename Use>
void FrameReader::for_each_chunk(std::int64_t offset, std::int64_t size, ReadRequest& request,
                                 Use use) const {
  if (size <= 0) return;
  frame::ChunkPlace place = index_.place_at(offset, request);
  for (;;) {
    const std::int64_t chunk_offset = offset - place.content_offset;
    const std::int64_t part = std::min<std::int64_t>(size, place.nbytes - chunk_offset);
    use(place, chunk_offset, part);
    offset += part;
    size -= part;
    if (size == 0) return;
    place = index_.place_after(place, request);
  }
}

bool FrameReader::expect(std::int64_t offset, std::int64_t size, ReadRequest& request,
                         Purpose purpose) const {
  if (!snapshot().is_over_network()) return true;
  ReadHints hints(source_, index_);
  for_each_chunk(offset, size, request,
                 [&](const frame::ChunkPlace& place, std::int64_t chunk_offset, std::int64_t part) {
                   hints.add(place, chunk_offset, part, request);
                 });
  if (purpose != Purpose::readahead) add_ahead(request, offset, size, hints);
  return hints.send();
}

void FrameReader::add_ahead(Request& request, std::int64_t offset, std::int64_t size,
                            ReadHints& hints) const {
  const frame::FrameInfo& info = snapshot().info();
  const std::int64_t most = snapshot().most_ahead();
  if (!far_readers_ || size <= 0 || info.nbytes <= 0) return;
  const double packed = static_cast<double>(info.cbytes) / static_cast<double>(info.nbytes);
  const double most_contents = static_cast<double>(most) / std::clamp(packed, kLeastPacked, 1.0);
  const auto ahead = far_readers_->on_read(
      {static_cast<std::uint64_t>(offset), static_cast<std::uint64_t>(offset + size)},
      static_cast<std::size_t>(most_contents));
  const auto begin = static_cast<std::int64_t>(ahead.begin);
  const auto end =
      static_cast<std::int64_t>(std::min(ahead.end, static_cast<std::uint64_t>(info.nbytes)));
  if (begin >= end) return;
  try {
    // A request of its own, so that the reader's own request keeps its page of the index.
    ReadRequest reading = begin_request(request);
    frame::ChunkPlace place = index_.place_at(begin, reading);
    for (int chunks = 0; chunks < kMostAhead; chunks++) {
      if (place.content_offset >= begin) hints.add_later(place);
      if (place.content_offset + place.nbytes >= end) return;
      place = index_.place_after(place, reading);
    }
  } catch (const std::system_error&) {
    // The reader that reaches those chunks gets the error.
  }
}

std::shared_ptr<const frame::OpenedChunk> FrameReader::open_part(std::int64_t chunk,
                                                                 std::int64_t chunk_offset,
                                                                 std::int64_t size,
                                                                 ReadRequest& request) const {
  const frame::ChunkPlace place = index_.place_of_chunk(chunk, request);
  if (snapshot().is_over_network()) {
    ReadHints hints(source_, index_);
    hints.add(place, chunk_offset, size, request);
    hints.send();
  }
  return chunks_.open(place, request);
}

void FrameReader::read(Request& request, std::int64_t offset, std::int64_t size,
                       ReplyData& out) const {
  const Purpose purpose = size <= kLargestSmallRead ? Purpose::small_read : Purpose::read;
  ReadRequest reading = begin_request(request);
  expect(offset, size, reading, purpose);
  for_each_chunk(offset, size, reading,
                 [&](const frame::ChunkPlace& place, std::int64_t chunk_offset, std::int64_t part) {
                   read_chunk(place, chunk_offset, part, purpose, out, reading);
                 });
}

void FrameReader::read_chunk(const frame::ChunkPlace& place, std::int64_t chunk_offset,
                             std::int64_t size, Purpose purpose, ReplyData& out,
                             ReadRequest& request) const {
  const auto opened = chunks_.open(place, request);
  for (std::int64_t done = 0; done < size;) {
    const BlockReader::Span span =
        blocks_.span_at(*opened, chunk_offset + done, size - done, request, purpose);
    add_span(span, out);
    if (out.is_kept_by_kernel()) blocks_.note_given(*opened, span, span.size);
    done += span.size;
  }
}

void FrameReader::prefetch(Request& request, std::int64_t offset, std::int64_t size,
                           const std::function<bool(std::int64_t end)>& reached) const {
  ReadRequest reading = begin_request(request);
  if (!expect(offset, size, reading, Purpose::readahead)) return;
  for_each_chunk(offset, size, reading,
                 [&](const frame::ChunkPlace& place, std::int64_t chunk_offset, std::int64_t part) {
                   const std::int64_t end = chunk_offset + part;
                   // A reader may overtake the threads that read ahead for it. It decodes what it
                   // has reached itself.
                   if (source_->is_tiny(place) || reached(place.content_offset + end)) return;
                   const auto opened = chunks_.open(place, reading);
                   for (std::int64_t at = chunk_offset;
                        at < end && !reached(place.content_offset + at + 1);)
                     at = blocks_.prefetch(*opened, at, 1, reading);
                 });
}

std::shared_ptr<const frame::OpenedChunk> FrameReader::open_chunk(std::int64_t chunk,
                                                                  ReadRequest& request) const {
  return chunks_.open(index_.place_of_chunk(chunk, request), request);
}

std::shared_ptr<const frame::OpenedChunk> FrameReader::open_chunk(Request& request,
                                                                  std::int64_t chunk) const {
  ReadRequest reading = begin_request(request);
  return open_chunk(chunk, reading);
}

bool FrameReader::forget_chunk(Request& request, std::int64_t chunk) const {
  // A chunk that the old state lacks has nothing in the cache.
  if (chunk >= snapshot().info().nchunks) return true;
  try {
    blocks_.forget(*open_chunk(request, chunk));
  } catch (const codec::Error&) {
    // A damaged chunk has no blocks in the cache.
  } catch (const std::exception&) {
    return false;
  }
  chunks_.forget(chunk);
  return true;
}

void FrameReader::require_checksum(Request& request, const frame::OpenedChunk& opened) const {
  if (!snapshot().has_checksums() || source_->settings().verify_checksums) return;
  try {
    chunks_.verify_checksum(request, opened);
  } catch (const frame::ChecksumFailure&) {
    throw;
  } catch (const codec::Error&) {
    // The list of checksums cannot be read. A commit drops such a list.
  }
}

void FrameReader::require_checksums(Request& request, std::int64_t offset,
                                    std::int64_t size) const {
  ReadRequest reading = begin_request(request);
  for_each_chunk(offset, size, reading,
                 [&](const frame::ChunkPlace& place, std::int64_t, std::int64_t) {
                   require_checksum(request, *chunks_.open(place, reading));
                 });
}

std::int64_t FrameReader::check_chunk(Request& request, std::int64_t chunk) const {
  ReadRequest reading = begin_request(request);
  const auto opened = open_chunk(chunk, reading);
  if (!source_->settings().verify_checksums) chunks_.verify_checksum(request, *opened);
  if (!opened->chunk.header().is_special()) {
    blocks_.check(*opened, reading);
    return opened->chunk.nbytes();
  }
  // Filling in one byte fails if the chunk has no special value.
  std::uint8_t first_byte = 0;
  if (opened->chunk.nbytes() > 0) opened->chunk.fill_special(0, {&first_byte, 1});
  return 0;
}

}  // namespace bloscfs::fs
