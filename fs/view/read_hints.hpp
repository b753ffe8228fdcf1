#pragma once
// Tells a source that is far away what a request will read of it, before its first wait.

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

  /// Contents [chunk_offset, chunk_offset + size) of the chunk, as far as the cache lacks them. No
  /// request is made.
  void add(const frame::ChunkPlace& place, std::int64_t chunk_offset, std::int64_t size,
           ReadRequest& request);
  /// The same for all of a chunk that a reader comes to later; what is large begins with that.
  void add_later(const frame::ChunkPlace& place);
  /// Tells of all that was added; false where reading it now would wait.
  bool send();

 private:
  void add_blocks(const frame::OpenedChunk& opened, std::int64_t chunk_offset, std::int64_t size);

  std::shared_ptr<const CachedSnapshot> source_;
  const IndexReader& index_;
  std::vector<frame::StoredRange> ranges_;
  std::vector<frame::StoredRange> later_;
};

}  // namespace bloscfs::fs
