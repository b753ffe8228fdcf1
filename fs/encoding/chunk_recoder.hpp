#pragma once
// Encodes the chunks of a commit on the workers. Small chunks are encoded in runs of several.

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "codec/chunk_encoder.hpp"
#include "frame/container/transaction.hpp"
#include "fs/support/page_pool.hpp"
#include "fs/support/pooled_buffer.hpp"
#include "fs/support/request.hpp"
#include "fs/support/sync.hpp"
#include "fs/support/worker_pool.hpp"
#include "fs/view/memory_budget.hpp"

namespace bloscfs::fs {

/// A complete chunk: a special one, or its stored bytes.
struct RecodedChunk {
  std::int64_t number;
  std::size_t nbytes;
  codec::SpecialValue special;
  codec::Bytes stored;
};

/// Puts a run of chunks into a transaction.
void put_recoded(frame::Transaction& transaction, std::span<const RecodedChunk> run);

/// Bytes of memory that it takes to encode a chunk of `nbytes` again: its old stored bytes, its
/// contents, and its new stored bytes.
constexpr std::int64_t memory_to_encode(std::int64_t nbytes) { return 3 * nbytes; }

/// Limits what is in memory at a time while chunks are encoded. The defaults are those of a commit.
struct RunBounds {
  std::size_t runs = 6;                           ///< the most runs
  std::size_t run_size = std::size_t{512} << 10;  ///< contents of a run of several chunks
  /// Contents of all runs. Each large chunk is a run of its own, so that fewer are in memory at a
  /// time. A chunk with more bytes than this is alone in memory.
  std::size_t bytes = std::size_t{4} << 20;
};

/// For one thread, which must not be a thread of the pool.
class ChunkRecoder {
 public:
  /// Encodes a chunk into the front of `out`, which has room for it even if it does not compress.
  /// `own` is the request of the encoding thread: the recoder's, or a worker's.
  using Encode = std::function<codec::EncodedSize(Request& own, codec::ChunkEncoder&,
                                                  codec::MutableBytes out)>;
  /// Takes a run. Its stored bytes lie one behind the other, and are valid during the call.
  using Put = std::function<void(std::span<const RecodedChunk> run)>;

  /// Stored bytes lie in memory of `pages`, which outlives the recoder. Calls `put` with each run
  /// (one or several chunks), on the calling thread, in the order of add(). Takes the memory for
  /// encoding from `budget` until the recoder ends; `budget` may be null.
  ChunkRecoder(Request& request, const codec::EncodeSettings& settings, PagePool& pages,
               WorkerPool& pool, MemoryBudget* budget, const RunBounds& bounds, Put put);
  /// Waits for the running work.
  ~ChunkRecoder();
  ChunkRecoder(const ChunkRecoder&) = delete;
  ChunkRecoder& operator=(const ChunkRecoder&) = delete;

  /// Runs `encode` for a chunk of `nbytes`, on a worker or later on the calling thread. Hands
  /// finished runs to `put` while there are too many runs. Throws what `encode` or `put` has
  /// thrown.
  void add(std::int64_t number, std::size_t nbytes, Encode encode);
  /// Hands the remaining runs to `put`.
  void finish();

 private:
  struct Job {
    std::int64_t number;
    std::size_t nbytes;
    Encode encode;
    std::size_t room() const { return codec::ChunkEncoder::max_stored_size(nbytes); }
  };
  struct Run {
    explicit Run(PagePool& pages) : stored(pages) {}

    std::vector<Job> jobs;
    std::size_t nbytes = 0;
    PooledBuffer stored;
    std::vector<RecodedChunk> done_chunks;
    std::exception_ptr error;
    bool done = false;
  };
  std::size_t run_limit() const;
  /// Begins a run that is to hold at least `nbytes` bytes.
  void begin_run(std::size_t nbytes);
  void run(Request& request, Run& run);
  static void encode(Request& request, Run& run, codec::ChunkEncoder& encoder);
  void hand_over_first();
  void wait_for(const Run& run);

  Request& request_;
  std::vector<PooledBuffer> spare_;  ///< room for stored bytes whose pages exist already
  const codec::EncodeSettings settings_;
  PagePool& pages_;
  WorkerPool& pool_;
  std::optional<MemoryBudget::Part> memory_;
  const RunBounds bounds_;
  const Put put_;
  std::size_t buffered_bytes_ = 0;  ///< bytes of contents in all runs
  std::size_t added_ = 0;           ///< bytes of contents in the runs that are complete
  std::deque<std::shared_ptr<Run>> runs_;
  std::shared_ptr<Run> last_;  ///< not started: may grow, and the calling thread may run it
  Mutex mutex_;
  CondVar done_;
};

}  // namespace bloscfs::fs
