#include "tools/chunk_pipeline.hpp"

#include <utility>

namespace bloscfs::tools {
namespace {

/// Chunks under way beside those that the workers are at: two wait, so that no worker does while
/// a finished one is stored.
constexpr std::size_t kSpareChunks = 3;
/// Size of runs: each chunk is one.
constexpr std::size_t kAlone = 0;

}  // namespace

ChunkPipeline::ChunkPipeline(const codec::EncodeSettings& settings, unsigned workers, Store store)
    : slots_(workers + kSpareChunks + 1),
      pool_(workers),
      recoder_(settings, pool_, workers + kSpareChunks, kAlone,
               [store = std::move(store)](std::span<const fs::RecodedChunk> run) {
                 for (const fs::RecodedChunk& chunk : run) store(chunk);
               }) {}

codec::MutableBytes ChunkPipeline::next(std::size_t size) {
  return slots_[next_ % slots_.size()].room_for(size);
}

void ChunkPipeline::add(std::size_t size) {
  const codec::MutableBytes contents = next(size);
  recoder_.add(static_cast<std::int64_t>(next_++), size,
               [contents](codec::ChunkEncoder& encoder, codec::MutableBytes out) {
                 return encoder.encode_into(contents, out);
               });
}

void ChunkPipeline::add_filled(std::size_t size, Fill fill) {
  recoder_.add(
      static_cast<std::int64_t>(next_++), size,
      [size, fill = std::move(fill)](codec::ChunkEncoder& encoder, codec::MutableBytes out) {
        static thread_local fs::PooledBuffer own;
        const codec::MutableBytes contents = own.room_for(size);
        fill(contents);
        return encoder.encode_into(contents, out);
      });
}

void ChunkPipeline::add_lent(std::size_t size, Lend lend) {
  recoder_.add(static_cast<std::int64_t>(next_++), size,
               [lend = std::move(lend)](codec::ChunkEncoder& encoder, codec::MutableBytes out) {
                 codec::EncodedSize encoded;
                 lend([&](codec::Bytes contents) { encoded = encoder.encode_into(contents, out); });
                 return encoded;
               });
}

void ChunkPipeline::finish() { recoder_.finish(); }

}  // namespace bloscfs::tools
