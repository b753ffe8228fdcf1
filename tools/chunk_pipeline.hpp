#pragma once
// Encodes chunks on workers while the caller's thread gets the next ones and stores finished ones.

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

/// For one thread. Memory: for each worker, and four chunks more, a chunk's contents, its stored
/// bytes, and a worker's scratch.
class ChunkPipeline {
 public:
  /// Takes a chunk whose stored bytes, if it is neither zero nor NaN, are valid for the call.
  using Store = std::function<void(const fs::RecodedChunk& chunk)>;
  using Fill = std::function<void(codec::MutableBytes contents)>;
  /// Calls `use` once with a chunk's contents, which have to last as long as that.
  using Use = std::function<void(codec::Bytes contents)>;
  using Lend = std::function<void(const Use& use)>;

  /// `store` is called on this thread, for chunk 0 and so on. Throws Error as check_settings does.
  ChunkPipeline(const codec::EncodeSettings& settings, unsigned workers, Store store);

  /// Room for the next chunk's contents, unspecified bytes, valid until add().
  codec::MutableBytes next(std::size_t size);
  /// Encodes the first `size` bytes of it. Throws what `store` or a `fill` threw.
  void add(std::size_t size);
  /// Encodes `size` bytes that a worker has `fill` set, in memory that is its own: so they are in
  /// its processor's cache. Throws as add() does.
  void add_filled(std::size_t size, Fill fill);
  /// Has a worker make the stored bytes of a chunk of `size` bytes of contents. Throws as add()
  /// does.
  void add_made(std::size_t size, fs::ChunkRecoder::Encode make);
  /// Encodes `size` bytes that `lend`, on a worker, has somewhere else. Throws as add() does.
  void add_lent(std::size_t size, Lend lend);
  /// Waits until all chunks are stored.
  void finish();

 private:
  fs::PagePool pages_;
  std::vector<fs::PooledBuffer> slots_;  ///< contents; one more than are under way
  std::size_t next_ = 0;
  fs::WorkerPool pool_;
  fs::Request request_;
  fs::ChunkRecoder recoder_;
};

}  // namespace bloscfs::tools
