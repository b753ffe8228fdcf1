#include "fs/view/block_reader.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "codec/error.hpp"
#include "fs/view/named_errors.hpp"
#include "fs/view/thread_decoder.hpp"

namespace bloscfs::fs {
namespace {

/// The stored bytes of tiny blocks are read at once if they span no more than this.
constexpr std::int64_t kLargestGather = 256 << 10;
/// Work for each block in addition to its bytes, in bytes that could be decoded in the same time.
constexpr std::int64_t kBlockWork = 256;

std::int64_t decode_memory(const codec::Chunk& chunk, const BlockRun& run) {
  return chunk.decode_memory() + (run.count() > 1 ? kRunSize + kLargestGather : 0);
}

/// Reads the stored bytes of a run's blocks, all at once if they lie near each other.
class StoredRun {
 public:
  StoredRun(const CachedSnapshot& source, const frame::OpenedChunk& opened, const BlockRun& run)
      : source_(source), opened_(opened), run_(run) {}

  /// Returns the stored bytes of one block, which stay valid until the next call.
  codec::Bytes of(std::int32_t block) {
    const codec::ByteRange wanted = opened_.chunk.block_stored(block);
    if (wanted.offset < held_.offset || end_of(wanted) > end_of(held_)) {
      held_ = run_.stored.size <= kLargestGather ? run_.stored : wanted;
      bytes_ = PooledBytes(source_.cache().pages(), static_cast<std::size_t>(held_.size));
      source_.snapshot().read_stored(opened_, held_, bytes_.span());
    }
    return bytes_.view().subspan(static_cast<std::size_t>(wanted.offset - held_.offset),
                                 static_cast<std::size_t>(wanted.size));
  }

 private:
  const CachedSnapshot& source_;
  const frame::OpenedChunk& opened_;
  const BlockRun& run_;
  codec::ByteRange held_;
  PooledBytes bytes_;
};

}  // namespace

CacheKey BlockReader::key(const frame::OpenedChunk& opened, const BlockRun& run) const {
  return source_->key(CacheKind::block, opened.place.number, run.first);
}

BlockReader::BlockPointer BlockReader::get(const frame::OpenedChunk& opened, const BlockRun& run,
                                           ReadRequest& request, Purpose purpose) const {
  const auto make = [&] { return decode(opened, run, request); };
  // A tiny chunk is not worth a cache entry, which takes BlockCache::kEntryCost.
  if (source_->is_tiny(opened.place)) return make();
  return source_->get<Block>(request, key(opened, run), decode_memory(opened.chunk, run), make,
                             purpose);
}

BlockReader::BlockPointer BlockReader::reference_of(const frame::OpenedChunk& opened,
                                                    const BlockRun& run,
                                                    ReadRequest& request) const {
  if (run.first == 0 || !opened.chunk.needs_reference(run.first)) return nullptr;
  // Takes no permit, because a thread has at most one: it has the permit for the block that needs
  // the reference.
  const BlockRun first = block_run_at(opened.chunk, 0);
  return source_->cache().get<Block>(request, key(opened, first),
                                     decode_memory(opened.chunk, first),
                                     [&] { return decode(opened, first, request); });
}

BlockReader::BlockPointer BlockReader::decode(const frame::OpenedChunk& opened, const BlockRun& run,
                                              ReadRequest& request) const {
  const BlockPointer first = reference_of(opened, run, request);
  codec::Bytes reference;
  if (first)
    reference = first->view().first(static_cast<std::size_t>(opened.chunk.block_content(0).size));
  // Count the work first, so that a request at its limit ends without one more decode.
  request.work().begin(run.content.size + run.count() * kBlockWork);
  auto decoded =
      std::make_shared<Block>(source_->cache().pages(), static_cast<std::size_t>(run.content.size));
  source_->unless_changed([&] {
    decode_into(decoded->bytes.span(), opened, run, reference);
    return true;
  });
  trim_thread_decoder();
  source_->stats().blocks_decoded += static_cast<std::uint64_t>(run.count());
  return decoded;
}

void BlockReader::decode_into(codec::MutableBytes out, const frame::OpenedChunk& opened,
                              const BlockRun& run, codec::Bytes reference) const {
  const codec::Chunk& chunk = opened.chunk;
  StoredRun stored(*source_, opened, run);
  for (std::int32_t block = run.first; block <= run.last; block++) {
    const codec::Bytes bytes = stored.of(block);
    const codec::ByteRange content = chunk.block_content(block);
    const auto part = out.subspan(static_cast<std::size_t>(content.offset - run.content.offset),
                                  static_cast<std::size_t>(content.size));
    naming_chunk(opened.place.number,
                 [&] { thread_decoder().decode(chunk, block, bytes, reference, part); });
    // Block 0 is the reference (delta) of the other blocks in its own run.
    if (block == 0) reference = part;
  }
}

BlockReader::Span BlockReader::span_at(const frame::OpenedChunk& opened, std::int64_t chunk_offset,
                                       std::int64_t size, ReadRequest& request,
                                       Purpose purpose) const {
  const codec::Chunk& chunk = opened.chunk;
  if (chunk_offset + size > chunk.nbytes())
    codec::throw_malformed("chunk " + std::to_string(opened.place.number) + " has " +
                           std::to_string(chunk.nbytes()) + " bytes, wanted byte " +
                           std::to_string(chunk_offset + size - 1));
  if (chunk.header().is_special()) return {nullptr, {}, &chunk, chunk_offset, size, 0};
  const BlockRun run = block_run_at(chunk, chunk_offset);
  const std::int64_t from = chunk_offset - run.content.offset;
  const std::int64_t length = std::min(size, run.content.size - from);
  Span span{get(opened, run, request, purpose), {}, nullptr, chunk_offset, length, run.first};
  span.bytes =
      span.block->view().subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(length));
  return span;
}

