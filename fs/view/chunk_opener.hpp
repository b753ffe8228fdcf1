#pragma once
// Opens chunks through the cache, within limits of memory: reads their headers and where their
// blocks start, and checks their checksums.

#include <cstdint>
#include <memory>
#include <utility>

#include "fs/view/cached_snapshot.hpp"
#include "fs/view/read_request.hpp"

namespace bloscfs::fs {

/// Thread-safe. Throws the errors of FrameReader.
class ChunkOpener {
 public:
  explicit ChunkOpener(std::shared_ptr<const CachedSnapshot> source) : source_(std::move(source)) {}

  /// Opens a chunk, which may be special. Waits for a permit if the opened chunk takes more than a
  /// little memory. Throws codec::Error(too_large) if it takes more than half of the cache's
  /// capacity.
  std::shared_ptr<const frame::OpenedChunk> open(const frame::ChunkPlace& place,
                                                 ReadRequest& request) const;
  /// Compares the chunk's stored bytes with the recorded checksum, if one is recorded. Throws
  /// frame::ChecksumFailure.
  void verify_checksum(Request& request, const frame::OpenedChunk& opened) const;
  /// Drops the opened chunk from the cache. No thread may be opening it.
  void forget(std::int64_t chunk) const;

 private:
  using OpenedPointer = std::shared_ptr<const frame::OpenedChunk>;

  /// Returns the opened chunk from the cache, or from read(), which may take `memory` bytes.
  OpenedPointer get(const frame::ChunkPlace& place, std::int64_t memory,
                    ReadRequest& request) const;
  OpenedPointer read(const frame::ChunkPlace& place, std::int64_t memory,
                     ReadRequest& request) const;

  std::shared_ptr<const CachedSnapshot> source_;
};

}  // namespace bloscfs::fs
