#include "frame/container/snapshot.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/container/checksum.hpp"
#include "frame/stored/stored_chunk.hpp"

namespace bloscfs::frame::inline container {
namespace {

constexpr std::size_t kChecksumWindow = std::size_t{256} << 10;
/// Most memory for the block starts of a vlmetalayer, in addition to its contents.
constexpr std::size_t kMaxLayerStarts = std::size_t{4} << 20;

void check_size(const MetalayerEntry& entry, std::int64_t size, std::size_t max_size) {
  if (static_cast<std::uint64_t>(size) > max_size)
    throw codec::Error(codec::FormatErrc::too_large,
                       fmt::format("metalayer {}: {} bytes > {}", entry.name, size, max_size));
}

std::vector<ByteRange> ranges_of(std::span<const StoredRange> stored) {
  std::vector<ByteRange> ranges;
  for (const StoredRange& some : stored) ranges.push_back(some.range);
  return ranges;
}

}  // namespace

std::vector<std::uint8_t> Snapshot::read_metalayer(const MetalayerEntry& entry) const {
  std::vector<std::uint8_t> content(entry.stored_size);
  source_->read_exactly_at(entry.stored_offset, content, "metalayer");
  return content;
}

std::int64_t Snapshot::vlmetalayer_size(const MetalayerEntry& entry) const {
  return read_chunk_header(*source_, {entry.stored_offset, entry.stored_size},
                           {.cbytes = entry.stored_size})
      .nbytes;
}

std::vector<std::uint8_t> Snapshot::read_vlmetalayer(const MetalayerEntry& entry,
                                                     std::size_t max_size,
                                                     codec::BlockDecoder& decoder) const {
  check_size(entry, vlmetalayer_size(entry), max_size);
  const codec::Chunk chunk =
      open_stored_chunk(*source_, {entry.stored_offset, entry.stored_size},
                        {.cbytes = entry.stored_size, .max_memory = kMaxLayerStarts + max_size});
  check_size(entry, chunk.nbytes(), max_size);
  std::vector<std::uint8_t> content(static_cast<std::size_t>(chunk.nbytes()));
  if (chunk.header().is_special()) {
    chunk.fill_special(0, content);
    return content;
  }
  for (std::int32_t block = 0; block < chunk.block_count(); ++block) {
    const codec::ByteRange range = chunk.block_content(block);
    decode_stored_block(*source_, entry.stored_offset, chunk, block, decoder,
                        MutableBytes(content).subspan(static_cast<std::size_t>(range.offset),
                                                      static_cast<std::size_t>(range.size)));
  }
  return content;
}

std::uint64_t Snapshot::checksum_of_stored(const OpenedChunk& chunk) const {
  const std::int64_t cbytes = chunk.chunk.header().cbytes;
  Checksum checksum;
  std::vector<std::uint8_t> window(std::min(kChecksumWindow, static_cast<std::size_t>(cbytes)));
  for (std::int64_t offset = 0; offset < cbytes;) {
    const auto size = std::min<std::int64_t>(cbytes - offset, std::ssize(window));
    const MutableBytes part = MutableBytes(window).first(static_cast<std::size_t>(size));
    read_stored(chunk, {offset, size}, part);
    checksum.update(part);
    offset += size;
  }
  return checksum.digest();
}

void Snapshot::verify_checksum(const OpenedChunk& chunk, std::uint64_t expected) const {
  const std::uint64_t sum = checksum_of_stored(chunk);
  if (sum != expected)
    throw ChecksumFailure(fmt::format("chunk {}: checksum {:016x}, recorded is {:016x}",
                                      chunk.place.number, sum, expected));
}

std::size_t Snapshot::memory() const {
  std::size_t bytes = sizeof(*this) + source_->memory();
  for (const MetalayerEntry& entry : metalayers_) bytes += sizeof(entry) + entry.name.capacity();
  if (!info_.array) return bytes;
  bytes += info_.array->shape.size() * (sizeof(std::int64_t) + 2 * sizeof(std::int32_t));
  if (info_.array->dtype) bytes += info_.array->dtype->capacity();
  return bytes;
}

void Snapshot::expect(std::span<const StoredRange> ranges) const {
  source_->expect(ranges_of(ranges));
}

bool Snapshot::is_available(std::span<const StoredRange> ranges) const {
  return source_->is_available(ranges_of(ranges));
}

}  // namespace bloscfs::frame::inline container