void BlockReader::Span::copy(std::int64_t from, codec::MutableBytes out) const {
  if (special != nullptr)
    special->fill_special(chunk_offset + from, out);
  else
    std::memcpy(out.data(), bytes.data() + from, out.size());
}

void BlockReader::note_given(const frame::OpenedChunk& opened, const Span& span,
                             std::int64_t size) const {
  if (span.block && span.block->gave(static_cast<std::size_t>(size)))
    source_->cache().given_to_kernel(source_->key(CacheKind::block, opened.place.number, span.run));
}

std::int64_t BlockReader::prefetch(const frame::OpenedChunk& opened, std::int64_t chunk_offset,
                                   std::int64_t size, ReadRequest& request) const {
  if (opened.chunk.header().is_special() || source_->is_tiny(opened.place))
    return opened.chunk.nbytes();
  const std::int64_t end = std::min<std::int64_t>(chunk_offset + size, opened.chunk.nbytes());
  while (chunk_offset < end) {
    const BlockRun run = block_run_at(opened.chunk, chunk_offset);
    // lacks() counts neither a hit nor a miss, and no use of a cached value.
    if (source_->cache().lacks(key(opened, run))) {
      source_->stats().readahead_blocks += static_cast<std::uint64_t>(run.count());
      get(opened, run, request, Purpose::readahead);
    }
    chunk_offset = end_of(run.content);
  }
  return chunk_offset;
}

void BlockReader::check(const frame::OpenedChunk& opened, ReadRequest& request) const {
  for (std::int64_t at = 0; at < opened.chunk.nbytes();) {
    const BlockRun run = block_run_at(opened.chunk, at);
    get(opened, run, request);
    at = end_of(run.content);
  }
}

void BlockReader::decode_stored(const frame::OpenedChunk& opened, codec::Bytes stored,
                                std::int32_t block, codec::MutableBytes out) const {
  const codec::Chunk& chunk = opened.chunk;
  const auto bytes_of = [&](std::int32_t number) {
    const codec::ByteRange at = chunk.block_stored(number);
    return stored.subspan(static_cast<std::size_t>(at.offset), static_cast<std::size_t>(at.size));
  };
  std::vector<std::uint8_t> reference;
  source_->unless_changed([&] {
    naming_chunk(opened.place.number, [&] {
      if (chunk.needs_reference(block)) {
        reference.resize(static_cast<std::size_t>(chunk.block_content(0).size));
        thread_decoder().decode(chunk, 0, bytes_of(0), {}, reference);
      }
      thread_decoder().decode(chunk, block, bytes_of(block), reference, out);
    });
    return true;
  });
  trim_thread_decoder();
  source_->stats().blocks_decoded++;
}

void BlockReader::forget(const frame::OpenedChunk& opened) const {
  for (std::int32_t block = 0; block < opened.chunk.block_count(); block++)
    source_->cache().forget(source_->key(CacheKind::block, opened.place.number, block));
}

}  // namespace bloscfs::fs
