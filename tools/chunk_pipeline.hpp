#pragma once
// Encodes chunks on workers, while the calling thread reads the next ones and stores finished ones.

#include <cstdint>
#include <functional>
#include <vector>

#include "codec/chunk_encoder.hpp"
#include "fs/encoding/chunk_recoder.hpp"
#include "fs/support/page_pool.hpp"
#include "fs/support/pooled_buffer.hpp"
#include "fs/support/request.hpp"
#include "fs/support/worker_pool.hpp"

namespace bloscfs::tools {

/// For use by one thread. Takes memory for the contents, the stored bytes and the scratch space of
/// one chunk for each worker, and of four more chunks.
class ChunkPipeline {
 public:
  /// Receives a finished chunk. Its stored bytes are valid only during the call. A zero or NaN
  /// chunk has none.
  using Store = std::function<void(const fs::RecodedChunk& chunk)>;
  /// Writes a chunk's contents.
  using Fill = std::function<void(codec::MutableBytes contents)>;
  /// Encodes a chunk's contents, which must stay valid during the call.
  using Use = std::function<void(codec::Bytes contents)>;
  /// Calls `use` once, on a worker, with a chunk's contents.
  using Lend = std::function<void(const Use& use)>;

  /// Calls `store` on the thread that uses the pipeline, in the order of the chunks. Throws Error
  /// as codec::check_settings() does.
  ChunkPipeline(const codec::EncodeSettings& settings, unsigned workers, Store store);

  /// Returns memory for the next chunk's contents. Its bytes are unspecified. Valid until add().
  codec::MutableBytes next(std::size_t size);
  /// Encodes the first `size` bytes of next(). Throws what `store` or a function of an earlier
  /// chunk has thrown.
  void add(std::size_t size);
  /// Encodes `size` bytes that `fill` writes on a worker. They lie in the worker's own memory, and
  /// so in the cache of its processor. Throws an error of an earlier chunk, as add() does.
  void add_filled(std::size_t size, Fill fill);
  /// Lets `make`, on a worker, produce the stored bytes of a chunk with `size` bytes of contents.
  /// Throws an error of an earlier chunk, as add() does.
  void add_made(std::size_t size, fs::ChunkRecoder::Encode make);
  /// Encodes `size` bytes that `lend` has in memory. A worker calls `lend`. Throws an error of an
  /// earlier chunk, as add() does.
  void add_lent(std::size_t size, Lend lend);
  /// Waits until all chunks are stored.
  void finish();

 private:
  fs::PagePool pages_;
  std::vector<fs::PooledBuffer> slots_;  ///< contents; one more than chunks in progress
  std::size_t next_ = 0;
  fs::WorkerPool pool_;
  fs::Request request_;
  fs::ChunkRecoder recoder_;
};

}  // namespace bloscfs::tools
