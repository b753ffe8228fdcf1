#pragma once
// Opens chunks through the cache: reads their headers and where their blocks start, within limits
// of memory, and checks their checksums.

#include <cstdint>
#include <memory>
#include <utility>

#include "fs/view/cached_snapshot.hpp"
#include "fs/view/read_request.hpp"

namespace bloscfs::fs {

/// Thread-safe; errors as FrameReader's.
class ChunkOpener {
 public:
  explicit ChunkOpener(std::shared_ptr<const CachedSnapshot> source) : source_(std::move(source)) {}

  /// The chunk there, special chunks included. It may take half of the cache's capacity, and waits
  /// for a permit where it takes more than a little; else codec::Error(too_large).
  std::shared_ptr<const frame::OpenedChunk> open(const frame::ChunkPlace& place,
                                                 ReadRequest& request) const;
  /// Compares the chunk's stored bytes with the checksum that is recorded of them, if one is:
  /// frame::ChecksumFailure.
  void verify_checksum(Request& request, const frame::OpenedChunk& opened) const;
  /// Drops what the cache has of opening a chunk, which nobody is doing.
  void forget(std::int64_t chunk) const;

 private:
  using OpenedPointer = std::shared_ptr<const frame::OpenedChunk>;

  /// From the cache, or by read(), which may take `memory` bytes.
  OpenedPointer get(const frame::ChunkPlace& place, std::int64_t memory,
                    ReadRequest& request) const;
  OpenedPointer read(const frame::ChunkPlace& place, std::int64_t memory,
                     ReadRequest& request) const;

  std::shared_ptr<const CachedSnapshot> source_;
};

}  // namespace bloscfs::fs
