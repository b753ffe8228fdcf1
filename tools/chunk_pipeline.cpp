#include "tools/chunk_pipeline.hpp"

#include <utility>

namespace bloscfs::tools {
namespace {

/// Chunks under way beside those that the workers are at: one waits, one may be finished.
constexpr std::size_t kSpareChunks = 1;

}  // namespace

ChunkPipeline::ChunkPipeline(const codec::EncodeSettings& settings, unsigned workers, Store store)
    : store_(std::move(store)),
      slots_(workers + kSpareChunks + 1),
      pool_(workers),
      recoder_(settings, pool_, workers + kSpareChunks,
               [this](std::int64_t chunk, const codec::EncodedChunk&) {
                 const Slot& slot = slot_of(chunk);
                 store_(chunk, slot.size.special,
                        codec::Bytes(slot.stored).first(slot.size.stored));
               }) {}

codec::MutableBytes ChunkPipeline::next(std::size_t size) {
  Slot& slot = slot_of(next_);
  if (slot.contents.size() < size) slot.contents.resize(size);
  return codec::MutableBytes(slot.contents).first(size);
}

void ChunkPipeline::add(std::size_t size, Fill fill) {
  Slot& slot = slot_of(next_);
  const codec::MutableBytes contents = next(size);
  const std::size_t most = codec::ChunkEncoder::max_stored_size(size);
  if (slot.stored.size() < most) slot.stored.resize(most);
  recoder_.add(next_++, [&slot, contents, fill = std::move(fill)](codec::ChunkEncoder& encoder) {
    if (fill) fill(contents);
    slot.size = encoder.encode_into(contents, slot.stored);
    return codec::EncodedChunk();
  });
}

void ChunkPipeline::finish() { recoder_.finish(); }

}  // namespace bloscfs::tools
