#pragma once
// Encodes the chunks of a commit on the workers, several at a time.

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>

#include "codec/chunk_encoder.hpp"
#include "frame/transaction.hpp"
#include "fs/cell_memory.hpp"
#include "fs/sync.hpp"
#include "fs/worker_pool.hpp"

namespace bloscfs::fs {

/// Room for a chunk of `nbytes`, however badly it compresses.
inline codec::MutableBytes room_for_chunk(CellBytes& out, std::size_t nbytes) {
  return out.room_for(codec::ChunkEncoder::max_stored_size(nbytes));
}

/// Encodes a chunk of all `contents` into `out`.
codec::EncodedSize encode_whole(codec::ChunkEncoder& encoder, codec::Bytes contents,
                                CellBytes& out);

/// Puts what an encoder made into a transaction.
void put_encoded(frame::Transaction& transaction, std::int64_t chunk, codec::SpecialValue special,
                 codec::Bytes stored);

/// For one thread, which is none of the pool's.
class ChunkRecoder {
 public:
  /// Encodes into `out`, whose size it sets.
  using Encode = std::function<codec::EncodedSize(codec::ChunkEncoder&, CellBytes& out)>;
  /// Takes a chunk's stored bytes, of which a special one has none.
  using Put = std::function<void(std::int64_t chunk, codec::SpecialValue, codec::Bytes stored)>;

  /// `at_once` chunks are in memory at a time; `put` takes each on the calling thread, in the order
  /// of add().
  ChunkRecoder(const codec::EncodeSettings& settings, WorkerPool& pool, std::size_t at_once,
               Put put);
  /// Waits for what is under way.
  ~ChunkRecoder();
  ChunkRecoder(const ChunkRecoder&) = delete;
  ChunkRecoder& operator=(const ChunkRecoder&) = delete;

  /// Has `encode` run, on a worker or later on the calling thread; hands over finished chunks while
  /// there are too many. Throws what any of them threw.
  void add(std::int64_t chunk, Encode encode);
  /// Hands over the rest.
  void finish();

 private:
  struct Job {
    std::int64_t chunk;
    Encode encode;
    codec::EncodedSize result;
    CellBytes stored;
    std::exception_ptr error;
    bool done = false;
  };
  void run(Job& job);
  void hand_over_first();
  void wait_for(const Job& job);

  std::vector<CellBytes> spare_;  ///< room for stored bytes, whose pages are there already
  const codec::EncodeSettings settings_;
  WorkerPool& pool_;
  const std::size_t at_once_;
  const Put put_;
  std::deque<std::shared_ptr<Job>> jobs_;
  std::shared_ptr<Job> last_;  ///< not begun: the calling thread would only wait for a worker
  Mutex mutex_;
  CondVar done_;
};

}  // namespace bloscfs::fs
