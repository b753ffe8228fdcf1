#include "fs/view/chunk_opener.hpp"

#include <algorithm>
#include <vector>

#include "codec/error.hpp"
#include "fs/view/named_errors.hpp"
#include "fs/view/thread_decoder.hpp"

namespace bloscfs::fs {
namespace {

/// An opened chunk may take this much without a permit. This is enough for the starts of 32768
/// blocks.
constexpr std::int64_t kSmallChunk = 256 << 10;
/// Working memory that is charged for opening a chunk without a permit, and for reading a list of
/// checksums.
constexpr std::int64_t kSmallWorkingMemory = 64 << 10;

// Work for opening a chunk, in bytes that could be decoded in the same time.
constexpr std::int64_t kOpeningWork = 256;
constexpr std::int64_t kPerByteOfStarts = 4;

/// How many recorded checksums are read at once.
constexpr std::int64_t kChecksums = 1024;

struct Checksums {
  std::vector<std::uint64_t> values;
  std::size_t memory() const { return sizeof(*this) + values.capacity() * sizeof(std::uint64_t); }
};

/// Runs `step`, and counts a checksum failure that it throws.
template <typename Step>
auto counting_failures(Stats& stats, Step step) {
  try {
    return step();
  } catch (const frame::ChecksumFailure&) {
    stats.checksum_failures++;
    throw;
  }
}

}  // namespace

std::shared_ptr<const frame::OpenedChunk> ChunkOpener::open(const frame::ChunkPlace& place,
                                                            ReadRequest& request) const {
  if (place.special != codec::SpecialValue::none) {
    const std::int32_t typesize = source_->snapshot().info().typesize;
    return std::make_shared<const frame::OpenedChunk>(frame::OpenedChunk{
        codec::Chunk::make_special(place.special, place.nbytes, typesize), place, {}});
  }
  const auto most = static_cast<std::int64_t>(source_->cache().budget().capacity() / 2);
  try {
    return get(place, std::min(kSmallChunk, most), request);
  } catch (const codec::Error& error) {
    // Only the chunk's header tells how much memory the chunk takes. So open it in little memory
    // first, and again with a permit if that was not enough.
    if (error.code() != codec::FormatErrc::too_large || request.work().exhausted()) throw;
  }
  const MemoryBudget::LargeWork permit(request, source_->cache().budget(), most);
  return get(place, most, request);
}

ChunkOpener::OpenedPointer ChunkOpener::get(const frame::ChunkPlace& place, std::int64_t memory,
                                            ReadRequest& request) const {
  const auto make = [&] { return read(place, memory, request); };
  if (source_->is_tiny(place)) return make();
  return source_->cache().get<frame::OpenedChunk>(
      request, source_->key(CacheKind::opened_chunk, place.number),
      memory <= kSmallChunk ? kSmallWorkingMemory : memory, make);
}

ChunkOpener::OpenedPointer ChunkOpener::read(const frame::ChunkPlace& place, std::int64_t memory,
                                             ReadRequest& request) const {
  const frame::Snapshot& snapshot = source_->snapshot();
  const bool verifies = source_->settings().verify_checksums;
  request.work().begin(kOpeningWork);
  source_->stats().chunks_opened++;
  auto opened = source_->unless_torn([&] {
    return naming_chunk(place.number, [&] {
      return counting_failures(source_->stats(), [&] {
        return std::make_shared<const frame::OpenedChunk>(
            snapshot.open_chunk(place, static_cast<std::size_t>(memory)));
      });
    });
  });
  request.work().add(static_cast<std::int64_t>(opened->memory() - sizeof(*opened)) *
                     kPerByteOfStarts);
  // A checksum needs every stored byte to be read.
  if (verifies || !snapshot.info().checksum.empty())
    request.work().add(opened->chunk.header().cbytes);
  if (verifies) verify_checksum(request, *opened);
  return opened;
}

void ChunkOpener::verify_checksum(Request& request, const frame::OpenedChunk& opened) const {
  // Read many checksums at once, so that the list is not read for every chunk.
  const frame::Snapshot& snapshot = source_->snapshot();
  const std::int64_t number = opened.place.number;
  const std::int64_t first = number / kChecksums * kChecksums;
  const CacheKey key = source_->key(CacheKind::checksums, first);
  const auto sums = source_->cache().get<Checksums>(request, key, kSmallWorkingMemory, [&] {
    const std::int64_t count = std::min(kChecksums, snapshot.info().nchunks - first);
    auto read = std::make_shared<Checksums>();
    read->values = source_->unless_changed(
        [&] { return snapshot.recorded_checksums(first, count, thread_decoder()); });
    return read;
  });
  if (sums->values.empty()) return;
  const std::uint64_t sum = sums->values[static_cast<std::size_t>(number - first)];
  // 0: no checksum is recorded for the chunk.
  if (sum != 0) counting_failures(source_->stats(), [&] { snapshot.verify_checksum(opened, sum); });
}

void ChunkOpener::forget(std::int64_t chunk) const {
  source_->cache().forget(source_->key(CacheKind::opened_chunk, chunk));
}

}  // namespace bloscfs::fs
