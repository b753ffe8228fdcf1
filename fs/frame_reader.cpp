#include "fs/frame_reader.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "codec/error.hpp"

namespace bloscfs::fs {
namespace {

/// Scratch that a thread keeps between blocks.
constexpr std::size_t kKeptScratch = std::size_t{1} << 20;
/// Blocks above this size are copied out, so that a request never pins more than a few MiB.
constexpr std::int64_t kLargestPinned = std::int64_t{1} << 20;
/// Working memory that reading an index page or a chunk's header is booked with at first.
constexpr std::int64_t kSmallWork = 64 << 10;

std::unique_ptr<std::uint8_t[]> allocate(std::int64_t size) {
  return std::unique_ptr<std::uint8_t[]>(new std::uint8_t[static_cast<std::size_t>(size)]);
}

codec::MutableBytes span_of(const std::unique_ptr<std::uint8_t[]>& memory, std::int64_t size) {
  return {memory.get(), static_cast<std::size_t>(size)};
}

constexpr std::int64_t kIndex = -1;

/// Runs `work`; what it finds bad is said to be in that chunk, or in the index.
template <typename Work>
auto naming_chunk(std::int64_t chunk, Work work) {
  try {
    return work();
  } catch (const codec::Error& error) {
    const std::string part = chunk == kIndex ? "index" : "chunk " + std::to_string(chunk);
    throw codec::Error(static_cast<codec::FormatErrc>(error.code().value()),
                       part + ": " + error.what());
  }
}

}  // namespace

codec::BlockDecoder& thread_decoder() {
  static thread_local codec::BlockDecoder decoder;
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
  const bool is_index = kind == CacheKind::index_page || kind == CacheKind::chunk_map;
  return {is_index ? index_id_ : content_id_, item, block, kind};
}

void FrameReader::check_unchanged() const {
  if (!snapshot_->unchanged())
    throw std::system_error(EIO, std::generic_category(), "source was changed while in use");
}

std::shared_ptr<const frame::ChunkMap> FrameReader::chunk_map() const {
  if (!snapshot_->needs_chunk_map()) return nullptr;
  return cache_.get<frame::ChunkMap>(key(CacheKind::chunk_map, 0), kSmallWork, [&] {
    std::shared_ptr<const frame::ChunkMap> map =
        snapshot_->read_chunk_map(cache_.capacity() / 2, thread_decoder());
    check_unchanged();
    return map;
  });
}

std::shared_ptr<const frame::IndexPage> FrameReader::page(std::int64_t number,
                                                          const frame::ChunkMap* map) const {
  return cache_.get<frame::IndexPage>(
      key(CacheKind::index_page, number), snapshot_->page_memory(number, map), [&] {
        stats_.index_blocks_decoded++;
        std::shared_ptr<const frame::IndexPage> page = naming_chunk(
            kIndex, [&] { return snapshot_->read_page(number, map, thread_decoder()); });
        thread_decoder().trim(kKeptScratch);
        check_unchanged();
        return page;
      });
}

std::shared_ptr<const frame::IndexPage> FrameReader::page_of_chunk(std::int64_t chunk) const {
  const auto map = chunk_map();
  return page(snapshot_->page_of_chunk(chunk, map.get()), map.get());
}

frame::ChunkPlace FrameReader::place(std::int64_t chunk) const {
  return page_of_chunk(chunk)->place(chunk);
}

frame::ChunkPlace FrameReader::place_at(std::int64_t content_offset) const {
  const auto map = chunk_map();
  const auto found = page(snapshot_->page_at(content_offset, map.get()), map.get());
  return found->place(found->chunk_at(content_offset));
}

std::shared_ptr<const frame::OpenedChunk> FrameReader::open_chunk(std::int64_t chunk) const {
  return open_place(place(chunk));
}

std::shared_ptr<const frame::OpenedChunk> FrameReader::open_place(
    const frame::ChunkPlace& place) const {
  if (place.special != codec::SpecialValue::none)
    return std::make_shared<const frame::OpenedChunk>(frame::OpenedChunk{
        codec::Chunk::make_special(place.special, place.nbytes, snapshot_->info().typesize),
        place,
        {}});
  return cache_.get<frame::OpenedChunk>(
      key(CacheKind::opened_chunk, place.number), kSmallWork, [&] {
        stats_.chunks_opened++;
        auto opened = naming_chunk(place.number, [&] {
          return std::make_shared<const frame::OpenedChunk>(
              snapshot_->open_chunk(place, cache_.capacity() / 2));
        });
        if (settings_.verify_checksums) {
          const auto sum = snapshot_->recorded_checksum(place.number, thread_decoder());
          if (sum && *sum != 0) snapshot_->verify_checksum(*opened, *sum);
        }
        check_unchanged();
        return opened;
      });
}

std::shared_ptr<const Block> FrameReader::decode_block(const frame::OpenedChunk& opened,
                                                       std::int32_t number) const {
  const codec::Chunk& chunk = opened.chunk;
  std::shared_ptr<const Block> reference;
  if (chunk.needs_reference(number)) reference = permitted_block(opened, 0, Purpose::read);
  auto decoded = std::make_shared<Block>();
  decoded->size = static_cast<std::size_t>(chunk.block_content(number).size);
  decoded->bytes = allocate(chunk.block_content(number).size);
  const codec::ByteRange stored_range = chunk.block_stored(number);
  const auto stored = allocate(stored_range.size);
  snapshot_->read_stored(opened, stored_range, span_of(stored, stored_range.size));
  check_unchanged();
  codec::BlockDecoder& decoder = thread_decoder();
  naming_chunk(opened.place.number, [&] {
    decoder.decode(chunk, number, span_of(stored, stored_range.size),
                   reference ? reference->view() : codec::Bytes{},
                   {decoded->bytes.get(), decoded->size});
  });
  decoder.trim(kKeptScratch);
  stats_.blocks_decoded++;
  return decoded;
}

std::shared_ptr<const Block> FrameReader::block(const frame::OpenedChunk& opened,
                                                std::int32_t number, Purpose purpose) const {
  const BlockCache::LargeWork permit(cache_, opened.chunk.decode_memory());
  return permitted_block(opened, number, purpose);
}

std::shared_ptr<const Block> FrameReader::permitted_block(const frame::OpenedChunk& opened,
                                                          std::int32_t number,
                                                          Purpose purpose) const {
  return cache_.get<Block>(
      key(CacheKind::block, opened.place.number, number), opened.chunk.decode_memory(),
      [&] { return decode_block(opened, number); }, purpose);
}

FrameReader::Span FrameReader::span_at(const frame::OpenedChunk& opened, std::int64_t chunk_offset,
                                       std::int64_t size) const {
  const codec::Chunk& chunk = opened.chunk;
  if (chunk_offset + size > chunk.nbytes())
    codec::throw_malformed("chunk " + std::to_string(opened.place.number) + " has " +
                           std::to_string(chunk.nbytes()) + " bytes, wanted byte " +
                           std::to_string(chunk_offset + size - 1));
  if (chunk.header().is_special()) return {nullptr, {}, &chunk, chunk_offset, size};
  const std::int32_t number = chunk.block_at(chunk_offset);
  const codec::ByteRange content = chunk.block_content(number);
  const std::int64_t from = chunk_offset - content.offset;
  const std::int64_t length = std::min(size, content.size - from);
  Span span{block(opened, number), {}, nullptr, chunk_offset, length};
  span.bytes =
      span.block->view().subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(length));
  return span;
}

