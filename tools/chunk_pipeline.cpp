#include "tools/chunk_pipeline.hpp"

#include <utility>

namespace bloscfs::tools {
namespace {

/// Chunks under way beside those that the workers are at: two wait, so that no worker does while
/// a finished one is stored.
constexpr std::size_t kSpareChunks = 3;

}  // namespace

ChunkPipeline::ChunkPipeline(const codec::EncodeSettings& settings, unsigned workers, Store store)
    : slots_(workers + kSpareChunks + 1),
      pool_(workers),
      recoder_(settings, pool_, workers + kSpareChunks, std::move(store)) {}

codec::MutableBytes ChunkPipeline::next(std::size_t size) {
  return slots_[next_ % slots_.size()].room_for(size);
}

void ChunkPipeline::add(std::size_t size) {
  const codec::MutableBytes contents = next(size);
  recoder_.add(static_cast<std::int64_t>(next_++),
               [contents](codec::ChunkEncoder& encoder, fs::CellBytes& out) {
                 return fs::encode_whole(encoder, contents, out);
               });
}

void ChunkPipeline::add_filled(std::size_t size, Fill fill) {
  recoder_.add(static_cast<std::int64_t>(next_++),
               [size, fill = std::move(fill)](codec::ChunkEncoder& encoder, fs::CellBytes& out) {
                 static thread_local fs::CellBytes own;
                 const codec::MutableBytes contents = own.room_for(size);
                 fill(contents);
                 return fs::encode_whole(encoder, contents, out);
               });
}

void ChunkPipeline::add_lent(Lend lend) {
  recoder_.add(
      static_cast<std::int64_t>(next_++),
      [lend = std::move(lend)](codec::ChunkEncoder& encoder, fs::CellBytes& out) {
        codec::EncodedSize size;
        lend([&](codec::Bytes contents) { size = fs::encode_whole(encoder, contents, out); });
        return size;
      });
}

void ChunkPipeline::finish() { recoder_.finish(); }

}  // namespace bloscfs::tools
