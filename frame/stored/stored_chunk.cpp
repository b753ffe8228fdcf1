#include "frame/stored/stored_chunk.hpp"

#include <algorithm>
#include <span>

#include <boost/endian/conversion.hpp>
#include <fmt/core.h>

#include "codec/error.hpp"

namespace bloscfs::frame::inline stored {
namespace {

using codec::throw_malformed;

/// The sizes of VL blocks that begin within this many bytes are read in one read.
constexpr std::int64_t kSizeWindow = 4096;

codec::ChunkHeader check_header(Bytes prefix, const StoredAt& at, const ChunkDemands& demands) {
  if (at.limit < static_cast<std::uint64_t>(demands.min_cbytes))
    throw_malformed(fmt::format("chunk at {}: {} bytes are left for it", at.position, at.limit));
  const codec::ChunkHeader header =
      codec::parse_chunk_header(prefix.first(std::min(prefix.size(), codec::kChunkHeaderBytes)),
                                at.limit, demands.full_typesize, demands.block_shape);
  if (header.cbytes < demands.min_cbytes)
    throw_malformed(fmt::format("chunk at {}: stored size {} < {}", at.position, header.cbytes,
                                demands.min_cbytes));
  if (demands.nbytes >= 0 && header.nbytes != demands.nbytes)
    throw_malformed(fmt::format("chunk at {}: {} bytes of contents, its container says {}",
                                at.position, header.nbytes, demands.nbytes));
  if (demands.cbytes >= 0 && header.cbytes != demands.cbytes)
    throw_malformed(fmt::format("chunk at {}: stored size {}, its container says {}", at.position,
                                header.cbytes, demands.cbytes));
  return header;
}

std::vector<std::uint8_t> read_first(const ByteSource& source, const StoredAt& at,
                                     std::size_t size) {
  std::vector<std::uint8_t> prefix(
      static_cast<std::size_t>(std::min<std::uint64_t>(size, at.limit)));
  const std::size_t got = source.read_at(at.position, prefix);
  if (got < std::min<std::size_t>(prefix.size(), codec::kChunkHeaderBytes))
    throw_malformed(fmt::format("chunk at {}: the file ends after {} bytes", at.position, got));
  prefix.resize(got);
  return prefix;
}

void check_memory(std::int64_t needed, const StoredAt& at, std::size_t max_memory) {
  if (static_cast<std::uint64_t>(needed) > max_memory)
    throw codec::Error(codec::FormatErrc::too_large,
                       fmt::format("chunk at {}: block starts take {} bytes > {}", at.position,
                                   needed, max_memory));
}

std::int32_t vl_size(Bytes window, std::int64_t in_window) {
  const std::int32_t size = boost::endian::load_little_s32(window.data() + in_window);
  if (size <= 0) throw_malformed(fmt::format("VL block of {} bytes", size));
  return size;
}

/// Reads the 4 bytes in front of each VL block that hold its size.
std::vector<std::int32_t> read_vl_sizes(const ByteSource& source, const StoredAt& at,
                                        const codec::ChunkHeader& header, Bytes prefix) {
  const std::vector<std::int32_t> starts = codec::parse_block_starts(header, prefix);
  std::vector<std::int32_t> sizes;
  sizes.reserve(starts.size());
  std::vector<std::uint8_t> window;
  while (sizes.size() < starts.size()) {
    const auto first = starts.begin() + static_cast<std::ptrdiff_t>(sizes.size());
    const std::int64_t begin = *first;
    const auto last = std::find_if(first, starts.end(), [&](std::int64_t start) {
      return start < begin || start + 4 > begin + kSizeWindow;
    });
    const std::int64_t window_end = std::int64_t{*(last - 1)} + 4;
    if (window_end > header.cbytes)
      throw_malformed(
          fmt::format("VL block at {} beyond chunk of {}", window_end - 4, header.cbytes));
    window.resize(static_cast<std::size_t>(window_end - begin));
    source.read_exactly_at(at.position + static_cast<std::uint64_t>(begin), window, "VL block");
    for (auto start = first; start != last; ++start)
      sizes.push_back(vl_size(window, *start - begin));
  }
  return sizes;
}

}  // namespace

codec::ChunkHeader read_chunk_header(const ByteSource& source, const StoredAt& at,
                                     const ChunkDemands& demands) {
  return check_header(read_first(source, at, codec::kChunkHeaderBytes), at, demands);
}

codec::Chunk open_stored_chunk(const ByteSource& source, const StoredAt& at,
                               const ChunkDemands& demands) {
  std::vector<std::uint8_t> prefix =
      read_first(source, at, std::max(demands.first_read, codec::kChunkHeaderBytes));
  const codec::ChunkHeader header = check_header(prefix, at, demands);
  const std::int64_t needed = codec::Chunk::prefix_size(header);
  // In addition to the prefix: the parsed and sorted block starts; for VL blocks also the sizes and
  // their sums.
  check_memory(needed + (header.vl_blocks ? 16 : 8) * std::int64_t{header.block_count}, at,
               demands.max_memory);
  const std::size_t have = std::min(prefix.size(), static_cast<std::size_t>(needed));
  prefix.resize(static_cast<std::size_t>(needed));
  if (have < prefix.size())
    source.read_exactly_at(at.position + have, std::span(prefix).subspan(have), "block starts");
  const codec::ByteRange range = codec::Chunk::dictionary_range(header, prefix);
  std::vector<std::uint8_t> dictionary(static_cast<std::size_t>(range.size));
  if (range.size > 0)
    source.read_exactly_at(at.position + static_cast<std::uint64_t>(range.offset), dictionary,
                           "dictionary");
  std::vector<std::int32_t> vl_sizes;
  if (header.vl_blocks) vl_sizes = read_vl_sizes(source, at, header, prefix);
  codec::Chunk chunk(header, prefix, dictionary, vl_sizes);
  check_memory(static_cast<std::int64_t>(chunk.memory()), at, demands.max_memory);
  return chunk;
}

void decode_stored_block(const ByteSource& source, std::uint64_t position,
                         const codec::Chunk& chunk, std::int32_t block,
                         codec::BlockDecoder& decoder, MutableBytes out) {
  const auto read = [&](std::int32_t which) {
    const codec::ByteRange range = chunk.block_stored(which);
    std::vector<std::uint8_t> stored(static_cast<std::size_t>(range.size));
    source.read_exactly_at(position + static_cast<std::uint64_t>(range.offset), stored, "block");
    return stored;
  };
  std::vector<std::uint8_t> reference;
  if (chunk.needs_reference(block)) {
    reference.resize(static_cast<std::size_t>(chunk.block_content(0).size));
    decoder.decode(chunk, 0, read(0), {}, reference);
  }
  decoder.decode(chunk, block, read(block), reference, out);
}

}  // namespace bloscfs::frame::inline stored
