#pragma once
// Finds the chunks of a Bloscpack file by stepping from header to header, if the file has no
// offsets.

#include <cstdint>
#include <string>
#include <vector>

#include "frame/container/snapshot.hpp"
#include "frame/store/window_reader.hpp"

namespace bloscfs::frame::inline bloscpack {

/// The part of a Bloscpack file that holds the chunks, each followed by its digest.
struct ChunkArea {
  std::uint64_t begin = 0;        ///< file position of the first chunk
  std::uint64_t end = 0;          ///< size of the file
  std::uint64_t digest_size = 0;  ///< bytes behind every chunk

  /// Throws Error unless a chunk's header and digest can be at `position`.
  void check_position(std::int64_t chunk, std::int64_t position) const;
};

/// Most bytes that a walker reads at once, and keeps.
inline constexpr std::size_t kMaxWalkWindow = 64U << 10;

class ChunkWalker {
 public:
  /// Starts at a chunk's file position. `source` is borrowed.
  ChunkWalker(const ByteSource& source, const ChunkArea& area, std::uint64_t position)
      : reader_(source, area.end), area_(area), position_(position) {}

  std::uint64_t position() const { return position_; }
  bool at_end() const { return position_ == area_.end; }
  /// Steps over one chunk and returns its decoded size. If the chunk's sizes are impossible, throws
  /// Error and does not move.
  std::int32_t step();

 private:
  WindowReader reader_;
  ChunkArea area_;
  std::uint64_t position_;
  std::uint64_t window_end_ = 0;
  bool small_chunks_ = false;
};

/// The position of every stride()-th chunk.
class BloscpackMap final : public ChunkMap {
 public:
  /// Walks over `nchunks` chunks, or to the end of the area if `nchunks` is -1. Keeps checkpoints
  /// in at most `max_memory` bytes; throws Error(too_large) if that is less than a minimum. A bad
  /// chunk ends the walk: see failure().
  BloscpackMap(const ByteSource& source, const ChunkArea& area, std::int64_t nchunks,
               std::size_t max_memory);

  struct Checkpoint {
    std::int64_t content_offset;
    std::uint64_t position;
  };

  std::int64_t stride() const { return stride_; }  ///< chunks from one checkpoint to the next
  const std::vector<Checkpoint>& checkpoints() const { return checkpoints_; }
  std::int64_t chunk_count() const { return chunk_count_; }  ///< chunks that the walk stepped over
  std::int64_t content_size() const { return content_size_; }  ///< their decoded bytes
  std::uint64_t end() const { return end_; }                   ///< file position behind them
  /// Returns why the walk ended early; empty if it did not.
  const std::string& failure() const { return failure_; }
  std::size_t memory() const override;

 private:
  void add_chunk(std::uint64_t position, std::int32_t nbytes);

  std::size_t max_checkpoints_;
  std::int64_t stride_;
  std::vector<Checkpoint> checkpoints_;
  std::int64_t chunk_count_ = 0;
  std::int64_t content_size_ = 0;
  std::uint64_t end_ = 0;
  std::string failure_;
};

}  // namespace bloscfs::frame::inline bloscpack
