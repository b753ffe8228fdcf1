#pragma once
// The common part of contiguous and sparse frames: the index, chunks opened on demand, checksums.

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "frame/container/snapshot.hpp"
#include "frame/header/frame_parts.hpp"
#include "frame/reading/chunk_index.hpp"
#include "frame/reading/expected_state.hpp"
#include "frame/store/peer_lock.hpp"
#include "frame/stored/paged_table.hpp"
#include "frame/stored/stored_chunk.hpp"

namespace bloscfs::frame::inline reading {

class FrameSnapshot : public Snapshot {
 public:
  bool unchanged() const final;
  bool is_unchanged_without_wait() const override;
  bool is_copied() const final { return is_copied_; }
  bool has_peers() const override { return peer_lock_ != nullptr; }
  bool is_changed_by_peer() const override { return !is_unchanged_by_peer(); }
  void wait_for_peers() const override;
  void change_times(const std::function<void()>& change) const final {
    expected_->change_times(*source_, change);
  }
  std::vector<MetalayerEntry> vlmetalayers() const override;
  bool has_chunk_map() const override { return info_.nchunks > 0; }
  bool needs_chunk_map() const override { return info_.variable_chunks && info_.nchunks > 0; }
  std::int64_t chunk_map_memory() const override;
  std::unique_ptr<const ChunkMap> read_chunk_map(std::size_t max_memory,
                                                 codec::BlockDecoder& decoder) const override;
  std::int64_t page_of_chunk(std::int64_t chunk, const ChunkMap* map) const override;
  std::int64_t page_at(std::int64_t content_offset, const ChunkMap* map) const override;
  std::int64_t page_memory(std::int64_t page, const ChunkMap* map) const override;
  std::unique_ptr<const IndexPage> read_page(std::int64_t page, const ChunkMap* map,
                                             codec::BlockDecoder& decoder) const override;
  /// Throws Error if the header of the index chunk is bad.
  std::optional<codec::SpecialValue> all_chunks_special() const override;
  OpenedChunk open_chunk(const ChunkPlace& place, std::size_t max_memory) const override;
  void read_stored(const OpenedChunk& chunk, const codec::ByteRange& range,
                   MutableBytes out) const override;
  std::vector<StoredRange> likely_stored(const ChunkPlace& place, const ChunkPlace* next,
                                         const ByteRange& content) const override;
  std::vector<ByteRange> likely_index(std::int64_t content_offset) const override;
  std::optional<StoredRange> stored_at(const OpenedChunk& chunk,
                                       const ByteRange& range) const override;
  bool has_checksums() const override { return checksum_layer_.has_value(); }
  std::vector<std::uint64_t> recorded_checksums(std::int64_t first, std::int64_t count,
                                                codec::BlockDecoder& decoder) const override;
  std::size_t memory() const override;

  /// Returns the header, or its first 4 KiB, as it was at opening.
  Bytes header_bytes() const { return header_bytes_; }
  /// Returns the metalayer that makes the frame an array, if there is one.
  std::optional<MetalayerEntry> array_metalayer() const;
  /// Returns the recorded checksums; null if the frame has none. Throws Error if they cannot be
  /// read block by block in little memory.
  std::shared_ptr<const PagedTable> checksums() const;
  /// Returns the file position of the index chunk, and the most bytes that it may take; 0 bytes if
  /// the frame has no index.
  StoredAt index_at() const { return {index_at_, index_limit_}; }
  /// Returns the index chunk; null if the frame has no contents. Throws Error.
  std::shared_ptr<const PagedTable> index() const;
  /// Returns the place of the chunk that an index entry names. In a variable-size frame nbytes and
  /// content_offset are unknown and 0. Throws Error(malformed).
  ChunkPlace place_of(std::int64_t entry, std::int64_t number) const;
  /// Returns the header of a stored chunk. Throws Error.
  codec::ChunkHeader read_header(const ChunkPlace& place) const;
  /// Returns source(), or a copy of it in memory, for bytes that do not change while the frame has
  /// this state.
  const std::shared_ptr<const ByteSource>& contents() const { return contents_; }
  const std::shared_ptr<ExpectedState>& expected() const { return expected_; }

 protected:
  /// The file that holds a chunk.
  struct ChunkFile {
    std::shared_ptr<const ByteSource> source;
    StoredAt at;
    FileStamp stamp;  ///< empty unless the file holds only this chunk
  };

  /// `expected` and `lock` may be null. The caller has held the lock since before it read `parts`.
  FrameSnapshot(FrameParts parts, std::shared_ptr<const ByteSource> source, FileStamp stamp,
                std::shared_ptr<ExpectedState> expected, std::shared_ptr<PeerLock> lock);
  /// False if another program has announced that it changes the frame.
  bool is_unchanged_by_peer() const {
    return !peer_lock_ || peer_lock_->foreign_changes() == foreign_changes_;
  }
  PeerLock::Shared lock_shared() const { return PeerLock::Shared(peer_lock_); }

  virtual ChunkFile chunk_file(const ChunkPlace& place) const = 0;
  /// Returns the number of a chunk's own file; nullopt if the chunk is in source().
  virtual std::optional<std::uint64_t> file_of(const ChunkPlace& /*place*/) const {
    return std::nullopt;
  }

 private:
  /// Returns the array that the vlmetalayer describes; nullopt if the contents cannot be that
  /// array.
  std::optional<ArrayInfo> read_packed_tensor(const MetalayerEntry& layer) const;
  IndexRules rules() const;
  std::int64_t max_mapped_chunks() const;
  /// Returns the index chunk, from the map if it has one.
  std::shared_ptr<const PagedTable> table_of(const ChunkMap* map) const;

  std::size_t copied_bytes_;
  bool is_copied_;
  std::shared_ptr<const ByteSource> contents_;
  std::uint64_t index_at_;
  std::uint64_t index_limit_;
  int entry_size_;
  bool early_;              ///< the early layout
  std::size_t first_read_;  ///< guessed size of a chunk's header and block starts
  std::vector<std::uint8_t> header_bytes_;
  std::shared_ptr<PeerLock> peer_lock_;
  std::uint64_t foreign_changes_;
  std::shared_ptr<ExpectedState> expected_;
  std::optional<MetalayerEntry> checksum_layer_;
};

/// The first bytes of a source, and its state before they were read.
struct SourceStart {
  FileStamp stamp;
  std::vector<std::uint8_t> bytes;
};

/// Reads the parts of a frame. Reads again if the file changes during the read. After the last
/// attempt, passes on the error, or throws std::system_error(EIO). `stamp` becomes the state that
/// was read. `start` may be null; the first attempt does not read its bytes again.
FrameParts read_stable_parts(const ByteSource& source, std::uint8_t frame_type, FileStamp& stamp,
                             SourceStart* start = nullptr);

}  // namespace bloscfs::frame::inline reading