void FrameReader::Span::copy(std::int64_t from, codec::MutableBytes out) const {
  if (special != nullptr)
    special->fill_special(chunk_offset + from, out);
  else
    std::memcpy(out.data(), bytes.data() + from, out.size());
}

void FrameReader::read(std::int64_t offset, std::int64_t size, ReplyData& out) const {
  while (size > 0) {
    const frame::ChunkPlace where = place_at(offset);
    const std::int64_t chunk_offset = offset - where.content_offset;
    const std::int64_t part = std::min<std::int64_t>(size, where.nbytes - chunk_offset);
    const auto opened = open_place(where);
    for (std::int64_t done = 0; done < part;) {
      const Span span = span_at(*opened, chunk_offset + done, part - done);
      const codec::SpecialValue special =
          span.special == nullptr ? codec::SpecialValue::none : span.special->header().special;
      if (special == codec::SpecialValue::zero || special == codec::SpecialValue::uninit)
        out.add_zeros(static_cast<std::size_t>(span.size));
      else if (span.block && static_cast<std::int64_t>(span.block->size) <= kLargestPinned)
        out.add_shared(span.block, span.bytes);
      else
        span.copy(0, out.add_owned(static_cast<std::size_t>(span.size)));
      done += span.size;
    }
    offset += part;
    size -= part;
  }
}

void FrameReader::prefetch_chunk(std::int64_t chunk, std::int64_t chunk_offset,
                                 std::int64_t size) const {
  const auto opened = open_chunk(chunk);
  if (opened->chunk.header().is_special()) return;
  const std::int64_t end = std::min<std::int64_t>(chunk_offset + size, opened->chunk.nbytes());
  while (chunk_offset < end) {
    const std::int32_t number = opened->chunk.block_at(chunk_offset);
    if (!cache_.contains(key(CacheKind::block, chunk, number))) {
      stats_.readahead_blocks++;
      block(*opened, number, Purpose::readahead);
    }
    const codec::ByteRange content = opened->chunk.block_content(number);
    chunk_offset = content.offset + content.size;
  }
}

void FrameReader::forget_chunk(std::int64_t chunk) const {
  if (chunk >= snapshot_->info().nchunks) return;
  const CacheKey opened_key = key(CacheKind::opened_chunk, chunk);
  try {
    const std::int32_t blocks = open_chunk(chunk)->chunk.block_count();
    for (std::int32_t block = 0; block < blocks; block++)
      cache_.forget(key(CacheKind::block, chunk, block));
  } catch (const std::exception&) {
    // A chunk that cannot be opened has no blocks in the cache.
  }
  cache_.forget(opened_key);
}

void FrameReader::check_chunk(std::int64_t chunk) const {
  const frame::ChunkPlace where = place(chunk);
  const auto opened = open_place(where);
  const auto sum = snapshot_->recorded_checksum(chunk, thread_decoder());
  if (sum && *sum != 0 && !settings_.verify_checksums) snapshot_->verify_checksum(*opened, *sum);
  if (opened->chunk.header().is_special()) {
    std::uint8_t first_byte = 0;
    if (opened->chunk.nbytes() > 0) opened->chunk.fill_special(0, {&first_byte, 1});
    return;
  }
  for (std::int32_t number = 0; number < opened->chunk.block_count(); number++)
    block(*opened, number);
}

}  // namespace bloscfs::fs
