#pragma once
// Tells a far-away source what a request will read, before the request first waits.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "fs/view/cached_snapshot.hpp"
#include "fs/view/index_reader.hpp"
#include "fs/view/read_request.hpp"

namespace bloscfs::fs {

/// For one request of one thread.
class ReadHints {
 public:
  ReadHints(std::shared_ptr<const CachedSnapshot> source, const IndexReader& index)
      : source_(std::move(source)), index_(index) {}

  /// Adds the contents [chunk_offset, chunk_offset + size) of a chunk, as far as the cache lacks
  /// them. Sends no request.
  void add(const frame::ChunkPlace& place, std::int64_t chunk_offset, std::int64_t size,
           ReadRequest& request);
  /// Adds a whole chunk that a reader will reach later.
  void add_later(const frame::ChunkPlace& place);
  /// Tells the source of all that was added. Returns false if reading what add() added would wait.
  bool send();

 private:
  void add_blocks(const frame::OpenedChunk& opened, std::int64_t chunk_offset, std::int64_t size);

  std::shared_ptr<const CachedSnapshot> source_;
  const IndexReader& index_;
  std::vector<frame::StoredRange> ranges_;
  std::vector<frame::StoredRange> later_;
};

}  // namespace bloscfs::fs
