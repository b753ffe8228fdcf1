#pragma once
// Reads a snapshot's contents through the block cache.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "frame/container/snapshot.hpp"
#include "fs/support/page_pool.hpp"
#include "fs/view/block_cache.hpp"
#include "fs/view/block_run.hpp"
#include "fs/view/reply_data.hpp"
#include "fs/view/work.hpp"

namespace bloscfs::fs {

/// Decoded bytes that a cache entry keeps: those of a run of blocks.
struct Block {
  explicit Block(std::size_t size) : bytes(size) {}

  codec::Bytes view() const { return bytes.view(); }
  std::size_t memory() const { return sizeof(*this) + pooled_size(bytes.size()); }
  /// So many bytes have gone to the kernel; true when those were the last ones.
  bool gave(std::size_t count) const {
    const std::size_t before = given.fetch_add(count);
    return before < bytes.size() && before + count >= bytes.size();
  }

  PooledBytes bytes;
  mutable std::atomic<std::size_t> given{0};
};

struct ReaderSettings {
  bool verify_checksums = false;               ///< check bloscfs.xxh3 when a chunk is opened
  std::int64_t work_limit = Work::kUnlimited;  ///< of one request
};

/// Thread-safe. Errors: codec::Error for damaged data (too_large also for a request beyond the
/// limit), std::system_error for I/O (EIO once the source was changed under the snapshot).
class FrameReader {
 public:
  /// `content_id` names chunks and blocks in the cache, `index_id` the index: equal only for
  /// readers for which these are the same. `cache` and `stats` outlive the reader.
  FrameReader(std::shared_ptr<const frame::Snapshot> snapshot, std::uint64_t content_id,
              std::uint64_t index_id, BlockCache& cache, Stats& stats,
              ReaderSettings settings = {});

  const frame::Snapshot& snapshot() const { return *snapshot_; }
  BlockCache& cache() const { return cache_; }

  /// What one request has at hand of the index, and what it may still cost. For one thread.
  class Request {
   public:
    explicit Request(const FrameReader& reader) : work_(reader.settings_.work_limit) {}
    Work& work() { return work_; }

   private:
    friend class FrameReader;
    Work work_;
    std::shared_ptr<const frame::ChunkMap> map_;
    std::shared_ptr<const frame::IndexPage> page_;  ///< the last one that was needed
  };

  /// Adds content bytes [offset, offset + size), which lie inside the contents, to `out`.
  void read(std::int64_t offset, std::int64_t size, ReplyData& out) const;
  /// Brings the blocks of such a range into the cache, but for those whose end the reader has
  /// `reached` meanwhile.
  void prefetch(std::int64_t offset, std::int64_t size,
                const std::function<bool(std::int64_t end)>& reached) const;

  /// Where a chunk lies, and which chunk holds a content offset.
  frame::ChunkPlace place(std::int64_t chunk, Request& request) const;
  frame::ChunkPlace place_at(std::int64_t content_offset, Request& request) const;
  /// The page of the index that holds the chunk.
  std::shared_ptr<const frame::IndexPage> page_of_chunk(std::int64_t chunk, Request& request) const;
  /// The chunk with its header read (special chunks included).
  std::shared_ptr<const frame::OpenedChunk> open_chunk(std::int64_t chunk, Request& request) const;
  /// Drops what the cache has of a chunk, which nobody is reading. False where the chunk cannot be
  /// opened just now, so that nobody knows how many blocks that may be.
  bool forget_chunk(std::int64_t chunk) const;

  /// A piece of a chunk's contents: bytes of a pinned block, or a part of a special chunk.
  struct Span {
    std::shared_ptr<const Block> block;  ///< null for special chunks
    codec::Bytes bytes;                  ///< empty for special chunks
    const codec::Chunk* special = nullptr;
    std::int64_t chunk_offset = 0;
    std::int64_t size = 0;
    std::int32_t run = 0;  ///< first of the block's run

