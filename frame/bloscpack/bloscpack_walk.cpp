#include "frame/bloscpack/bloscpack_walk.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/core.h>

#include "codec/chunk_format.hpp"
#include "codec/error.hpp"
#include "frame/bloscpack/bloscpack_format.hpp"
#include "frame/stored/checkpoints.hpp"

namespace bloscfs::frame::inline bloscpack {
namespace {

using codec::throw_malformed;

constexpr std::int64_t kMinStride = 64;
constexpr std::size_t kMinCheckpoints = 64;
constexpr std::size_t kMaxCheckpoints = 65536;
/// If chunks are smaller than this, one read covers many headers.
constexpr std::uint64_t kSmallChunk = 4096;

}  // namespace

void ChunkArea::check_position(std::int64_t chunk, std::int64_t position) const {
  const std::uint64_t least = kBloscpackChunkHeader + digest_size;
  if (position < 0 || static_cast<std::uint64_t>(position) < begin || end < least ||
      static_cast<std::uint64_t>(position) > end - least)
    throw_malformed(fmt::format("Bloscpack chunk {}: offset {} is not in [{}, {} - {}]", chunk,
                                position, begin, end, least));
}

std::int32_t ChunkWalker::step() {
  const char* const what = "Bloscpack chunk header";
  if (position_ + kBloscpackChunkHeader > window_end_) {
    const std::size_t window = small_chunks_ ? kMaxWalkWindow : kBloscpackChunkHeader;
    reader_.load(position_, window);
    window_end_ = position_ + window;
  }
  codec::RawChunkHeader raw;
  const Bytes bytes = reader_.at(position_, sizeof raw, what);
  std::memcpy(&raw, bytes.data(), sizeof raw);
  const std::int32_t cbytes = raw.cbytes.value();
  const std::int32_t nbytes = raw.nbytes.value();
  if (cbytes < static_cast<std::int32_t>(kBloscpackChunkHeader) || nbytes < 0)
    throw_malformed(fmt::format("{} at {}: nbytes {}, cbytes {}", what, position_, nbytes, cbytes));
  const std::uint64_t size = static_cast<std::uint64_t>(cbytes) + area_.digest_size;
  if (size > area_.end - position_)
    throw_malformed(fmt::format("{} at {}: chunk and digest of {} bytes, file has {}", what,
                                position_, size, area_.end));
  small_chunks_ = size < kSmallChunk;
  position_ += size;
  return nbytes;
}

BloscpackMap::BloscpackMap(const ByteSource& source, const ChunkArea& area, std::int64_t nchunks,
                           std::size_t max_memory)
    : max_checkpoints_(std::min(max_memory / sizeof(Checkpoint), kMaxCheckpoints)),
      stride_(kMinStride),
      end_(area.begin) {
  if (max_checkpoints_ < kMinCheckpoints)
    throw codec::Error(codec::FormatErrc::too_large,
                       fmt::format("Bloscpack chunk map: does not fit into {} bytes", max_memory));
  ChunkWalker walker(source, area, area.begin);
  try {
    while (nchunks == -1 ? !walker.at_end() : chunk_count_ < nchunks) {
      const std::uint64_t position = walker.position();
      add_chunk(position, walker.step());
      end_ = walker.position();
    }
  } catch (const codec::Error& e) {
    failure_ = fmt::format("Bloscpack chunk {}: {}", chunk_count_, e.what());
  }
  checkpoints_.shrink_to_fit();
}

void BloscpackMap::add_chunk(std::uint64_t position, std::int32_t nbytes) {
  if (content_size_ > std::numeric_limits<std::int64_t>::max() - nbytes)
    throw_malformed("contents of all chunks exceed 2^63 bytes");
  note_checkpoint(checkpoints_, stride_, max_checkpoints_, chunk_count_,
                  Checkpoint{content_size_, position});
  content_size_ += nbytes;
  ++chunk_count_;
}

std::size_t BloscpackMap::memory() const {
  return sizeof(*this) + checkpoints_.capacity() * sizeof(Checkpoint) + failure_.capacity();
}

}  // namespace bloscfs::frame::inline bloscpack
