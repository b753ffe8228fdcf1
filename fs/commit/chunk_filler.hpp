#pragma once
// Encodes what a commit stores, on the workers, into its transaction.

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "frame/array/array_geometry.hpp"
#include "frame/container/transaction.hpp"
#include "fs/commit/chunk_changes.hpp"
#include "fs/content/frozen_bytes.hpp"
#include "fs/encoding/chunk_recoder.hpp"
#include "fs/options/write_options.hpp"

namespace bloscfs::fs {

/// What a filler has stored anew.
struct FilledChunks {
  std::vector<std::int64_t> numbers;
  bool were_dropped = false;  ///< chunks were cut off, though others may have been added again
};

/// For one thread, which is none of the pool's, and for one call of fill_new() or edit(), which
/// return when all is in the transaction. An error leaves there what is complete: then the
/// transaction is of no use. The destructor waits for what is under way.
class ChunkFiller {
 public:
  struct Services {
    const WriteOptions& options;
    BlockCache& cache;
    WorkerPool& pool;
  };
  /// Borrows all but `was_put`, which is called with the bytes of contents that were put.
  /// Throws std::system_error(EFBIG) where there is not the memory for one chunk.
  ChunkFiller(Request& request, const FrozenBytes& file, frame::Transaction& transaction,
              const Services& services, std::function<void(std::size_t nbytes)> was_put);
  ChunkFiller(const ChunkFiller&) = delete;
  ChunkFiller& operator=(const ChunkFiller&) = delete;

  /// All chunks of a new container: an array, or flat.
  FilledChunks fill_new(const std::optional<frame::ArrayInfo>& array);
  /// The chunks of the committed container that have changed. Only for a file with a view.
  FilledChunks edit();

 private:
  void fill_flat();
  void fill_array(const frame::ArrayInfo& array);
  void edit_flat();
  void edit_array();
  std::set<std::int64_t> touched_chunks() const;
  void add_zeroed(const codec::ByteRange& range, std::set<std::int64_t>& touched) const;
  codec::ByteRange chunk_range(std::int64_t chunk) const;
  /// A chunk that is a range of the contents.
  void add_whole_chunk(std::int64_t chunk, const codec::ByteRange& range);
  void add_array_chunk(std::int64_t chunk, std::int64_t begin, std::int64_t end,
                       std::int64_t header_size);
  void add_changed_chunk(std::int64_t chunk, std::int64_t size, ChunkChanges changes);
  void put(std::span<const RecodedChunk> run);

  Request& request_;
  const FrozenBytes& file_;
  frame::Transaction& transaction_;
  const std::function<void(std::size_t nbytes)> was_put_;
  FlatCut cut_;
  std::int64_t contents_at_ = 0;  ///< where in the file those of a flat frame begin
  std::optional<frame::ArrayGeometry> geometry_;
  FilledChunks filled_;
  ChunkRecoder recoder_;  ///< the last: its jobs use the others
};

}  // namespace bloscfs::fs
