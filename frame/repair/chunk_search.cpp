#include "frame/repair/chunk_search.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <boost/endian/conversion.hpp>

#include "frame/header/cframe_format.hpp"

namespace bloscfs::frame::inline repair {
namespace {

using boost::endian::load_little_s32;

constexpr std::size_t kSearchWindow = std::size_t{1} << 20;
/// Marker and length in front of a metalayer's content.
constexpr std::uint64_t kLayerHead = 5;
constexpr std::uint8_t kNewestVersion = codec::kChunkVersionVlBlocks;

/// A cheap test of the 32 bytes of a possible chunk header. False if they are certainly not a
/// header.
bool may_be_header(const std::uint8_t* at, std::uint64_t room, const SearchRules& rules) {
  if (at[0] == 0 || at[0] > kNewestVersion || at[3] == 0) return false;
  // Bytes of a header: 0 version, 2 flags, 3 typesize, 4 nbytes, 8 blocksize, 12 cbytes, 30 and 31
  // flags of the extended header.
  const std::int64_t nbytes = load_little_s32(at + 4), cbytes = load_little_s32(at + 12);
  const std::int64_t blocksize = load_little_s32(at + 8);
  const std::uint8_t flags = at[2];
  const bool extended = (flags & codec::kFlagExtendedHeader) == codec::kFlagExtendedHeader;
  const std::int64_t head = extended ? codec::kExtendedHeaderSize : codec::kShortHeaderSize;
  if (nbytes <= 0 || cbytes < kMinStoredChunk || blocksize <= 0 || blocksize > codec::kMaxBlocksize)
    return false;
  if (static_cast<std::uint64_t>(cbytes) > room && !rules.has_size(nbytes)) return false;
  if (extended && (at[30] > codec::kFlag2VlBlocks || (at[31] & codec::kBlosc2Lazy) != 0))
    return false;
  if (extended && ((at[31] >> codec::kSpecialShift) & codec::kSpecialMask) != 0) return true;
  if ((flags & codec::kFlagMemcpy) != 0) return cbytes == nbytes + head;
  const bool vl_blocks = extended && at[30] == codec::kFlag2VlBlocks;
  const std::int64_t blocks =
      vl_blocks ? blocksize : codec::ceil_div(nbytes, std::min(blocksize, nbytes));
  return head + 4 * blocks < cbytes;
}

class Search {
 public:
  Search(const ByteSource& source, std::uint64_t end, const SearchRules& rules, ChunkProbe& probe)
      : source_(source), end_(end), rules_(rules), probe_(probe) {}

  /// Returns the chunk at a position, if there is one.
  std::optional<FoundChunk> chunk_at(std::uint64_t position) {
    const std::uint64_t room = end_ - position;
    const ChunkFacts facts = probe_.look(source_, position, room, true);
    if (facts.soundness == Soundness::none) return std::nullopt;
    FoundChunk found = found_chunk(position, facts);
    found.is_layer = is_layer(found);
    if (facts.soundness == Soundness::whole) return found;
    if (!rules_.has_size(facts.nbytes)) return std::nullopt;
    if (!facts.is_cut && !is_followed(found)) return std::nullopt;
    if (facts.soundness == Soundness::undecodable) return found;
    // Something that only looks like a chunk has no block that decodes.
    const ChunkFacts again = probe_.look(source_, position, room, false);
    std::int64_t lost = 0;
    for (const ByteRange& range : again.lost) lost += range.size;
    if (again.soundness != Soundness::damaged || lost == again.nbytes) return std::nullopt;
    return found;
  }

  /// Returns the 32 bytes at a position. Bytes behind the end of the file are zeros.
  const std::uint8_t* header_at(std::uint64_t position) {
    if (position < window_at_ || position + codec::kChunkHeaderBytes > window_at_ + got_) {
      window_at_ = position;
      window_.assign(kSearchWindow + codec::kChunkHeaderBytes, 0);
      got_ = source_.read_at(position, MutableBytes(window_));
      // Behind the end of the file the window is zero, and counts as read.
      if (got_ < window_.size()) got_ = window_.size();
    }
    return window_.data() + (position - window_at_);
  }

 private:
  bool is_layer(const FoundChunk& found) const {
    std::array<std::uint8_t, kLayerHead> head{};
    if (found.at < kLayerHead || source_.read_at(found.at - kLayerHead, head) < head.size())
      return false;
    return head[0] == kMsgpackBin32 &&
           boost::endian::load_big_u32(head.data() + 1) == static_cast<std::uint32_t>(found.cbytes);
  }

  bool is_followed(const FoundChunk& found) const {
    if (found.end() == end_) return true;
    std::array<std::uint8_t, codec::kChunkHeaderBytes> next{};
    if (source_.read_at(found.end(), next) < next.size()) return false;
    return may_be_header(next.data(), end_ - found.end(), rules_);
  }

  const ByteSource& source_;
  const std::uint64_t end_;
  const SearchRules& rules_;
  ChunkProbe& probe_;
  std::vector<std::uint8_t> window_;
  std::uint64_t window_at_ = 0;
  std::size_t got_ = 0;
};

}  // namespace

FoundChunk found_chunk(std::uint64_t at, const ChunkFacts& facts) {
  FoundChunk found;
  found.at = at;
  found.nbytes = facts.nbytes;
  found.cbytes = facts.cbytes;
  found.blocksize = facts.blocksize;
  found.typesize = static_cast<std::uint8_t>(facts.typesize);
  found.vl_blocks = facts.vl_blocks;
  found.is_cut = facts.is_cut;
  found.soundness = facts.soundness;
  return found;
}

std::vector<FoundChunk> search_chunks(const ByteSource& source, std::uint64_t begin,
                                      std::uint64_t end, const SearchRules& rules,
                                      ChunkProbe& probe, const Effort& effort) {
  std::vector<FoundChunk> found;
  Search search(source, end, rules, probe);
  std::uint64_t at = begin;
  while (end - at >= static_cast<std::uint64_t>(kMinStoredChunk) && at < end &&
         !effort.is_exhausted() && found.size() < kMaxFoundChunks) {
    const std::uint8_t* const header = search.header_at(at);
    if (!may_be_header(header, end - at, rules)) {
      ++at;
      continue;
    }
    const auto chunk = search.chunk_at(at);
    if (!chunk) {
      ++at;
      continue;
    }
    found.push_back(*chunk);
    at = std::min(end, chunk->end());
  }
  return found;
}

}  // namespace bloscfs::frame::inline repair
