#pragma once
// Encodes the chunks of a commit on the workers, several at a time.

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>

#include "codec/chunk_encoder.hpp"
#include "fs/sync.hpp"
#include "fs/worker_pool.hpp"

namespace bloscfs::fs {

/// For one thread, which is none of the pool's.
class ChunkRecoder {
 public:
  using Encode = std::function<codec::EncodedChunk(codec::ChunkEncoder&)>;
  using Put = std::function<void(std::int64_t chunk, const codec::EncodedChunk&)>;

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
    codec::EncodedChunk result;
    std::exception_ptr error;
    bool done = false;
  };
  void run(Job& job);
  void hand_over_first();
  void wait_for(const Job& job);

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
