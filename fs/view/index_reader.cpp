#include "fs/view/index_reader.hpp"

#include <algorithm>
#include <string>

#include "codec/error.hpp"
#include "fs/view/named_errors.hpp"
#include "fs/view/thread_decoder.hpp"

namespace bloscfs::fs {
namespace {

/// The least working memory that is charged for making a map.
constexpr std::int64_t kLeastMapMemory = 64 << 10;
/// Work for each chunk in a pass over the chunk headers, in bytes that could be decoded in the same
/// time.
constexpr std::int64_t kPerMappedChunk = 128;

}  // namespace

const frame::ChunkMap* IndexReader::chunk_map(ReadRequest& request) const {
  const frame::Snapshot& snapshot = source_->snapshot();
  if (request.map_ || !snapshot.has_chunk_map()) return request.map_.get();
  const std::int64_t memory = std::max(kLeastMapMemory, snapshot.chunk_map_memory());
  const CacheKey key = source_->key(CacheKind::chunk_map, 0);
  // The request keeps the map, in case the cache evicts it between two chunks.
  request.map_ = source_->get<frame::ChunkMap>(request, key, memory, [&] {
    if (snapshot.needs_chunk_map()) request.work().begin(snapshot.info().nchunks * kPerMappedChunk);
    std::shared_ptr<const frame::ChunkMap> map = source_->unless_torn([&] {
      return naming_index([&] {
        return snapshot.read_chunk_map(source_->cache().budget().capacity() / 2, thread_decoder());
      });
    });
    trim_thread_decoder();
    return map;
  });
  return request.map_.get();
}

std::shared_ptr<const frame::IndexPage> IndexReader::page(std::int64_t number,
                                                          ReadRequest& request) const {
  const frame::Snapshot& snapshot = source_->snapshot();
  const frame::ChunkMap* const map = chunk_map(request);
  const std::int64_t memory = snapshot.page_memory(number, map);
  const CacheKey key = source_->key(CacheKind::index_page, number);
  return source_->get<frame::IndexPage>(request, key, memory, [&] {
    request.work().begin(memory);
    source_->stats().index_blocks_decoded++;
    std::shared_ptr<const frame::IndexPage> page = source_->unless_torn([&] {
      return naming_index([&] { return snapshot.read_page(number, map, thread_decoder()); });
    });
    trim_thread_decoder();
    return page;
  });
}

std::shared_ptr<const frame::IndexPage> IndexReader::page_of_chunk(std::int64_t chunk,
                                                                   ReadRequest& request) const {
  const auto& at_hand = request.page_;
  if (!at_hand || chunk < at_hand->first_chunk() ||
      chunk - at_hand->first_chunk() >= at_hand->chunk_count())
    request.page_ = page(source_->snapshot().page_of_chunk(chunk, chunk_map(request)), request);
  return request.page_;
}

frame::ChunkPlace IndexReader::place_of_chunk(std::int64_t chunk, ReadRequest& request) const {
  return page_of_chunk(chunk, request)->place(chunk);
}

std::optional<frame::ChunkPlace> IndexReader::known_place(std::int64_t chunk,
                                                          const ReadRequest& request) const {
  const auto& page = request.page_;
  if (!page || chunk < page->first_chunk() || chunk - page->first_chunk() >= page->chunk_count())
    return std::nullopt;
  try {
    return page->place(chunk);
  } catch (const codec::Error&) {
    return std::nullopt;  // the reader of that chunk gets the error
  }
}

void IndexReader::expect_index(std::int64_t content_offset, const ReadRequest& request) const {
  const frame::Snapshot& snapshot = source_->snapshot();
  if (request.map_ || !snapshot.has_chunk_map() || !snapshot.source()->is_over_network()) return;
  if (!source_->cache().lacks(source_->key(CacheKind::chunk_map, 0))) return;
  const auto likely = snapshot.likely_index(content_offset);
  if (!likely.empty()) snapshot.source()->expect(likely);
}

frame::ChunkPlace IndexReader::place_at(std::int64_t content_offset, ReadRequest& request) const {
  expect_index(content_offset, request);
  request.page_ = page(source_->snapshot().page_at(content_offset, chunk_map(request)), request);
  const frame::ChunkPlace place = request.page_->place(request.page_->chunk_at(content_offset));
  if (content_offset < place.content_offset ||
      content_offset - place.content_offset >= place.nbytes)
    codec::throw_malformed("index: chunk " + std::to_string(place.number) + " does not hold byte " +
                           std::to_string(content_offset));
  return place;
}

frame::ChunkPlace IndexReader::place_after(const frame::ChunkPlace& previous,
                                           ReadRequest& request) const {
  const frame::ChunkPlace next = place_of_chunk(previous.number + 1, request);
  // Without this check, a damaged index could show the bytes of one chunk in another place.
  if (next.content_offset != previous.content_offset + previous.nbytes)
    codec::throw_malformed("index: chunk " + std::to_string(next.number) +
                           " does not begin where the one before it ends");
  return next;
}

}  // namespace bloscfs::fs
