#pragma once
// One immutable state of a container, read on demand. A snapshot caches nothing: the caller keeps
// the pages and chunks that it reads.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/block_decoder.hpp"
#include "codec/chunk.hpp"
#include "frame/container/checksum_failure.hpp"
#include "frame/container/frame_info.hpp"
#include "frame/store/byte_source.hpp"

namespace bloscfs::frame::inline container {

/// The place of one chunk's stored bytes, and its size and place in the contents.
struct ChunkPlace {
  std::int64_t number = 0;
  std::int64_t content_offset = 0;  ///< of its first byte, in the frame's contents
  std::int32_t nbytes = 0;          ///< decoded size that the container promises
  codec::SpecialValue special = codec::SpecialValue::none;  ///< other than none: no stored bytes
  std::uint64_t stored_offset = 0;  ///< file position; sparse: number of the chunk file
  std::uint64_t stored_limit = 0;   ///< most bytes that the chunk may take from stored_offset on
};

/// A run of consecutive chunks of the index. Immutable.
class IndexPage {
 public:
  virtual ~IndexPage() = default;
  virtual std::int64_t first_chunk() const = 0;
  virtual std::int64_t chunk_count() const = 0;
  /// Throws Error if the entry is invalid. Only this chunk is then unreadable.
  virtual ChunkPlace place(std::int64_t chunk) const = 0;
  /// Returns the chunk of this page that holds `content_offset`.
  virtual std::int64_t chunk_at(std::int64_t content_offset) const = 0;
  /// True if every chunk of the page is the same special chunk without stored bytes.
  virtual bool uniform_special() const = 0;
  /// True if every chunk of the page reads as zeros and has no stored bytes, false if no chunk
  /// does. Returns nullopt if the chunks differ, or if the page does not know.
  virtual std::optional<bool> uniform_hole() const { return std::nullopt; }
  virtual std::size_t memory() const = 0;
};

/// What reading index pages needs: where the index is stored. If only the chunk headers tell sizes
/// and positions, also the result of one pass over them.
class ChunkMap {
 public:
  virtual ~ChunkMap() = default;
  virtual std::size_t memory() const = 0;
};

/// A chunk that is open for reading, and where its blocks are.
struct OpenedChunk {
  codec::Chunk chunk;
  ChunkPlace place;
  FileStamp stamp;  ///< of the chunk's own file (sparse frames only)
  std::size_t memory() const { return sizeof(*this) + chunk.memory(); }
};

/// A range of stored bytes, in source() or in a chunk file.
struct StoredRange {
  ByteRange range;
  std::optional<std::uint64_t> file = {};  ///< number of a sparse frame's chunk file
};

struct MetalayerEntry {
  std::string name;                 ///< raw bytes; 0 to 31 of them, no NUL
  std::uint64_t stored_offset = 0;  ///< of the content, in the container's file
  std::uint32_t stored_size = 0;
};

class Snapshot {
 public:
  virtual ~Snapshot() = default;

  const FrameInfo& info() const { return info_; }
  /// Returns the fixed metalayers of the header; empty for Bloscpack.
  const std::vector<MetalayerEntry>& metalayers() const { return metalayers_; }
  /// Returns the metalayers of the trailer. Each call reads the trailer again, because a frame may
  /// have thousands. Errors: Error, std::system_error from the source.
  virtual std::vector<MetalayerEntry> vlmetalayers() const { return {}; }
  std::vector<std::uint8_t> read_metalayer(const MetalayerEntry& entry) const;
  /// Returns the decoded size of a vlmetalayer, which it reads from the chunk's header.
  std::int64_t vlmetalayer_size(const MetalayerEntry& entry) const;
  /// Returns the decoded content. Throws Error(too_large) if it has more than `max_size` bytes.
  std::vector<std::uint8_t> read_vlmetalayer(const MetalayerEntry& entry, std::size_t max_size,
                                             codec::BlockDecoder& decoder) const;

  /// Returns the container's file; of a sparse frame, the index file.
  const std::shared_ptr<const ByteSource>& source() const { return source_; }
  /// Returns the state of the file when this snapshot was taken.
  const FileStamp& stamp() const { return stamp_; }
  /// False once the file has been changed in place. Reads may then return bytes of two states.
  virtual bool unchanged() const = 0;
  /// True if nothing that the snapshot reads can be changed in place. Its contents then stay valid
  /// even if another file takes its name.
  virtual bool is_lasting() const { return false; }
  /// True if opening has already read into memory all that the snapshot reads.
  virtual bool is_copied() const { return false; }
  /// Like unchanged(), but does not wait for a program that holds the lock sidecar. False as soon
  /// as that program has announced a change.
  virtual bool is_unchanged_without_wait() const { return unchanged(); }
  /// Like is_unchanged_without_wait(), for the state that a commit has just made and already
  /// checked.
  virtual bool is_unchanged_since_commit() const { return is_unchanged_without_wait(); }
  /// True if the container has a lock sidecar, so that other programs may lock it.
  virtual bool has_peers() const { return false; }
  /// True once another program that holds the lock sidecar has announced a change.
  virtual bool is_changed_by_peer() const { return false; }
  /// Waits for a program that holds the lock sidecar, as unchanged() does, but checks nothing else.
  virtual void wait_for_peers() const {}
  /// Calls `change`, which only sets the times of the file. unchanged() does not count that as a
  /// change.
  virtual void change_times(const std::function<void()>& change) const { change(); }

