#include "tools/chunk_pipeline.hpp"

#include <cstdint>
#include <utility>

namespace bloscfs::tools {
namespace {

/// Chunks in progress in addition to one for each worker. Two of them wait for a worker, so that no
/// worker is idle while a finished chunk is stored.
constexpr std::size_t kSpareChunks = 3;
/// Maximum bytes of contents in progress. A chunk that is larger is in progress alone.
constexpr std::size_t kMostUnderWay = std::size_t{48} << 20;
/// A run is what the recoder hands to its caller at once. With a run_size of 0, each run is one
/// chunk.
fs::RunBounds bounds(unsigned workers) {
  return {.runs = workers + kSpareChunks, .run_size = 0, .bytes = kMostUnderWay};
}

/// Returns memory that belongs to the calling thread until its next call. Its bytes are
/// unspecified.
codec::MutableBytes own_memory(std::size_t size) {
  static thread_local std::vector<std::uint8_t> own;
  if (own.size() < size) own.resize(size);
  return codec::MutableBytes(own).first(size);
}

}  // namespace

ChunkPipeline::ChunkPipeline(const codec::EncodeSettings& settings, unsigned workers, Store store)
    : pool_(workers),
      recoder_(request_, settings, pages_, pool_, nullptr, bounds(workers),
               [store = std::move(store)](std::span<const fs::RecodedChunk> run) {
                 for (const fs::RecodedChunk& chunk : run) store(chunk);
               }) {
  for (std::size_t i = 0; i < workers + kSpareChunks + 1; i++) slots_.emplace_back(pages_);
}

codec::MutableBytes ChunkPipeline::next(std::size_t size) {
  return slots_[next_ % slots_.size()].room_for(size);
}

void ChunkPipeline::add(std::size_t size) {
  const codec::MutableBytes contents = next(size);
  recoder_.add(static_cast<std::int64_t>(next_++), size,
               [contents](fs::Request&, codec::ChunkEncoder& encoder, codec::MutableBytes out) {
                 return encoder.encode_into(contents, out);
               });
}

void ChunkPipeline::add_filled(std::size_t size, Fill fill) {
  recoder_.add(static_cast<std::int64_t>(next_++), size,
               [size, fill = std::move(fill)](fs::Request&, codec::ChunkEncoder& encoder,
                                              codec::MutableBytes out) {
                 const codec::MutableBytes contents = own_memory(size);
                 fill(contents);
                 return encoder.encode_into(contents, out);
               });
}

void ChunkPipeline::add_made(std::size_t size, fs::ChunkRecoder::Encode make) {
  recoder_.add(static_cast<std::int64_t>(next_++), size, std::move(make));
}

void ChunkPipeline::add_lent(std::size_t size, Lend lend) {
  recoder_.add(static_cast<std::int64_t>(next_++), size,
               [lend = std::move(lend)](fs::Request&, codec::ChunkEncoder& encoder,
                                        codec::MutableBytes out) {
                 codec::EncodedSize encoded;
                 lend([&](codec::Bytes contents) { encoded = encoder.encode_into(contents, out); });
                 return encoded;
               });
}

void ChunkPipeline::finish() { recoder_.finish(); }

}  // namespace bloscfs::tools
