#include "codec/chunk.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "codec/compressor/codec_table.hpp"
#include "codec/error.hpp"
#include "codec/filter/pipeline.hpp"
#include "codec/special_value.hpp"

namespace bloscfs::codec {
namespace {

// Chunks without blocks get virtual blocks, for random access. These have the header's block size;
// if that exceeds kMaxVirtualBlocksize, kVirtualBlocksize.
constexpr std::int32_t kMaxVirtualBlocksize = 1 << 20;
constexpr std::int32_t kVirtualBlocksize = 256 << 10;
constexpr std::int32_t kDictionarySizeField = 4;
constexpr std::int32_t kStreamSizeField = 4;
constexpr std::int32_t kSmallestVlBlock = 5;  // the size field and one byte of stream

void check_prefix(const ChunkHeader& header, Bytes prefix) {
  const std::int64_t needed = Chunk::prefix_size(header);
  if (prefix.size() < static_cast<std::uint64_t>(needed)) {
    throw_malformed("chunk: block starts end at " + std::to_string(needed) + ", " +
                    std::to_string(prefix.size()) + " bytes present");
  }
}

[[noreturn]] void bad_start(std::int32_t block, std::int64_t start, std::int64_t first,
                            std::int64_t end) {
  throw_malformed("chunk: start of block " + std::to_string(block) + " is " +
                  std::to_string(start) + ", outside " + std::to_string(first) + ".." +
                  std::to_string(end));
}

std::vector<std::int64_t> vl_prefix_sums(const ChunkHeader& header,
                                         const std::vector<std::int32_t>& sizes) {
  if (sizes.size() != static_cast<std::size_t>(header.block_count)) {
    throw_malformed("chunk: " + std::to_string(sizes.size()) + " block sizes for " +
                    std::to_string(header.block_count) + " VL blocks");
  }
  std::vector<std::int64_t> sums{0};
  sums.reserve(sizes.size() + 1);
  for (const std::int32_t size : sizes) {
    if (size <= 0) throw_malformed("chunk: VL block of " + std::to_string(size) + " bytes");
    sums.push_back(sums.back() + size);
  }
  if (sums.back() != header.nbytes) {
    throw_malformed("chunk: VL blocks of " + std::to_string(sums.back()) + " bytes, nbytes " +
                    std::to_string(header.nbytes));
  }
  return sums;
}

ChunkHeader special_header(SpecialValue value, std::int32_t nbytes, std::int32_t typesize) {
  ChunkHeader h;
  h.version = kChunkVersionBlosc2;
  h.header_size = h.cbytes = kExtendedHeaderSize;
  h.full_typesize = std::max(typesize, 1);
  h.typesize = h.full_typesize > 255 ? 1 : h.full_typesize;
  h.nbytes = nbytes;
  h.blocksize = std::clamp(nbytes, 1, kVirtualBlocksize);
  h.block_count = ceil_div(nbytes, h.blocksize);
  h.special = value;
  return h;
}

}  // namespace

Chunk Chunk::make_special(SpecialValue value, std::int32_t nbytes, std::int32_t typesize) {
  if (nbytes < 0) throw_malformed("special chunk of " + std::to_string(nbytes) + " bytes");
  Chunk chunk(special_header(value, nbytes, typesize));
  const Bytes pattern = special_pattern(value, typesize);
  chunk.value_.assign(pattern.begin(), pattern.end());
  return chunk;
}

std::int64_t Chunk::prefix_size(const ChunkHeader& header) {
  if (header.is_special()) return std::int64_t{header.header_size} + header.value_size;
  if (!header.has_block_starts()) return header.header_size;
  return header.header_size + std::int64_t{4} * header.block_count +
         (header.has_dictionary ? kDictionarySizeField : 0);
}

ByteRange Chunk::dictionary_range(const ChunkHeader& header, Bytes prefix) {
  if (!header.has_dictionary) return {};
  check_prefix(header, prefix);
  const std::int64_t offset = prefix_size(header);
  const std::int64_t size =
      load_int32(prefix, static_cast<std::size_t>(offset - kDictionarySizeField));
  if (size < 1 || size > kMaxDictionarySize || offset + size > header.cbytes) {
    throw_malformed("chunk: dictionary of " + std::to_string(size) + " bytes at " +
                    std::to_string(offset) + ", cbytes " + std::to_string(header.cbytes));
  }
  return {offset, size};
}

std::vector<std::int32_t> parse_block_starts(const ChunkHeader& header, Bytes prefix) {
  if (!header.has_block_starts()) return {};
  check_prefix(header, prefix);
  const std::int64_t first =
      Chunk::prefix_size(header) + Chunk::dictionary_range(header, prefix).size;
  std::vector<std::int32_t> starts(static_cast<std::size_t>(header.block_count));
  std::int64_t least = first;  // VL blocks must be in order
  for (std::int32_t i = 0; i < header.block_count; ++i) {
    const std::size_t field = static_cast<std::size_t>(header.header_size + std::int64_t{4} * i);
    const std::int32_t start = load_int32(prefix, field);
    const std::int64_t end =
        header.vl_blocks ? header.cbytes - kSmallestVlBlock + 1 : header.cbytes;
    if (start < least || start >= end) bad_start(i, start, least, end);
    if (header.vl_blocks) least = std::int64_t{start} + kSmallestVlBlock;
    starts[static_cast<std::size_t>(i)] = start;
  }
  return starts;
}

Chunk::Chunk(const ChunkHeader& header) : header_(header), block_count_(header.block_count) {
  if (header_.instrumented) throw_unsupported("instrumented chunk: not data");
  if (header_.nbytes == 0) {
    block_count_ = 0;
  } else if (!header_.has_block_starts()) {
    virtual_blocksize_ =
        header_.blocksize <= kMaxVirtualBlocksize ? header_.blocksize : kVirtualBlocksize;
    block_count_ = ceil_div(header_.nbytes, virtual_blocksize_);
  }
}

Chunk::Chunk(const ChunkHeader& header, Bytes prefix, Bytes dictionary,
             const std::vector<std::int32_t>& vl_sizes)
    : Chunk(header) {
  check_prefix(header_, prefix);
  if (header_.is_special()) {
    const Bytes pattern = header_.special == SpecialValue::value
                              ? prefix.subspan(static_cast<std::size_t>(header_.header_size),
                                               static_cast<std::size_t>(header_.value_size))
                              : special_pattern(header_.special, header_.full_typesize);
    value_.assign(pattern.begin(), pattern.end());
  }
  const std::int64_t dictionary_size = dictionary_range(header_, prefix).size;
  if (dictionary.size() != static_cast<std::uint64_t>(dictionary_size)) {
    throw_malformed("chunk: " + std::to_string(dictionary.size()) + " bytes of dictionary, not " +
                    std::to_string(dictionary_size));
  }
  dictionary_.assign(dictionary.begin(), dictionary.end());
  starts_ = parse_block_starts(header_, prefix);
  if (header_.vl_blocks) vl_offsets_ = vl_prefix_sums(header_, vl_sizes);
  const auto out_of_order =
      std::adjacent_find(starts_.begin(), starts_.end(), std::greater_equal<>());
  if (out_of_order != starts_.end()) {
    sorted_starts_ = starts_;
    std::sort(sorted_starts_.begin(), sorted_starts_.end());
  }
}

std::int32_t Chunk::block_at(std::int64_t content_offset) const {
  if (header_.vl_blocks) {
    const auto next = std::upper_bound(vl_offsets_.begin(), vl_offsets_.end(), content_offset);
    return static_cast<std::int32_t>(next - vl_offsets_.begin()) - 1;
  }
  const std::int32_t size = virtual_blocksize_ != 0 ? virtual_blocksize_ : header_.blocksize;
  return static_cast<std::int32_t>(content_offset / size);
}

void Chunk::throw_no_block(std::int32_t block) const {
  throw std::out_of_range("block " + std::to_string(block) + " of " + std::to_string(block_count_));
}

std::int64_t Chunk::next_start(std::int32_t block) const {
  const std::size_t i = static_cast<std::size_t>(block);
  if (sorted_starts_.empty()) return i + 1 < starts_.size() ? starts_[i + 1] : header_.cbytes;
  const auto next = std::upper_bound(sorted_starts_.begin(), sorted_starts_.end(), starts_[i]);
  return next != sorted_starts_.end() ? *next : header_.cbytes;
}

std::int64_t Chunk::largest_stored(std::int64_t size) const {
  // One byte more than a VL block may have, so that its decoder sees and refuses a longer one.
  if (header_.vl_blocks) return kStreamSizeField + size + 1;
  const std::int64_t streams = header_.stream_count(size);
  const std::int64_t plain = streams * kStreamSizeField + size;
  // Blosc1 kept Snappy streams that were longer than their input.
  return header_.codec == CodecId::snappy ? plain + streams * 32 + size / 6 : plain;
}

ByteRange Chunk::block_stored(std::int32_t block) const {
  const ByteRange content = block_content(block);
  if (header_.is_special()) return {};
  if (header_.memcpyed) return {header_.header_size + content.offset, content.size};
  const std::int64_t start = starts_[static_cast<std::size_t>(block)];
  return {start, std::min(next_start(block) - start, largest_stored(content.size))};
}

std::int64_t Chunk::largest_block() const {
  if (!header_.vl_blocks) return block_count_ == 0 ? 0 : block_content(0).size;
  std::int64_t largest = 0;
  for (std::size_t i = 1; i < vl_offsets_.size(); ++i) {
    largest = std::max(largest, vl_offsets_[i] - vl_offsets_[i - 1]);
  }
  return largest;
}

std::int64_t Chunk::decode_memory() const {
  const std::int64_t block = largest_block();
  if (header_.is_special()) return block;
  if (!header_.has_block_starts()) return 2 * block;
  const std::int64_t stored = std::min<std::int64_t>(largest_stored(block), header_.cbytes);
  const std::int64_t scratch = pipeline_needs_scratch(header_) ? block : 0;
  const std::int64_t reference = block_count_ > 1 && needs_reference(1) ? block : 0;
  const CodecRow* const codec = find_codec(header_.codec);
  const std::int64_t by_codec =
      codec != nullptr && codec->decode_memory != nullptr
          ? codec->decode_memory(codec_use(header_), block / header_.stream_count(block))
          : 0;
  return block + stored + scratch + reference + by_codec;
}

void Chunk::fill_special(std::int64_t content_offset, MutableBytes out) const {
  if (value_.empty()) throw std::logic_error("not a special-value chunk");
  fill_pattern(value_, content_offset, out);
}

std::size_t Chunk::memory() const {
  return sizeof *this + (starts_.capacity() + sorted_starts_.capacity()) * sizeof(std::int32_t) +
         vl_offsets_.capacity() * sizeof(std::int64_t) + dictionary_.capacity() + value_.capacity();
}

Chunk open_chunk(Bytes chunk, std::int32_t full_typesize, const BlockShape& block_shape) {
  const ChunkHeader header =
      parse_chunk_header(chunk.first(std::min(chunk.size(), kChunkHeaderBytes)), chunk.size(),
                         full_typesize, block_shape);
  const Bytes stored = chunk.first(static_cast<std::size_t>(header.cbytes));
  const ByteRange range = Chunk::dictionary_range(header, stored);
  const Bytes dictionary =
      stored.subspan(static_cast<std::size_t>(range.offset), static_cast<std::size_t>(range.size));
  std::vector<std::int32_t> vl_sizes;
  if (header.vl_blocks) {
    for (const std::int32_t start : parse_block_starts(header, stored)) {
      vl_sizes.push_back(load_int32(stored, static_cast<std::size_t>(start)));
    }
  }
  return Chunk(header, stored, dictionary, vl_sizes);
}

}  // namespace bloscfs::codec