  // --- index, page by page

  /// True if a ChunkMap saves work when a caller reads several index pages.
  virtual bool has_chunk_map() const { return needs_chunk_map(); }
  /// True if only a pass over the chunk headers tells sizes or positions of chunks. read_page()
  /// then needs a ChunkMap. For other frames a map only avoids repeated reads.
  virtual bool needs_chunk_map() const = 0;
  /// Returns roughly how many bytes of memory making the map takes.
  virtual std::int64_t chunk_map_memory() const { return 0; }
  /// Makes a ChunkMap of at most `max_memory` bytes.
  virtual std::unique_ptr<const ChunkMap> read_chunk_map(std::size_t max_memory,
                                                         codec::BlockDecoder& decoder) const = 0;
  /// Return the page that holds a chunk, or a content offset. `map` is null or a map of this
  /// snapshot.
  virtual std::int64_t page_of_chunk(std::int64_t chunk, const ChunkMap* map) const = 0;
  virtual std::int64_t page_at(std::int64_t content_offset, const ChunkMap* map) const = 0;
  /// Returns an upper bound of the memory, in bytes, that reading a page takes.
  virtual std::int64_t page_memory(std::int64_t page, const ChunkMap* map) const = 0;
  virtual std::unique_ptr<const IndexPage> read_page(std::int64_t page, const ChunkMap* map,
                                                     codec::BlockDecoder& decoder) const = 0;
  /// Returns the special value if all chunks of the frame are the same special chunk without stored
  /// bytes. Looks only at the header of the index chunk.
  virtual std::optional<codec::SpecialValue> all_chunks_special() const { return std::nullopt; }

  // --- chunks

  /// Reads and checks header, block starts and dictionary. The result takes at most `max_memory`
  /// bytes. Bloscpack: reads the whole chunk once and checks its digest. Errors: Error (malformed,
  /// also if the chunk's size is not the promised one; too_large), std::system_error from the
  /// source.
  virtual OpenedChunk open_chunk(const ChunkPlace& place, std::size_t max_memory) const = 0;
  /// Reads stored bytes of an opened chunk.
  virtual void read_stored(const OpenedChunk& chunk, const codec::ByteRange& range,
                           MutableBytes out) const = 0;

  // --- for remote sources, which start requests early if they know what will be read

  /// True if reading contents costs round trips.
  virtual bool is_over_network() const { return source_->is_over_network(); }
  /// Returns how many stored bytes should be in flight for a sequential reader. 0 if source()
  /// detects sequential readers itself.
  virtual std::int64_t most_ahead() const { return 0; }
  /// expect() and is_available() mean the same as in ByteSource.
  virtual void expect(std::span<const StoredRange> ranges) const;
  virtual bool is_available(std::span<const StoredRange> ranges) const;
  /// Returns the ranges that reading `content` of an unopened chunk will probably need. `next` is
  /// the place of the next chunk, or null. Returns an empty list if it cannot guess.
  virtual std::vector<StoredRange> likely_stored(const ChunkPlace& /*place*/,
                                                 const ChunkPlace* /*next*/,
                                                 const ByteRange& /*content*/) const {
    return {};
  }
  /// Returns the ranges of source() that reading the index page for `content_offset` probably
  /// needs. These include the header of the index.
  virtual std::vector<ByteRange> likely_index(std::int64_t /*content_offset*/) const { return {}; }
  /// Returns where stored bytes of an opened chunk are; nullopt if that is unknown.
  virtual std::optional<StoredRange> stored_at(const OpenedChunk& /*chunk*/,
                                               const ByteRange& /*range*/) const {
    return std::nullopt;
  }

  // --- checksums kept in the vlmetalayer bloscfs.xxh3

  virtual bool has_checksums() const { return false; }
  /// Returns the recorded XXH3-64 checksums of the chunks [first, first + count); 0 means that none
  /// is recorded. Empty without the metalayer. Throws Error.
  virtual std::vector<std::uint64_t> recorded_checksums(std::int64_t /*first*/,
                                                        std::int64_t /*count*/,
                                                        codec::BlockDecoder& /*decoder*/) const {
    return {};
  }
  /// Returns the XXH3-64 of the chunk's stored bytes. Reads all of them.
  std::uint64_t checksum_of_stored(const OpenedChunk& chunk) const;
  /// Throws ChecksumFailure if the stored bytes do not have that checksum.
  void verify_checksum(const OpenedChunk& chunk, std::uint64_t expected) const;

  /// Returns how many bytes of memory this object and its source hold during its lifetime.
  virtual std::size_t memory() const;

 protected:
  Snapshot(FrameInfo info, std::shared_ptr<const ByteSource> source, FileStamp stamp)
      : info_(std::move(info)), source_(std::move(source)), stamp_(stamp) {}

  FrameInfo info_;
  std::vector<MetalayerEntry> metalayers_;
  std::shared_ptr<const ByteSource> source_;
  FileStamp stamp_;
};

}  // namespace bloscfs::frame::inline container
