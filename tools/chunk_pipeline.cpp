#include "tools/chunk_pipeline.hpp"

#include <utility>

namespace bloscfs::tools {
namespace {

/// Chunks under way beside those that the workers are at: one waits, one may be finished.
constexpr std::size_t kSpareChunks = 1;

}  // namespace

ChunkPipeline::ChunkPipeline(const codec::EncodeSettings& settings, unsigned workers, Store store)
    : slots_(workers + kSpareChunks + 1),
      pool_(workers),
      recoder_(settings, pool_, workers + kSpareChunks, std::move(store)) {}

codec::MutableBytes ChunkPipeline::next(std::size_t size) {
  std::vector<std::uint8_t>& contents = slots_[next_ % slots_.size()];
  if (contents.size() < size) contents.resize(size);
  return codec::MutableBytes(contents).first(size);
}

void ChunkPipeline::add(std::size_t size, Fill fill) {
  const codec::MutableBytes contents = next(size);
  recoder_.add(
      static_cast<std::int64_t>(next_++),
      [contents, fill = std::move(fill)](codec::ChunkEncoder& encoder, fs::CellBytes& out) {
        if (fill) fill(contents);
        return fs::encode_whole(encoder, contents, out);
      });
}

void ChunkPipeline::finish() { recoder_.finish(); }

}  // namespace bloscfs::tools
