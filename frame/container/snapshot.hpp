#pragma once
// One immutable state of a container, read lazily. It caches nothing: the caller keeps the pages
// and chunks it gets, within whatever budget it has.

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

/// Where one chunk's bytes are, and what they must decode to.
struct ChunkPlace {
  std::int64_t number = 0;
  std::int64_t content_offset = 0;  ///< of its first byte in the frame's contents
  std::int32_t nbytes = 0;          ///< decoded size that the container promises
  codec::SpecialValue special = codec::SpecialValue::none;  ///< not none: no stored bytes
  std::uint64_t stored_offset = 0;  ///< file position; sframe: chunk file number
  std::uint64_t stored_limit = 0;   ///< most bytes that the chunk may take there
};

/// A run of consecutive chunks of the index. Immutable.
class IndexPage {
 public:
  virtual ~IndexPage() = default;
  virtual std::int64_t first_chunk() const = 0;
  virtual std::int64_t chunk_count() const = 0;
  /// Throws Error if the entry is invalid (only this chunk is affected).
  virtual ChunkPlace place(std::int64_t chunk) const = 0;
  /// The chunk of this page that holds `content_offset`.
  virtual std::int64_t chunk_at(std::int64_t content_offset) const = 0;
  /// True if every chunk of the page is the same special chunk without stored bytes.
  virtual bool uniform_special() const = 0;
  /// True if every chunk of the page reads as zeros and has no stored bytes, false if none is so;
  /// nullopt where they differ, or that is not known.
  virtual std::optional<bool> uniform_hole() const { return std::nullopt; }
  virtual std::size_t memory() const = 0;
};

/// What pages of an index are read with: where the index is stored, and the outcome of one pass
/// over the chunk headers where only that tells sizes or positions.
class ChunkMap {
 public:
  virtual ~ChunkMap() = default;
  virtual std::size_t memory() const = 0;
};

/// A chunk opened for reading, with where its blocks are.
struct OpenedChunk {
  codec::Chunk chunk;
  ChunkPlace place;
  FileStamp stamp;  ///< of the chunk's own file (sframe only)
  std::size_t memory() const { return sizeof(*this) + chunk.memory(); }
};

/// Stored bytes: of a chunk's own file, or of source().
struct StoredRange {
  ByteRange range;
  std::optional<std::uint64_t> file = {};  ///< number of a sparse frame's chunk file
};

struct MetalayerEntry {
  std::string name;                 ///< raw bytes, 0 to 31 of them, no NUL
  std::uint64_t stored_offset = 0;  ///< of the content in the container's file
  std::uint32_t stored_size = 0;
};

class Snapshot {
 public:
  virtual ~Snapshot() = default;

  const FrameInfo& info() const { return info_; }
  /// Fixed metalayers of the header; empty for Bloscpack.
  const std::vector<MetalayerEntry>& metalayers() const { return metalayers_; }
  /// Those of the trailer, which is read again: there may be thousands. Errors: Error,
  /// std::system_error from the source.
  virtual std::vector<MetalayerEntry> vlmetalayers() const { return {}; }
  std::vector<std::uint8_t> read_metalayer(const MetalayerEntry& entry) const;
  /// Uncompressed size of a vlmetalayer's content, from its chunk's header.
  std::int64_t vlmetalayer_size(const MetalayerEntry& entry) const;
  /// Decompressed content. Throws Error(too_large) when it has more than `max_size` bytes.
  std::vector<std::uint8_t> read_vlmetalayer(const MetalayerEntry& entry, std::size_t max_size,
                                             codec::BlockDecoder& decoder) const;

  /// The container's file, or a sparse frame's index file.
  const std::shared_ptr<const ByteSource>& source() const { return source_; }
  /// The state of the file that this snapshot was taken from.
  const FileStamp& stamp() const { return stamp_; }
  /// False once the file under the snapshot has been changed in place: what is read may be mixed.
  virtual bool unchanged() const = 0;
  /// True where nothing that it reads can be changed in place: it stays what it is, whatever has
  /// its name.
  virtual bool is_lasting() const { return false; }
  /// True where all that it reads is in memory since it was opened.
  virtual bool is_copied() const { return false; }
  /// The same without waiting for a program that holds the lock sidecar: false as soon as that has
  /// said that it changes the container.
  virtual bool is_as_taken() const { return unchanged(); }
  /// The same of what a commit has just made, and looked at itself.
  virtual bool is_as_committed() const { return is_as_taken(); }
  /// True if other programs may take part in the container's lock.
  virtual bool has_peers() const { return false; }
  /// True once another program has said, with that lock held, that it changes the container.
  virtual bool is_changed_by_peer() const { return false; }
  /// Waits for a program that holds the lock sidecar as unchanged() does, and asks nothing more.
  virtual void wait_for_peers() const {}
  /// Calls `change`, which sets nothing but the times of the file: what was unchanged stays that.
  virtual void keep_through(const std::function<void()>& change) const { change(); }

