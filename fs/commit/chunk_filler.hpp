#pragma once
// Encodes the chunks that a commit stores, on the worker threads, and puts them into its
// transaction.

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "frame/array/array_geometry.hpp"
#include "frame/container/transaction.hpp"
#include "fs/commit/changed_chunk.hpp"
#include "fs/commit/chunk_changes.hpp"
#include "fs/content/frozen_bytes.hpp"
#include "fs/encoding/chunk_recoder.hpp"
#include "fs/options/write_options.hpp"

namespace bloscfs::fs {

/// The chunks that a filler has stored anew.
struct FilledChunks {
  std::vector<std::int64_t> numbers;
  bool were_dropped = false;  ///< chunks were cut off, even if others were added again
};

/// For one call of fill_new() or edit(), on a thread that is not one of the pool's. The call
/// returns when everything is in the transaction. After an error, the transaction has an incomplete
/// set of chunks and must be dropped. The destructor waits for the running jobs.
class ChunkFiller {
 public:
  struct Services {
    const WriteOptions& options;
    BlockCache& cache;
    WorkerPool& pool;
  };
  /// Borrows all arguments but `on_chunk_put`, which is called with the number of content bytes of
  /// each run of chunks that was put. Throws std::system_error(EFBIG) if there is no memory for one
  /// chunk.
  ChunkFiller(Request& request, const FrozenBytes& file, frame::Transaction& transaction,
              const Services& services, std::function<void(std::size_t nbytes)> on_chunk_put);
  ChunkFiller(const ChunkFiller&) = delete;
  ChunkFiller& operator=(const ChunkFiller&) = delete;

  /// Stores all chunks of a new container: an array, or a flat frame.
  FilledChunks fill_new(const std::optional<frame::ArrayInfo>& array);
  /// Stores the changed chunks of the committed container. Requires a view.
  FilledChunks edit();

 private:
  void fill_flat();
  void fill_array(const frame::ArrayInfo& array);
  void edit_flat();
  void edit_array();
  std::set<std::int64_t> touched_chunks() const;
  void add_zeroed(const codec::ByteRange& range, std::set<std::int64_t>& touched) const;
  codec::ByteRange chunk_range(std::int64_t chunk) const;
  void add_whole_chunk(std::int64_t chunk, const codec::ByteRange& range);
  void add_array_chunk(std::int64_t chunk, std::int64_t begin, std::int64_t end,
                       std::int64_t header_size);
  void add_changed_chunk(std::int64_t chunk, const ChunkSize& size, ChunkChanges changes);
  void put(std::span<const RecodedChunk> run);

  Request& request_;
  const FrozenBytes& file_;
  frame::Transaction& transaction_;
  const std::function<void(std::size_t nbytes)> was_put_;
  FlatCut cut_;
  std::int64_t contents_at_ = 0;  ///< offset in the file at which a flat frame's contents begin
  std::optional<frame::ArrayGeometry> geometry_;
  FilledChunks filled_;
  ChunkRecoder recoder_;  ///< last member, destroyed first: its jobs use the other members
};

}  // namespace bloscfs::fs
