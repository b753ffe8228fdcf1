#pragma once
// The index of a snapshot, page by page through the cache: where chunks lie.

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "fs/view/cached_snapshot.hpp"
#include "fs/view/read_request.hpp"

namespace bloscfs::fs {

/// Thread-safe; errors as FrameReader's.
class IndexReader {
 public:
  explicit IndexReader(std::shared_ptr<const CachedSnapshot> source) : source_(std::move(source)) {}

  /// The page that holds a chunk.
  std::shared_ptr<const frame::IndexPage> page_of_chunk(std::int64_t chunk,
                                                        ReadRequest& request) const;
  frame::ChunkPlace place_of_chunk(std::int64_t chunk, ReadRequest& request) const;
  /// The place of the chunk that holds a content offset; codec::Error(malformed) where the index
  /// leads to one that does not.
  frame::ChunkPlace place_at(std::int64_t content_offset, ReadRequest& request) const;
  /// The place of a chunk that the request's page at hand tells of; nothing else is looked at.
  std::optional<frame::ChunkPlace> place_at_hand(std::int64_t chunk,
                                                 const ReadRequest& request) const;
  /// The place of the next chunk; codec::Error(malformed) unless that begins where `previous` ends.
  frame::ChunkPlace place_after(const frame::ChunkPlace& previous, ReadRequest& request) const;

 private:
  /// Null for a snapshot that has none.
  const frame::ChunkMap* chunk_map(ReadRequest& request) const;
  /// Tells a source that is far away that the index is going to be read.
  void expect_index(std::int64_t content_offset, const ReadRequest& request) const;
  std::shared_ptr<const frame::IndexPage> page(std::int64_t number, ReadRequest& request) const;

  std::shared_ptr<const CachedSnapshot> source_;
};

}  // namespace bloscfs::fs
