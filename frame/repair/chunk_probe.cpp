#include "frame/repair/chunk_probe.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include <boost/endian/conversion.hpp>

#include "codec/error.hpp"

namespace bloscfs::frame::inline repair {
namespace {

/// Most memory for decoding one block. The largest block of the format fits.
constexpr std::uint64_t kMaxDecodeMemory = std::uint64_t{3} << 30;
/// Chunks may use more memory than this only if they store a byte for each kLikelyRatio bytes of
/// memory.
constexpr std::uint64_t kFreeDecodeMemory = std::uint64_t{128} << 20, kLikelyRatio = 1024;

/// `limit` is the number of stored bytes that exist, whatever the chunk claims.
bool needs_too_much(const codec::Chunk& chunk, std::uint64_t limit) {
  const auto memory = static_cast<std::uint64_t>(chunk.decode_memory());
  const auto stored = std::min(limit, static_cast<std::uint64_t>(chunk.header().cbytes));
  return memory > kMaxDecodeMemory ||
         (memory > kFreeDecodeMemory && memory / kLikelyRatio > stored);
}

/// Most bytes of block starts.
constexpr std::int64_t kMaxPrefix = std::int64_t{512} << 20;

bool is_unsupported(const codec::Error& error) {
  return error.code() == codec::FormatErrc::unsupported ||
         error.code() == codec::FormatErrc::too_large;
}

std::size_t clamp_size(std::uint64_t size, std::uint64_t limit) {
  return static_cast<std::size_t>(std::min(size, limit));
}

/// Replaces wrong block starts by the position of the first byte behind the starts. Returns the
/// blocks with wrong starts.
std::vector<std::int32_t> fix_block_starts(const codec::ChunkHeader& header, MutableBytes prefix,
                                           std::int64_t first) {
  std::vector<std::int32_t> wrong;
  for (std::int32_t block = 0; block < header.block_count; ++block) {
    std::uint8_t* const field = prefix.data() + header.header_size + std::ptrdiff_t{4} * block;
    const std::int32_t start = boost::endian::load_little_s32(field);
    if (start >= first && start < header.cbytes) continue;
    wrong.push_back(block);
    boost::endian::store_little_s32(field, static_cast<std::int32_t>(first));
  }
  return wrong;
}

void add_lost(std::vector<ByteRange>& lost, const ByteRange& range) {
  if (!lost.empty() && lost.back().offset + lost.back().size == range.offset)
    lost.back().size += range.size;
  else
    lost.push_back(range);
}

std::vector<std::int32_t> read_vl_sizes(const ByteSource& source, std::uint64_t position,
                                        const codec::ChunkHeader& header, Bytes prefix) {
  std::vector<std::int32_t> sizes;
  for (const std::int32_t start : codec::parse_block_starts(header, prefix)) {
    std::uint8_t size[4];
    source.read_exactly_at(position + static_cast<std::uint64_t>(start), size, "VL block");
    sizes.push_back(boost::endian::load_little_s32(size));
  }
  return sizes;
}

}  // namespace

std::optional<TolerantChunk> ChunkProbe::open(const ByteSource& source, std::uint64_t position,
                                              std::uint64_t limit) {
  unsupported_ = false;
  try {
    std::vector<std::uint8_t> prefix(clamp_size(codec::kChunkHeaderBytes, limit));
    prefix.resize(source.read_at(position, prefix));
    // Does not pass `limit`, so that a chunk that the end of the file cuts off is accepted, too.
    const codec::ChunkHeader header = codec::parse_chunk_header(
        prefix, std::numeric_limits<std::int32_t>::max(), full_typesize_, block_shape_);
    const std::int64_t size = codec::Chunk::prefix_size(header);
    if (size > kMaxPrefix || size > header.cbytes || static_cast<std::uint64_t>(size) > limit)
      return std::nullopt;
    prefix.resize(static_cast<std::size_t>(size));
    source.read_exactly_at(position, prefix, "block starts");
    const ByteRange range = codec::Chunk::dictionary_range(header, prefix);
    std::vector<std::uint8_t> dictionary(static_cast<std::size_t>(range.size));
    source.read_exactly_at(position + static_cast<std::uint64_t>(range.offset), dictionary,
                           "dictionary");
    std::vector<std::int32_t> wrong, vl_sizes;
    if (header.vl_blocks)
      vl_sizes = read_vl_sizes(source, position, header, prefix);
    else if (header.has_block_starts())
      wrong = fix_block_starts(header, prefix, size + range.size);
    if (size + range.size >= header.cbytes && header.has_block_starts()) return std::nullopt;
    return TolerantChunk{codec::Chunk(header, prefix, dictionary, vl_sizes), std::move(wrong)};
  } catch (const codec::Error& error) {
    unsupported_ = is_unsupported(error);
    return std::nullopt;
  }
}

bool ChunkProbe::decode(const ByteSource& source, std::uint64_t position, const codec::Chunk& chunk,
                        std::int32_t block, std::vector<std::uint8_t>& out) {
  unsupported_ = false;
  out.resize(static_cast<std::size_t>(chunk.block_content(block).size));
  if (chunk.header().is_special()) {
    chunk.fill_special(chunk.block_content(block).offset, out);
    return true;
  }
  const auto read = [&](std::int32_t which) -> Bytes {
    const ByteRange range = chunk.block_stored(which);
    stored_.resize(static_cast<std::size_t>(range.size));
    source.read_exactly_at(position + static_cast<std::uint64_t>(range.offset), stored_, "block");
    return stored_;
  };
  try {
    // reference_ holds block 0 of the chunk, which other blocks may need, from one call to the
    // next.
    if (block == 0 || !chunk.needs_reference(block)) reference_.clear();
    if (chunk.needs_reference(block) && reference_.empty()) {
      reference_.resize(static_cast<std::size_t>(chunk.block_content(0).size));
      try {
        decoder_.decode(chunk, 0, read(0), {}, reference_);
      } catch (const codec::Error&) {
        reference_.clear();
        throw;
      }
    }
    decoder_.decode(chunk, block, read(block), reference_, out);
    return true;
  } catch (const codec::Error& error) {
    unsupported_ = is_unsupported(error);
    return false;
  }
}

void ChunkProbe::decode_all(const ByteSource& source, std::uint64_t position,
                            const TolerantChunk& opened, bool only_whole, ChunkFacts& facts) {
  const codec::Chunk& chunk = opened.chunk;
  auto wrong = opened.bad_start_blocks.begin();
  std::uint64_t spent = 0;
  std::int32_t sound = 0;
  bool unsupported = false;
  // If block 0 has no start, blocks that refer to it are lost.
  const bool no_reference = wrong != opened.bad_start_blocks.end() && *wrong == 0;
  for (std::int32_t block = 0; block < chunk.block_count(); ++block) {
    bool no_start = wrong != opened.bad_start_blocks.end() && *wrong == block;
    if (no_start) ++wrong;
    no_start = no_start || (no_reference && chunk.needs_reference(block));
    const ByteRange content = chunk.block_content(block);
    spent += static_cast<std::uint64_t>(chunk.block_stored(block).size) + 64;
    if (!no_start && decode(source, position, chunk, block, contents_)) {
      spent += static_cast<std::uint64_t>(content.size);
      ++sound;
      continue;
    }
    unsupported = unsupported || (!no_start && unsupported_);
    add_lost(facts.lost, content);
    if (only_whole) break;
  }
  facts.soundness = Soundness::whole;
  if (!facts.lost.empty())
    facts.soundness = unsupported && sound == 0 ? Soundness::undecodable : Soundness::damaged;
  if (facts.soundness == Soundness::damaged && (only_whole || sound == 0))
    effort_.charge_rejected(spent);
  else
    effort_.charge_chunk(spent);
}

ChunkFacts ChunkProbe::look(const ByteSource& source, std::uint64_t position, std::uint64_t limit,
                            bool only_whole) {
  reference_.clear();
  ChunkFacts facts;
  const auto opened = open(source, position, limit);
  if (!opened) {
    effort_.charge_rejected(0);
    return facts;
  }
  const codec::Chunk& chunk = opened->chunk;
  const codec::ChunkHeader& header = chunk.header();
  facts.special = header.special;
  facts.vl_blocks = header.vl_blocks;
  facts.typesize = header.typesize;
  facts.blocksize = header.blocksize;
  facts.nbytes = header.nbytes;
  facts.cbytes = header.cbytes;
  facts.is_cut = static_cast<std::uint64_t>(header.cbytes) > limit;
  if (only_whole && (facts.is_cut || !opened->bad_start_blocks.empty())) {
    effort_.charge_rejected(static_cast<std::uint64_t>(codec::Chunk::prefix_size(header)));
    facts.soundness = Soundness::damaged;
    return facts;
  }
  // The value that the chunk repeats is its last part, which is cut off.
  if (facts.is_cut && header.special == codec::SpecialValue::value) {
    facts.soundness = Soundness::none;
  } else if (header.is_special() || (header.memcpyed && !facts.is_cut)) {
    facts.soundness = Soundness::whole;
  } else if (needs_too_much(chunk, limit)) {
    facts.soundness = Soundness::undecodable;
  } else {
    decode_all(source, position, *opened, only_whole, facts);
    // All blocks decode, but the chunk's size is wrong, so it cannot be copied.
    if (facts.is_cut && facts.soundness == Soundness::whole) facts.soundness = Soundness::damaged;
  }
  return facts;
}

}  // namespace bloscfs::frame::inline repair
