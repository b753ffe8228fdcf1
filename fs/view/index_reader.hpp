#pragma once
// Reads the index of a snapshot, page by page through the cache: where chunks lie.

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "fs/view/cached_snapshot.hpp"
#include "fs/view/read_request.hpp"

namespace bloscfs::fs {

/// Thread-safe. Throws the errors of FrameReader.
class IndexReader {
 public:
  explicit IndexReader(std::shared_ptr<const CachedSnapshot> source) : source_(std::move(source)) {}

  /// Returns the page of the index that holds a chunk.
  std::shared_ptr<const frame::IndexPage> page_of_chunk(std::int64_t chunk,
                                                        ReadRequest& request) const;
  frame::ChunkPlace place_of_chunk(std::int64_t chunk, ReadRequest& request) const;
  /// Returns the place of the chunk that holds a content offset. Throws codec::Error(malformed) if
  /// the index leads to a chunk that does not hold it.
  frame::ChunkPlace place_at(std::int64_t content_offset, ReadRequest& request) const;
  /// Returns the place of a chunk if the request's current page tells it; nullopt otherwise. Reads
  /// nothing.
  std::optional<frame::ChunkPlace> known_place(std::int64_t chunk,
                                               const ReadRequest& request) const;
  /// Returns the place of the next chunk. Throws codec::Error(malformed) unless that chunk begins
  /// where `previous` ends.
  frame::ChunkPlace place_after(const frame::ChunkPlace& previous, ReadRequest& request) const;

 private:
  /// Returns null if the snapshot has no chunk map.
  const frame::ChunkMap* chunk_map(ReadRequest& request) const;
  /// Tells a far-away source that the index is going to be read.
  void expect_index(std::int64_t content_offset, const ReadRequest& request) const;
  std::shared_ptr<const frame::IndexPage> page(std::int64_t number, ReadRequest& request) const;

  std::shared_ptr<const CachedSnapshot> source_;
};

}  // namespace bloscfs::fs
