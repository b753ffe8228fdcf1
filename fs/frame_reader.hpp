#pragma once
// Reads a snapshot's contents through the block cache.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "frame/snapshot.hpp"
#include "fs/block_cache.hpp"
#include "fs/reply_data.hpp"

namespace bloscfs::fs {

/// One decoded block, or the decoded bytes that a cache entry keeps.
struct Block {
  std::unique_ptr<std::uint8_t[]> bytes;
  std::size_t size = 0;

  codec::Bytes view() const { return {bytes.get(), size}; }
  std::size_t memory() const { return sizeof(*this) + size; }
};

struct ReaderSettings {
  bool verify_checksums = false;  ///< check bloscfs.xxh3 when a chunk is opened
};

/// Thread-safe. Errors: codec::Error for damaged data, std::system_error for I/O (EIO once the
/// source was changed under the snapshot).
class FrameReader {
 public:
  /// `content_id` names chunks and blocks in the cache, `index_id` the index: equal only for
  /// readers for which these are the same. `cache` and `stats` outlive the reader.
  FrameReader(std::shared_ptr<const frame::Snapshot> snapshot, std::uint64_t content_id,
              std::uint64_t index_id, BlockCache& cache, Stats& stats,
              ReaderSettings settings = {});

  const frame::Snapshot& snapshot() const { return *snapshot_; }

  /// Adds content bytes [offset, offset + size), which lie inside the contents, to `out`.
  void read(std::int64_t offset, std::int64_t size, ReplyData& out) const;

  /// Calls `use(span, position)` for each piece of the chunk's contents
  /// [chunk_offset, chunk_offset + size), in order; `position` counts from chunk_offset.
  template <typename Use>
  void visit_chunk(std::int64_t chunk, std::int64_t chunk_offset, std::int64_t size,
                   Use use) const {
    const auto opened = open_chunk(chunk);
    std::int64_t done = 0;
    while (done < size) {
      const Span span = span_at(*opened, chunk_offset + done, size - done);
      use(span, done);
      done += span.size;
    }
  }

  /// Brings the blocks of a part of one chunk into the cache.
  void prefetch_chunk(std::int64_t chunk, std::int64_t chunk_offset, std::int64_t size) const;

  /// Where a chunk lies, and which chunk holds a content offset.
  frame::ChunkPlace place(std::int64_t chunk) const;
  frame::ChunkPlace place_at(std::int64_t content_offset) const;
  /// The page of the index that holds the chunk.
  std::shared_ptr<const frame::IndexPage> page_of_chunk(std::int64_t chunk) const;
  /// The chunk with its header read (special chunks included).
  std::shared_ptr<const frame::OpenedChunk> open_chunk(std::int64_t chunk) const;
  /// Drops what the cache has of a chunk, which nobody is reading.
  void forget_chunk(std::int64_t chunk) const;
  /// Decodes all of one chunk and checks every checksum of it; for verification.
  void check_chunk(std::int64_t chunk) const;

  /// A piece of a chunk's contents: bytes of a pinned block, or a part of a special chunk.
  struct Span {
    std::shared_ptr<const Block> block;  ///< null for special chunks
    codec::Bytes bytes;                  ///< empty for special chunks
    const codec::Chunk* special = nullptr;
    std::int64_t chunk_offset = 0;
    std::int64_t size = 0;

    /// Copies [from, from + out.size()) of the span.
    void copy(std::int64_t from, codec::MutableBytes out) const;
  };

 private:
  Span span_at(const frame::OpenedChunk& opened, std::int64_t chunk_offset,
               std::int64_t size) const;
  std::shared_ptr<const Block> block(const frame::OpenedChunk& opened, std::int32_t number,
                                     Purpose purpose = Purpose::read) const;
  /// The same for a caller that holds the permit for this chunk's working memory.
  std::shared_ptr<const Block> permitted_block(const frame::OpenedChunk& opened,
                                               std::int32_t number, Purpose purpose) const;
  std::shared_ptr<const Block> decode_block(const frame::OpenedChunk& opened,
                                            std::int32_t number) const;
  std::shared_ptr<const frame::OpenedChunk> open_place(const frame::ChunkPlace& place) const;
  std::shared_ptr<const frame::IndexPage> page(std::int64_t number,
                                               const frame::ChunkMap* map) const;
  std::shared_ptr<const frame::ChunkMap> chunk_map() const;
  void check_unchanged() const;
  CacheKey key(CacheKind kind, std::int64_t item, std::int32_t block = 0) const;

  std::shared_ptr<const frame::Snapshot> snapshot_;
  const std::uint64_t content_id_;
  const std::uint64_t index_id_;
  BlockCache& cache_;
  Stats& stats_;
  const ReaderSettings settings_;
};

/// The calling thread's decoder; its scratch memory is trimmed after every use.
codec::BlockDecoder& thread_decoder();

}  // namespace bloscfs::fs
