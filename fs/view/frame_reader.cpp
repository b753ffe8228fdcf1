#include "fs/view/frame_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "codec/error.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::fs {
namespace {

/// Scratch that a thread keeps between blocks.
constexpr std::size_t kKeptScratch = std::size_t{1} << 20;
/// Blocks above this size are copied out, so that a request never pins more than a few MiB.
constexpr std::int64_t kLargestPinned = std::int64_t{1} << 20;
/// Working memory that opening a chunk or a map is booked with as long as it takes little.
constexpr std::int64_t kSmallWork = 64 << 10;
/// What an opened chunk may take before it needs a permit: the starts of 32768 blocks.
constexpr std::int64_t kSmallChunk = 256 << 10;
/// Tiny blocks that are stored this near to each other are read at once.
constexpr std::int64_t kLargestGather = 256 << 10;

/// A read of no more than this that finds nothing read ahead may well be the only one of its block.
constexpr std::int64_t kLargestSmallRead = 64 << 10;

// Work besides decoding, in bytes that could be decoded meanwhile.
constexpr std::int64_t kBlockWork = 256;
constexpr std::int64_t kPerByteOfStarts = 4;
constexpr std::int64_t kPerMappedChunk = 128;

std::int64_t end_of(const codec::ByteRange& range) { return range.offset + range.size; }

bool is_too_large(const codec::Error& error) {
  return error.code() == codec::FormatErrc::too_large;
}

std::int64_t decode_memory(const codec::Chunk& chunk, const BlockRun& run) {
  return chunk.decode_memory() + (run.count() > 1 ? kRunSize + kLargestGather : 0);
}

/// Recorded checksums that are read at once.
constexpr std::int64_t kChecksums = 1024;

struct Checksums {
  std::vector<std::uint64_t> values;
  std::size_t memory() const { return sizeof(*this) + values.capacity() * sizeof(std::uint64_t); }
};

constexpr std::int64_t kIndex = -1;

/// Runs `step`; what it finds bad is said to be in that chunk, or in the index.
template <typename Step>
auto naming_chunk(std::int64_t chunk, Step step) {
  try {
    return step();
  } catch (const codec::Error& error) {
    const std::string part = chunk == kIndex ? "index" : "chunk " + std::to_string(chunk);
    throw codec::Error(static_cast<codec::FormatErrc>(error.code().value()),
                       part + ": " + error.what());
  }
}

}  // namespace

codec::BlockDecoder& thread_decoder() {
  static thread_local codec::BlockDecoder decoder = [] {
    codec::BlockDecoder made;
    made.set_checkpoint(&RequestLimits::check);
    return made;
  }();
  return decoder;
}

FrameReader::FrameReader(std::shared_ptr<const frame::Snapshot> snapshot, std::uint64_t content_id,
                         std::uint64_t index_id, BlockCache& cache, Stats& stats,
                         ReaderSettings settings)
    : snapshot_(std::move(snapshot)),
      content_id_(content_id),
      index_id_(index_id),
      cache_(cache),
      stats_(stats),
      settings_(settings) {}

CacheKey FrameReader::key(CacheKind kind, std::int64_t item, std::int32_t block) const {
  const bool is_index =
      kind == CacheKind::index_page || kind == CacheKind::chunk_map || kind == CacheKind::checksums;
  return {is_index ? index_id_ : content_id_, item, block, kind};
}

void FrameReader::check_unchanged() const {
  if (!snapshot_->unchanged()) frame::throw_errno(EIO, "source was changed while in use");
}

const frame::ChunkMap* FrameReader::chunk_map(Request& request) const {
  if (!request.map_ && snapshot_->has_chunk_map()) {
    const std::int64_t memory = std::max(kSmallWork, snapshot_->chunk_map_memory());
    request.map_ = get_permitted<frame::ChunkMap>(key(CacheKind::chunk_map, 0), memory, [&] {
      if (snapshot_->needs_chunk_map())
        request.work_.begin(snapshot_->info().nchunks * kPerMappedChunk);
      std::shared_ptr<const frame::ChunkMap> map = unless_changed([&] {
        return naming_chunk(kIndex, [&] {
          return snapshot_->read_chunk_map(cache_.capacity() / 2, thread_decoder());
        });
      });
      thread_decoder().trim(kKeptScratch);
      return map;
    });
  }
  return request.map_.get();
}

std::shared_ptr<const frame::IndexPage> FrameReader::page(std::int64_t number,
                                                          Request& request) const {
  const frame::ChunkMap* const map = chunk_map(request);
  const std::int64_t memory = snapshot_->page_memory(number, map);
  return get_permitted<frame::IndexPage>(key(CacheKind::index_page, number), memory, [&] {
    request.work_.begin(memory);
    stats_.index_blocks_decoded++;
    std::shared_ptr<const frame::IndexPage> page = unless_changed([&] {
      return naming_chunk(kIndex,
                          [&] { return snapshot_->read_page(number, map, thread_decoder()); });
    });
    thread_decoder().trim(kKeptScratch);
    return page;
  });
}