  // --- index, page by page

  /// True if there is something to remember between pages: read_chunk_map() then gives it.
  virtual bool has_chunk_map() const { return needs_chunk_map(); }
  /// True if chunk sizes or positions are only known from a pass over the chunk headers. Then pages
  /// cannot be read without a map; otherwise one saves reading the same again for every page.
  virtual bool needs_chunk_map() const = 0;
  /// Bytes of memory that making the map takes, roughly.
  virtual std::int64_t chunk_map_memory() const { return 0; }
  /// Makes the map. `max_memory` bounds it.
  virtual std::unique_ptr<const ChunkMap> read_chunk_map(std::size_t max_memory,
                                                         codec::BlockDecoder& decoder) const = 0;
  /// Number of the page that holds a chunk, and of the one that holds a content offset.
  /// `map` is null or this snapshot's.
  virtual std::int64_t page_of_chunk(std::int64_t chunk, const ChunkMap* map) const = 0;
  virtual std::int64_t page_at(std::int64_t content_offset, const ChunkMap* map) const = 0;
  /// Bytes of memory that reading a page takes at most.
  virtual std::int64_t page_memory(std::int64_t page, const ChunkMap* map) const = 0;
  virtual std::unique_ptr<const IndexPage> read_page(std::int64_t page, const ChunkMap* map,
                                                     codec::BlockDecoder& decoder) const = 0;
  /// The special value when every chunk of the frame is the same one without stored bytes, told by
  /// the index chunk's header alone.
  virtual std::optional<codec::SpecialValue> all_chunks_special() const { return std::nullopt; }

  // --- chunks

  /// Reads and checks header, block starts and dictionary. `max_memory` bounds the result.
  /// Bloscpack: reads the whole chunk once and checks its digest.
  /// Errors: Error (malformed: also when the chunk's size is not the promised one, too_large),
  /// std::system_error from the source.
  virtual OpenedChunk open_chunk(const ChunkPlace& place, std::size_t max_memory) const = 0;
  /// Reads stored bytes of an opened chunk.
  virtual void read_stored(const OpenedChunk& chunk, const codec::ByteRange& range,
                           MutableBytes out) const = 0;

  // --- for sources that are far away, which are told before what will be read of them

  /// Reading contents costs round trips.
  virtual bool is_far() const { return source_->is_far(); }
  /// Stored bytes that are to be under way for one who reads in order; 0 where source() finds out
  /// by itself who does.
  virtual std::int64_t most_ahead() const { return 0; }
  /// As of ByteSource.
  virtual void expect(std::span<const StoredRange> ranges) const;
  virtual bool is_at_hand(std::span<const StoredRange> ranges) const;
  /// What reading `content` of a chunk that was not opened yet needs, probably. `next` is the place
  /// of the next chunk, or null. Empty where nobody knows.
  virtual std::vector<StoredRange> likely_stored(const ChunkPlace& /*place*/,
                                                 const ChunkPlace* /*next*/,
                                                 const ByteRange& /*content*/) const {
    return {};
  }
  /// Ranges of source() that the page of the index needs which tells of a content offset, with what
  /// goes before it.
  virtual std::vector<ByteRange> likely_index(std::int64_t /*content_offset*/) const { return {}; }
  /// Where stored bytes of an opened chunk are; nothing where nobody knows.
  virtual std::optional<StoredRange> stored_at(const OpenedChunk& /*chunk*/,
                                               const ByteRange& /*range*/) const {
    return std::nullopt;
  }

  // --- checksums kept in the vlmetalayer bloscfs.xxh3

  /// XXH3-64 of the stored bytes of the chunks [first, first + count) as recorded (0: none); empty
  /// without such a metalayer. Throws Error.
  virtual std::vector<std::uint64_t> recorded_checksums(std::int64_t /*first*/,
                                                        std::int64_t /*count*/,
                                                        codec::BlockDecoder& /*decoder*/) const {
    return {};
  }
  /// XXH3-64 of the chunk's stored bytes, all of which are read.
  std::uint64_t checksum_of_stored(const OpenedChunk& chunk) const;
  /// Throws ChecksumFailure when the stored bytes do not have that sum.
  void verify_checksum(const OpenedChunk& chunk, std::uint64_t expected) const;

  /// Bytes of memory that this object holds for as long as it lives.
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
