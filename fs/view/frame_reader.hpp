#pragma once
// Reads ranges of a snapshot's contents: index, then chunks, then blocks.

#include <cstdint>
#include <functional>
#include <memory>

#include "frame/container/snapshot.hpp"
#include "fs/view/block_reader.hpp"
#include "fs/view/cached_snapshot.hpp"
#include "fs/view/chunk_opener.hpp"
#include "fs/view/far_readers.hpp"
#include "fs/view/index_reader.hpp"
#include "fs/view/read_request.hpp"
#include "fs/view/reply_data.hpp"

namespace bloscfs::fs {

class ReadHints;

/// Thread-safe. Throws codec::Error for damaged data, and codec::Error(too_large) for a request
/// beyond the work limit. Throws std::system_error for I/O errors; EIO if the source was changed
/// under the snapshot.
class FrameReader {
 public:
  /// For the parameters see CachedSnapshot.
  FrameReader(std::shared_ptr<const frame::Snapshot> snapshot, std::uint64_t content_id,
              std::uint64_t index_id, BlockCache& cache, Stats& stats,
              ReaderSettings settings = {});

  const frame::Snapshot& snapshot() const { return source_->snapshot(); }
  BlockCache& cache() const { return source_->cache(); }
  const IndexReader& index() const { return index_; }
  const BlockReader& blocks() const { return blocks_; }

  ReadRequest begin_request(Request& request) const {
    return {request, source_->settings().work_limit};
  }

  /// Adds the content bytes [offset, offset + size) to `out`. They must lie inside the contents.
  void read(Request& request, std::int64_t offset, std::int64_t size, ReplyData& out) const;
  /// Brings the blocks of the content bytes [offset, offset + size) into the cache. Skips a block
  /// if `reached` says that the reader has reached its end. If bytes are missing of a far-away
  /// source, only asks for them, so that no decoding thread waits for the network.
  void prefetch(Request& request, std::int64_t offset, std::int64_t size,
                const std::function<bool(std::int64_t end)>& reached) const;

  /// Opens a chunk: reads its header. The chunk may be special.
  std::shared_ptr<const frame::OpenedChunk> open_chunk(std::int64_t chunk,
                                                       ReadRequest& request) const;
  /// Like the function above, for a caller that opens only one chunk.
  std::shared_ptr<const frame::OpenedChunk> open_chunk(Request& request, std::int64_t chunk) const;
  /// Drops a chunk from the cache. No thread may be reading it. Returns false if the chunk cannot
  /// be opened now, because then the number of its blocks is unknown.
  bool forget_chunk(Request& request, std::int64_t chunk) const;

  /// Calls `use(span, position)` for each piece of the chunk's contents [chunk_offset, chunk_offset
  /// + size), in order. `position` counts from chunk_offset.
  template <typename Use>
  void visit_chunk(Request& request, std::int64_t chunk, std::int64_t chunk_offset,
                   std::int64_t size, Use use) const {
    ReadRequest reading = begin_request(request);
    const auto opened = open_part(chunk, chunk_offset, size, reading);
    for (std::int64_t done = 0; done < size;) {
      const BlockReader::Span span =
          blocks_.span_at(*opened, chunk_offset + done, size - done, reading);
      use(span, done);
      done += span.size;
    }
  }

  /// Compares an opened chunk with its recorded checksum, or the chunks of a range of the contents
  /// with theirs. To be called before their bytes are stored again: a new checksum would hide the
  /// damage. Throws frame::ChecksumFailure.
  void require_checksum(Request& request, const frame::OpenedChunk& opened) const;
  void require_checksums(Request& request, std::int64_t offset, std::int64_t size) const;
  /// Decodes all of one chunk and checks all its checksums, for verification. Returns how many
  /// bytes were decoded, 0 for a special chunk.
  std::int64_t check_chunk(Request& request, std::int64_t chunk) const;

 private:
  /// Tells a far-away source which bytes a read of that range needs. Returns false if some of them
  /// have not arrived yet.
  bool expect(std::int64_t offset, std::int64_t size, ReadRequest& request, Purpose purpose) const;
  /// Adds to `hints` the chunks that a sequential reader will reach, if each chunk is an object of
  /// its own on a server.
  void add_ahead(Request& request, std::int64_t offset, std::int64_t size, ReadHints& hints) const;
  /// Opens a chunk for a reader of a part of its contents. First asks a far-away source for that
  /// part.
  std::shared_ptr<const frame::OpenedChunk> open_part(std::int64_t chunk, std::int64_t chunk_offset,
                                                      std::int64_t size,
                                                      ReadRequest& request) const;
  void read_chunk(const frame::ChunkPlace& place, std::int64_t chunk_offset, std::int64_t size,
                  Purpose purpose, ReplyData& out, ReadRequest& request) const;
  /// Calls `use(place, chunk_offset, size)` for each chunk's part of the content bytes [offset,
  /// offset + size), in order.
  template <typename Use>
  void for_each_chunk(std::int64_t offset, std::int64_t size, ReadRequest& request, Use use) const;

  std::shared_ptr<const CachedSnapshot> source_;
  IndexReader index_;
  ChunkOpener chunks_;
  BlockReader blocks_;
  std::shared_ptr<FarReaders> far_readers_;  ///< null if the source reads ahead by itself
};

}  // namespace bloscfs::fs