std::shared_ptr<const frame::IndexPage> FrameReader::page_of_chunk(std::int64_t chunk,
                                                                   Request& request) const {
  const auto& at_hand = request.page_;
  if (!at_hand || chunk < at_hand->first_chunk() ||
      chunk - at_hand->first_chunk() >= at_hand->chunk_count())
    request.page_ = page(snapshot_->page_of_chunk(chunk, chunk_map(request)), request);
  return request.page_;
}

frame::ChunkPlace FrameReader::place(std::int64_t chunk, Request& request) const {
  return page_of_chunk(chunk, request)->place(chunk);
}

frame::ChunkPlace FrameReader::next_place(const frame::ChunkPlace& previous,
                                          Request& request) const {
  const frame::ChunkPlace next = place(previous.number + 1, request);
  if (next.content_offset != previous.content_offset + previous.nbytes)
    codec::throw_malformed("index: chunk " + std::to_string(next.number) +
                           " does not begin where the one before it ends");
  return next;
}

frame::ChunkPlace FrameReader::place_at(std::int64_t content_offset, Request& request) const {
  request.page_ = page(snapshot_->page_at(content_offset, chunk_map(request)), request);
  const frame::ChunkPlace place = request.page_->place(request.page_->chunk_at(content_offset));
  if (content_offset < place.content_offset ||
      content_offset - place.content_offset >= place.nbytes)
    codec::throw_malformed("index: chunk " + std::to_string(place.number) + " does not hold byte " +
                           std::to_string(content_offset));
  return place;
}

FrameReader::OpenedPointer FrameReader::open_chunk(std::int64_t chunk, Request& request) const {
  return open_place(place(chunk, request), request);
}

FrameReader::OpenedPointer FrameReader::open_place(const frame::ChunkPlace& place,
                                                   Request& request) const {
  if (place.special != codec::SpecialValue::none)
    return std::make_shared<const frame::OpenedChunk>(frame::OpenedChunk{
        codec::Chunk::make_special(place.special, place.nbytes, snapshot_->info().typesize),
        place,
        {}});
  const auto most = static_cast<std::int64_t>(cache_.capacity() / 2);
  try {
    return open_within(place, std::min(kSmallChunk, most), request);
  } catch (const codec::Error& error) {
    if (!is_too_large(error) || request.work_.exhausted()) throw;
  }
  const BlockCache::LargeWork permit(cache_, most);
  return open_within(place, most, request);
}

FrameReader::OpenedPointer FrameReader::open_within(const frame::ChunkPlace& place,
                                                    std::int64_t memory, Request& request) const {
  const auto open = [&] { return open_now(place, memory, request); };
  if (is_tiny(place)) return open();
  return cache_.get<frame::OpenedChunk>(key(CacheKind::opened_chunk, place.number),
                                        memory <= kSmallChunk ? kSmallWork : memory, open);
}

FrameReader::OpenedPointer FrameReader::open_now(const frame::ChunkPlace& place,
                                                 std::int64_t memory, Request& request) const {
  request.work_.begin(kBlockWork);
  stats_.chunks_opened++;
  auto opened = unless_changed([&] {
    return naming_chunk(place.number, [&] {
      return counting_failures([&] {
        return std::make_shared<const frame::OpenedChunk>(
            snapshot_->open_chunk(place, static_cast<std::size_t>(memory)));
      });
    });
  });
  request.work_.add(static_cast<std::int64_t>(opened->memory() - sizeof(*opened)) *
                    kPerByteOfStarts);
  if (settings_.verify_checksums || !snapshot_->info().checksum.empty())
    request.work_.add(opened->chunk.header().cbytes);
  if (settings_.verify_checksums) verify_checksum(*opened);
  return opened;
}

/// True for chunks that are read again rather than kept: millions of them would not be worth it.
bool FrameReader::is_tiny(const frame::ChunkPlace& place) const {
  // Checking a digest can cost more than what is in the chunk.
  return place.nbytes < kRunSize && !settings_.verify_checksums &&
         snapshot_->info().checksum.empty();
}

