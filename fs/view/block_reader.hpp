#pragma once
// Decodes the blocks of opened chunks into the cache, each block once.

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "fs/support/page_pool.hpp"
#include "fs/view/block_run.hpp"
#include "fs/view/cached_snapshot.hpp"
#include "fs/view/read_request.hpp"

namespace bloscfs::fs {

/// The decoded bytes of a run of blocks, which a cache entry keeps.
struct Block {
  Block(PagePool& pages, std::size_t size) : bytes(pages, size) {}

  codec::Bytes view() const { return bytes.view(); }
  std::size_t memory() const { return sizeof(*this) + PagePool::piece_size(bytes.size()); }
  /// Records that `count` bytes have gone to the kernel. Returns true if those were the last ones.
  bool gave(std::size_t count) const {
    const std::size_t before = given.fetch_add(count);
    return before < bytes.size() && before + count >= bytes.size();
  }

  PooledBytes bytes;
  mutable std::atomic<std::size_t> given{0};
};

/// Thread-safe. Throws the errors of FrameReader.
class BlockReader {
 public:
  explicit BlockReader(std::shared_ptr<const CachedSnapshot> source) : source_(std::move(source)) {}

  /// A piece of a chunk's contents: bytes of a block, which the span keeps alive, or a part of a
  /// special chunk.
  struct Span {
    std::shared_ptr<const Block> block;  ///< null for special chunks
    codec::Bytes bytes;                  ///< empty for special chunks
    const codec::Chunk* special = nullptr;
    std::int64_t chunk_offset = 0;
    std::int64_t size = 0;
    std::int32_t run = 0;  ///< first block of the run

    /// Copies [from, from + out.size()) of the span.
    void copy(std::int64_t from, codec::MutableBytes out) const;
  };
  /// Returns the longest piece of [chunk_offset, chunk_offset + size) that one span can hold, from
  /// the start of that range.
  Span span_at(const frame::OpenedChunk& opened, std::int64_t chunk_offset, std::int64_t size,
               ReadRequest& request, Purpose purpose = Purpose::read) const;
  /// Records that `size` bytes of a span have gone to the kernel's page cache.
  void note_given(const frame::OpenedChunk& opened, const Span& span, std::int64_t size) const;
  /// Decodes the blocks of a part of a chunk into the cache. Returns the end of their contents.
  std::int64_t prefetch(const frame::OpenedChunk& opened, std::int64_t chunk_offset,
                        std::int64_t size, ReadRequest& request) const;
  /// Decodes all blocks of a chunk, which must not be special.
  void check(const frame::OpenedChunk& opened, ReadRequest& request) const;
  /// Decodes one block without the cache. `stored` has all stored bytes of the chunk.
  void decode_stored(const frame::OpenedChunk& opened, codec::Bytes stored, std::int32_t block,
                     codec::MutableBytes out) const;
  /// Drops the blocks of a chunk from the cache. No thread may be reading them.
  void forget(const frame::OpenedChunk& opened) const;

 private:
  using BlockPointer = std::shared_ptr<const Block>;

  CacheKey key(const frame::OpenedChunk& opened, const BlockRun& run) const;
  /// Returns the run from the cache, or decodes it.
  BlockPointer get(const frame::OpenedChunk& opened, const BlockRun& run, ReadRequest& request,
                   Purpose purpose = Purpose::read) const;
  BlockPointer decode(const frame::OpenedChunk& opened, const BlockRun& run,
                      ReadRequest& request) const;
  /// Returns the block that has the decoded block 0 of the chunk; null if `run` does not need that
  /// as a reference.
  BlockPointer reference_of(const frame::OpenedChunk& opened, const BlockRun& run,
                            ReadRequest& request) const;
  /// Reads and decodes the blocks of a run, one after the other.
  void decode_into(codec::MutableBytes out, const frame::OpenedChunk& opened, const BlockRun& run,
                   codec::Bytes reference) const;

  std::shared_ptr<const CachedSnapshot> source_;
};

}  // namespace bloscfs::fs
