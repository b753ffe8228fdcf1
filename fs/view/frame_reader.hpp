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

/// Thread-safe. Errors: codec::Error for damaged data (too_large also for a request beyond the
/// limit), std::system_error for I/O (EIO once the source was changed under the snapshot).
class FrameReader {
 public:
  /// As CachedSnapshot's.
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

  /// Adds content bytes [offset, offset + size), which lie inside the contents, to `out`.
  void read(Request& request, std::int64_t offset, std::int64_t size, ReplyData& out) const;
  /// Brings the blocks of such a range into the cache, but for those whose end the reader has
  /// `reached` meanwhile. Of a source that is far away it only asks for what is not here yet: no
  /// thread that decodes waits for that.
  void prefetch(Request& request, std::int64_t offset, std::int64_t size,
                const std::function<bool(std::int64_t end)>& reached) const;

  /// The chunk with its header read (special chunks included).
  std::shared_ptr<const frame::OpenedChunk> open_chunk(std::int64_t chunk,
                                                       ReadRequest& request) const;
  /// The same for who asks once.
  std::shared_ptr<const frame::OpenedChunk> open_chunk(Request& request, std::int64_t chunk) const;
  /// Drops what the cache has of a chunk, which nobody is reading. False where the chunk cannot be
  /// opened just now, so that nobody knows how many blocks that may be.
  bool forget_chunk(Request& request, std::int64_t chunk) const;

  /// Calls `use(span, position)` for each piece of the chunk's contents
  /// [chunk_offset, chunk_offset + size), in order; `position` counts from chunk_offset.
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

  /// Decodes all of one chunk and checks every checksum of it; for verification. Returns how many
  /// bytes were decoded, none of a special chunk.
  std::int64_t check_chunk(Request& request, std::int64_t chunk) const;

 private:
  /// Tells a source that is far away what reading that range needs; false where that is not here.
  bool expect(std::int64_t offset, std::int64_t size, ReadRequest& request, Purpose purpose) const;
  /// Chunks that are ahead of one who reads in order, where each is far away on its own.
  void add_ahead(Request& request, std::int64_t offset, std::int64_t size, ReadHints& hints) const;
  /// open_chunk() for who reads that part of the chunk's contents.
  std::shared_ptr<const frame::OpenedChunk> open_part(std::int64_t chunk, std::int64_t chunk_offset,
                                                      std::int64_t size,
                                                      ReadRequest& request) const;
  void read_chunk(const frame::ChunkPlace& place, std::int64_t chunk_offset, std::int64_t size,
                  Purpose purpose, ReplyData& out, ReadRequest& request) const;
  /// Calls `use(place, chunk_offset, size)` for the part that each chunk has of the content bytes
  /// [offset, offset + size), in order.
  template <typename Use>
  void for_each_chunk(std::int64_t offset, std::int64_t size, ReadRequest& request, Use use) const;

  std::shared_ptr<const CachedSnapshot> source_;
  IndexReader index_;
  ChunkOpener chunks_;
  BlockReader blocks_;
  std::shared_ptr<FarReaders> far_readers_;  ///< null: nothing is to be asked for ahead of any
};

}  // namespace bloscfs::fs