    /// Copies [from, from + out.size()) of the span.
    void copy(std::int64_t from, codec::MutableBytes out) const;
  };
  /// The longest piece of [chunk_offset, chunk_offset + size) that one span holds, from its start.
  Span span_at(const frame::OpenedChunk& opened, std::int64_t chunk_offset, std::int64_t size,
               Request& request, Purpose purpose = Purpose::read) const;
  /// `size` bytes of a span of that chunk have gone to the kernel's page cache.
  void note_given(const frame::OpenedChunk& opened, const Span& span, std::int64_t size) const;
  /// Brings the blocks of a part of a chunk into the cache; returns the end of what they hold.
  std::int64_t prefetch_part(const frame::OpenedChunk& opened, std::int64_t chunk_offset,
                             std::int64_t size, Request& request) const;

  /// Calls `use(span, position)` for each piece of the chunk's contents
  /// [chunk_offset, chunk_offset + size), in order; `position` counts from chunk_offset.
  template <typename Use>
  void visit_chunk(std::int64_t chunk, std::int64_t chunk_offset, std::int64_t size,
                   Use use) const {
    Request request(*this);
    const auto opened = open_chunk(chunk, request);
    for (std::int64_t done = 0; done < size;) {
      const Span span = span_at(*opened, chunk_offset + done, size - done, request);
      use(span, done);
      done += span.size;
    }
  }

  // The same for who asks once.
  std::shared_ptr<const frame::IndexPage> page_of_chunk(std::int64_t chunk) const {
    Request request(*this);
    return page_of_chunk(chunk, request);
  }
  std::shared_ptr<const frame::OpenedChunk> open_chunk(std::int64_t chunk) const {
    Request request(*this);
    return open_chunk(chunk, request);
  }

  /// Decodes all of one chunk and checks every checksum of it; for verification.
  void check_chunk(std::int64_t chunk) const;

 private:
  using OpenedPointer = std::shared_ptr<const frame::OpenedChunk>;
  using BlockPointer = std::shared_ptr<const Block>;

  frame::ChunkPlace next_place(const frame::ChunkPlace& previous, Request& request) const;
  bool is_tiny(const frame::ChunkPlace& place) const;
  void read_chunk(const frame::ChunkPlace& place, std::int64_t chunk_offset, std::int64_t size,
                  Purpose purpose, ReplyData& out, Request& request) const;
  BlockPointer blocks(const frame::OpenedChunk& opened, const BlockRun& run, Request& request,
                      Purpose purpose = Purpose::read) const;
  /// From the cache; who does not find it there makes it with a permit for the working memory.
  template <typename T, typename Make>
  std::shared_ptr<const T> get_permitted(const CacheKey& key, std::int64_t memory, Make make,
                                         Purpose purpose = Purpose::read) const {
    if (BlockCache::LargeWork::is_large(memory))
      if (auto there = cache_.find<T>(key, purpose)) return there;
    const BlockCache::LargeWork permit(cache_, memory);
    return cache_.get<T>(key, memory, make, purpose);
  }
  BlockPointer decode(const frame::OpenedChunk& opened, const BlockRun& run,
                      Request& request) const;
  void decode_each(const frame::OpenedChunk& opened, const BlockRun& run, codec::Bytes reference,
                   codec::MutableBytes out) const;
  OpenedPointer open_place(const frame::ChunkPlace& place, Request& request) const;
  OpenedPointer open_within(const frame::ChunkPlace& place, std::int64_t memory,
                            Request& request) const;
  OpenedPointer open_now(const frame::ChunkPlace& place, std::int64_t memory,
                         Request& request) const;
  std::shared_ptr<const frame::IndexPage> page(std::int64_t number, Request& request) const;
  const frame::ChunkMap* chunk_map(Request& request) const;
  void verify_checksum(const frame::OpenedChunk& opened) const;
  /// Runs `step`, and counts a wrong checksum that it finds.
  template <typename Step>
  auto counting_failures(Step step) const {
    try {
      return step();
    } catch (const frame::ChecksumFailure&) {
      stats_.checksum_failures++;
      throw;
    }
  }
  /// Runs `step`, which reads the source. Throws std::system_error(EIO) if that was changed: what
  /// it gave, or found bad, may come from that.
  template <typename Step>
  auto unless_changed(Step step) const {
    try {
      auto result = step();
      check_unchanged();
      return result;
    } catch (const codec::Error&) {
      check_unchanged();
      throw;
    }
  }
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