void FrameReader::verify_checksum(const frame::OpenedChunk& opened) const {
  // Many at once, so that reading the list is not repeated for every chunk.
  const std::int64_t number = opened.place.number;
  const std::int64_t first = number / kChecksums * kChecksums;
  const auto sums = cache_.get<Checksums>(key(CacheKind::checksums, first), kSmallWork, [&] {
    const std::int64_t count = std::min(kChecksums, snapshot_->info().nchunks - first);
    auto read = std::make_shared<Checksums>();
    read->values = unless_changed(
        [&] { return snapshot_->recorded_checksums(first, count, thread_decoder()); });
    return read;
  });
  if (sums->values.empty()) return;
  const std::uint64_t sum = sums->values[static_cast<std::size_t>(number - first)];
  if (sum != 0) counting_failures([&] { snapshot_->verify_checksum(opened, sum); });
}

void FrameReader::decode_each(const frame::OpenedChunk& opened, const BlockRun& run,
                              codec::Bytes reference, codec::MutableBytes out) const {
  const codec::Chunk& chunk = opened.chunk;
  const bool together = run.stored.size <= kLargestGather;
  codec::ByteRange held;
  PooledBytes stored;
  for (std::int32_t number = run.first; number <= run.last; number++) {
    const codec::ByteRange wanted = chunk.block_stored(number);
    if (wanted.offset < held.offset || end_of(wanted) > end_of(held)) {
      held = together ? run.stored : wanted;
      stored = PooledBytes(static_cast<std::size_t>(held.size));
      snapshot_->read_stored(opened, held, stored.span());
    }
    const codec::ByteRange content = chunk.block_content(number);
    const auto part = out.subspan(static_cast<std::size_t>(content.offset - run.content.offset),
                                  static_cast<std::size_t>(content.size));
    const codec::Bytes bytes =
        stored.view().subspan(static_cast<std::size_t>(wanted.offset - held.offset),
                              static_cast<std::size_t>(wanted.size));
    naming_chunk(opened.place.number,
                 [&] { thread_decoder().decode(chunk, number, bytes, reference, part); });
    if (number == 0) reference = part;
  }
}

FrameReader::BlockPointer FrameReader::decode(const frame::OpenedChunk& opened, const BlockRun& run,
                                              Request& request) const {
  const codec::Chunk& chunk = opened.chunk;
  BlockPointer first;
  codec::Bytes reference;
  if (run.first > 0 && chunk.needs_reference(run.first)) {
    // With the permit for the block that needs it.
    const BlockRun run_of_first = block_run_at(chunk, 0);
    first = cache_.get<Block>(key(CacheKind::block, opened.place.number, run_of_first.first),
                              decode_memory(chunk, run_of_first),
                              [&] { return decode(opened, run_of_first, request); });
    reference = first->view().first(static_cast<std::size_t>(chunk.block_content(0).size));
  }
  request.work_.begin(run.content.size + run.count() * kBlockWork);
  auto decoded = std::make_shared<Block>(static_cast<std::size_t>(run.content.size));
  unless_changed([&] {
    decode_each(opened, run, reference, decoded->bytes.span());
    return true;
  });
  thread_decoder().trim(kKeptScratch);
  stats_.blocks_decoded += static_cast<std::uint64_t>(run.count());
  return decoded;
}

FrameReader::BlockPointer FrameReader::blocks(const frame::OpenedChunk& opened, const BlockRun& run,
                                              Request& request, Purpose purpose) const {
  if (is_tiny(opened.place)) return decode(opened, run, request);
  return get_permitted<Block>(
      key(CacheKind::block, opened.place.number, run.first), decode_memory(opened.chunk, run),
      [&] { return decode(opened, run, request); }, purpose);
}

FrameReader::Span FrameReader::span_at(const frame::OpenedChunk& opened, std::int64_t chunk_offset,
                                       std::int64_t size, Request& request, Purpose purpose) const {
  const codec::Chunk& chunk = opened.chunk;
  if (chunk_offset + size > chunk.nbytes())
    codec::throw_malformed("chunk " + std::to_string(opened.place.number) + " has " +
                           std::to_string(chunk.nbytes()) + " bytes, wanted byte " +
                           std::to_string(chunk_offset + size - 1));
  if (chunk.header().is_special()) return {nullptr, {}, &chunk, chunk_offset, size, 0};
  const BlockRun run = block_run_at(chunk, chunk_offset);
  const std::int64_t from = chunk_offset - run.content.offset;
  const std::int64_t length = std::min(size, run.content.size - from);
  Span span{blocks(opened, run, request, purpose), {}, nullptr, chunk_offset, length, run.first};
  span.bytes =
      span.block->view().subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(length));
  return span;
}

void FrameReader::note_given(const frame::OpenedChunk& opened, const Span& span,
                             std::int64_t size) const {
  if (span.block && span.block->gave(static_cast<std::size_t>(size)))
    cache_.given_to_kernel(key(CacheKind::block, opened.place.number, span.run));
}

void FrameReader::Span::copy(std::int64_t from, codec::MutableBytes out) const {
  if (special != nullptr)
    special->fill_special(chunk_offset + from, out);
  else
    std::memcpy(out.data(), bytes.data() + from, out.size());
}

