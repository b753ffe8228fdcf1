#pragma once
// Encodes the chunks of a commit on the workers, in runs of several where they are small.

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

/// A chunk that is complete: special, or its stored bytes.
struct RecodedChunk {
  std::int64_t number;
  std::size_t nbytes;
  codec::SpecialValue special;
  codec::Bytes stored;
};

/// Puts a run of chunks into a transaction.
void put_recoded(frame::Transaction& transaction, std::span<const RecodedChunk> run);

/// Bytes that it takes to encode a chunk of `nbytes` again: as it is stored, decoded, and new.
constexpr std::int64_t memory_to_encode(std::int64_t nbytes) { return 3 * nbytes; }

/// What is in memory at a time while chunks are encoded: for a commit, unless told otherwise.
struct RunBounds {
  std::size_t runs = 6;
  std::size_t run_size = std::size_t{512} << 10;  ///< contents of a run of several chunks
  /// Contents of all runs. Of larger chunks, of which each is a run, fewer are in memory: one where
  /// it has more than this.
  std::size_t bytes = std::size_t{4} << 20;
};

/// For one thread, which is none of the pool's.
class ChunkRecoder {
 public:
  /// Encodes a chunk into the front of `out`, which has room for it however badly it compresses.
  /// `own` is the request of the thread that encodes: the recoder's, or a worker's.
  using Encode = std::function<codec::EncodedSize(Request& own, codec::ChunkEncoder&,
                                                  codec::MutableBytes out)>;
  /// Takes a run, in which the stored bytes lie one behind the other; valid for the call.
  using Put = std::function<void(std::span<const RecodedChunk> run)>;

  /// Stored bytes lie in memory of `pages`, which outlives the recoder. `put` is called with each
  /// run (one chunk or several) on the calling thread, in the order of add(). The memory that
  /// encoding needs is taken from `budget` until the recoder ends, or from none if that is null.
  ChunkRecoder(Request& request, const codec::EncodeSettings& settings, PagePool& pages,
               WorkerPool& pool, MemoryBudget* budget, const RunBounds& bounds, Put put);
  /// Waits for what is under way.
  ~ChunkRecoder();
  ChunkRecoder(const ChunkRecoder&) = delete;
  ChunkRecoder& operator=(const ChunkRecoder&) = delete;

  /// Has `encode` run for a chunk of `nbytes`, on a worker or later on the calling thread; hands
  /// over finished runs while there are too many. Throws what any of them threw.
  void add(std::int64_t number, std::size_t nbytes, Encode encode);
  /// Hands over the rest.
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
  /// Of one that is to hold at least so many bytes.
  void begin_run(std::size_t nbytes);
  void run(Request& request, Run& run);
  static void encode(Request& request, Run& run, codec::ChunkEncoder& encoder);
  void hand_over_first();
  void wait_for(const Run& run);

  Request& request_;
  std::vector<PooledBuffer> spare_;  ///< room for stored bytes, whose pages are there already
  const codec::EncodeSettings settings_;
  PagePool& pages_;
  WorkerPool& pool_;
  std::optional<MemoryBudget::Part> memory_;
  const RunBounds bounds_;
  const Put put_;
  std::size_t at_hand_ = 0;  ///< bytes of contents in all runs
  std::size_t added_ = 0;    ///< bytes of contents in the runs that are complete
  std::deque<std::shared_ptr<Run>> runs_;
  std::shared_ptr<Run> last_;  ///< not begun: it may grow, or the calling thread would only wait
  Mutex mutex_;
  CondVar done_;
};

}  // namespace bloscfs::fs