void FrameReader::read_chunk(const frame::ChunkPlace& place, std::int64_t chunk_offset,
                             std::int64_t size, Purpose purpose, ReplyData& out,
                             Request& request) const {
  const auto opened = open_place(place, request);
  for (std::int64_t done = 0; done < size;) {
    const Span span = span_at(*opened, chunk_offset + done, size - done, request, purpose);
    const codec::SpecialValue special =
        span.special == nullptr ? codec::SpecialValue::none : span.special->header().special;
    if (special == codec::SpecialValue::zero || special == codec::SpecialValue::uninit)
      out.add_zeros(static_cast<std::size_t>(span.size));
    else if (span.block && static_cast<std::int64_t>(span.block->view().size()) <= kLargestPinned)
      out.add_shared(span.block, span.bytes);
    else
      span.copy(0, out.add_owned(static_cast<std::size_t>(span.size)));
    if (out.is_kept_by_kernel()) note_given(*opened, span, span.size);
    done += span.size;
  }
}

void FrameReader::read(std::int64_t offset, std::int64_t size, ReplyData& out) const {
  if (size <= 0) return;
  const Purpose purpose = size <= kLargestSmallRead ? Purpose::small_read : Purpose::read;
  Request request(*this);
  frame::ChunkPlace where = place_at(offset, request);
  for (;;) {
    const std::int64_t chunk_offset = offset - where.content_offset;
    const std::int64_t part = std::min<std::int64_t>(size, where.nbytes - chunk_offset);
    read_chunk(where, chunk_offset, part, purpose, out, request);
    offset += part;
    size -= part;
    if (size == 0) return;
    where = next_place(where, request);
  }
}

bool FrameReader::forget_chunk(std::int64_t chunk) const {
  if (chunk >= snapshot_->info().nchunks) return true;
  const CacheKey opened_key = key(CacheKind::opened_chunk, chunk);
  try {
    const std::int32_t blocks = open_chunk(chunk)->chunk.block_count();
    for (std::int32_t block = 0; block < blocks; block++)
      cache_.forget(key(CacheKind::block, chunk, block));
  } catch (const codec::Error&) {
    // A damaged chunk has no blocks in the cache.
  } catch (const std::exception&) {
    return false;
  }
  cache_.forget(opened_key);
  return true;
}

void FrameReader::prefetch(std::int64_t offset, std::int64_t size,
                           const std::function<bool(std::int64_t end)>& reached) const {
  if (size <= 0) return;
  Request request(*this);
  frame::ChunkPlace where = place_at(offset, request);
  for (;;) {
    const std::int64_t chunk_offset = offset - where.content_offset;
    const std::int64_t part = std::min<std::int64_t>(size, where.nbytes - chunk_offset);
    const std::int64_t end = chunk_offset + part;
    if (!is_tiny(where) && !reached(offset + part)) {
      const auto opened = open_place(where, request);
      for (std::int64_t at = chunk_offset; at < end && !reached(where.content_offset + at + 1);)
        at = prefetch_part(*opened, at, 1, request);
    }
    offset += part;
    size -= part;
    if (size == 0) return;
    where = next_place(where, request);
  }
}

std::int64_t FrameReader::prefetch_part(const frame::OpenedChunk& opened, std::int64_t chunk_offset,
                                        std::int64_t size, Request& request) const {
  if (opened.chunk.header().is_special() || is_tiny(opened.place)) return opened.chunk.nbytes();
  const std::int64_t end = std::min<std::int64_t>(chunk_offset + size, opened.chunk.nbytes());
  while (chunk_offset < end) {
    const BlockRun run = block_run_at(opened.chunk, chunk_offset);
    if (cache_.lacks(key(CacheKind::block, opened.place.number, run.first))) {
      stats_.readahead_blocks += static_cast<std::uint64_t>(run.count());
      blocks(opened, run, request, Purpose::readahead);
    }
    chunk_offset = end_of(run.content);
  }
  return chunk_offset;
}

void FrameReader::check_chunk(std::int64_t chunk) const {
  Request request(*this);
  const frame::ChunkPlace where = place(chunk, request);
  const auto opened = open_place(where, request);
  if (!settings_.verify_checksums) verify_checksum(*opened);
  if (opened->chunk.header().is_special()) {
    std::uint8_t first_byte = 0;
    if (opened->chunk.nbytes() > 0) opened->chunk.fill_special(0, {&first_byte, 1});
    return;
  }
  for (std::int64_t at = 0; at < opened->chunk.nbytes();) {
    const BlockRun run = block_run_at(opened->chunk, at);
    blocks(*opened, run, request);
    at = end_of(run.content);
  }
}

}  // namespace bloscfs::fs
