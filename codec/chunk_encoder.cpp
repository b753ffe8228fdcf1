#include "codec/chunk_encoder.hpp"

#include <cstring>
#include <stdexcept>
#include <string>

#include "codec/chunk_layout.hpp"
#include "codec/dictionary.hpp"
#include "codec/error.hpp"
#include "codec/special_value.hpp"

namespace bloscfs::codec {
namespace {

constexpr std::int32_t kMinCompressible = 32;  // smaller contents are stored uncompressed

const EncodeSettings& checked(const EncodeSettings& settings) {
  check_settings(settings);
  return settings;
}

/// Returns the contents of a block before filters.
Bytes block_of(const ChunkHeader& header, Bytes contents, std::int32_t block) {
  const std::size_t blocksize = static_cast<std::size_t>(header.blocksize);
  const Bytes rest = contents.subspan(static_cast<std::size_t>(block) * blocksize);
  return rest.first(std::min(blocksize, rest.size()));
}

/// Returns room for a chunk that is smaller than its uncompressed form.
MutableBytes worthwhile(const ChunkHeader& header, MutableBytes out) {
  return out.first(static_cast<std::size_t>(header.header_size + header.nbytes - 1));
}

EncodedSize finish(ChunkLayout& layout, const ChunkHeader& header) {
  // Contents that are not all zero can be so after a lossy filter. Chunks for Blosc1 cannot be
  // special.
  if (header.header_size == kExtendedHeaderSize && layout.is_zero()) {
    return {SpecialValue::zero, 0};
  }
  return {SpecialValue::none, layout.finish()};
}

}  // namespace

ChunkEncoder::ChunkEncoder(const EncodeSettings& settings)
    : settings_(checked(settings)), blocks_(settings.clevel) {}

void ChunkEncoder::use(const EncodeSettings& settings) {
  const bool same_level = checked(settings).clevel == settings_.clevel;
  settings_ = settings;
  if (!same_level) blocks_ = BlockEncoder(settings.clevel);
}

EncodedSize ChunkEncoder::store_special(ChunkHeader header, SpecialValue special, Bytes contents,
                                        MutableBytes out) const {
  header.special = special;
  if (special == SpecialValue::zero) {
    return {SpecialValue::none, put_chunk_header(header, kExtendedHeaderSize, out)};
  }
  header.codec = CodecId::blosclz;
  header.codec_meta = 0;
  header.filters = {};
  header.dont_split = false;
  const std::size_t size =
      special == SpecialValue::value ? static_cast<std::size_t>(settings_.typesize) : 0;
  const std::size_t offset = put_chunk_header(header, kExtendedHeaderSize + size, out);
  if (size > 0) std::memcpy(out.data() + offset, contents.data(), size);
  return {SpecialValue::none, offset + size};
}

EncodedSize ChunkEncoder::store_plain(ChunkHeader header, Bytes contents, MutableBytes out) const {
  header.memcpyed = true;
  const std::size_t size = static_cast<std::size_t>(header.header_size) + contents.size();
  const std::size_t offset = put_chunk_header(header, size, out);
  if (!contents.empty()) std::memcpy(out.data() + offset, contents.data(), contents.size());
  return {SpecialValue::none, size};
}

Bytes ChunkEncoder::filter_block(const ChunkHeader& header, Bytes contents, std::int32_t block) {
  return blocks_.filter(header, block == 0, block_of(header, contents, 0),
                        block_of(header, contents, block));
}

EncodedSize ChunkEncoder::store_blocks(const ChunkHeader& header, Bytes contents,
                                       MutableBytes out) {
  ChunkLayout layout(header, {}, worthwhile(header, out));
  for (std::int32_t block = 0; block < header.block_count; ++block) {
    const std::size_t size =
        blocks_.write_streams(header, filter_block(header, contents, block), {}, layout.room());
    if (size == 0) return store_plain(header, contents, out);
    layout.end_block(size);
  }
  return finish(layout, header);
}

EncodedSize ChunkEncoder::store_with_dictionary(const ChunkHeader& header, Bytes contents,
                                                MutableBytes out) {
  std::vector<std::uint8_t> filtered;
  filtered.reserve(contents.size());
  for (std::int32_t block = 0; block < header.block_count; ++block) {
    const Bytes bytes = filter_block(header, contents, block);
    filtered.insert(filtered.end(), bytes.begin(), bytes.end());
  }
  const std::vector<std::uint8_t> dictionary = make_dictionary(header, filtered);
  ChunkLayout layout(header, dictionary, worthwhile(header, out));
  for (std::int32_t block = 0; block < header.block_count; ++block) {
    const std::size_t size =
        blocks_.write_streams(header, block_of(header, filtered, block), dictionary, layout.room());
    if (size == 0) return store_plain(header, contents, out);
    layout.end_block(size);
  }
  return finish(layout, header);
}

ChunkHeader ChunkEncoder::plan(Bytes contents) const {
  if (contents.size() > static_cast<std::size_t>(kMaxChunkNbytes)) {
    throw Error(FormatErrc::too_large, "chunk of " + std::to_string(contents.size()) +
                                           " bytes, the format allows " +
                                           std::to_string(kMaxChunkNbytes));
  }
  return plan_chunk(settings_, static_cast<std::int32_t>(contents.size()));
}

EncodedSize ChunkEncoder::encode_into(Bytes contents, MutableBytes out) {
  const ChunkHeader header = plan(contents);
  if (out.size() < max_stored_size(contents.size())) {
    throw std::invalid_argument("no room for a chunk of " + std::to_string(contents.size()));
  }
  const bool small = header.nbytes < std::max(kMinCompressible, header.typesize);
  if (!settings_.blosc1_header) {
    const SpecialValue special = find_special(contents, settings_.typesize);
    if (special == SpecialValue::zero || special == SpecialValue::nan) return {special, 0};
    if (special == SpecialValue::value && !small) {
      return store_special(header, special, contents, out);
    }
  }
  if (small || settings_.clevel == 0) {
    const EncodedSize stored = store_plain(header, contents, out);
    // The flags with which C-Blosc2 marks contents that no codec has processed.
    if (!settings_.blosc1_header) {
      out[offsetof(RawChunkHeader, flags)] = kFlagExtendedHeader | kFlagMemcpy;
    }
    return stored;
  }
  return settings_.use_dictionary ? store_with_dictionary(header, contents, out)
                                  : store_blocks(header, contents, out);
}

EncodedChunk ChunkEncoder::encode(Bytes contents) {
  return to_chunk(encode_into(contents, buffer_of(contents.size())));
}

std::vector<std::uint8_t> ChunkEncoder::encode_stored(Bytes contents) {
  const MutableBytes buffer = buffer_of(contents.size());
  EncodedSize size = encode_into(contents, buffer);
  if (size.special != SpecialValue::none) {
    size = store_special(plan(contents), size.special, contents, buffer);
  }
  return to_chunk(size).bytes;
}

MutableBytes ChunkEncoder::buffer_of(std::size_t size) {
  const std::size_t needed = max_stored_size(size);
  if (buffer_.size() < needed) {
    buffer_ = std::vector<std::uint8_t>();  // freed first, so that old and new never exist together
    buffer_.resize(needed);
  }
  return MutableBytes(buffer_).first(needed);
}

EncodedChunk ChunkEncoder::to_chunk(EncodedSize size) const {
  const auto end = buffer_.begin() + static_cast<std::ptrdiff_t>(size.stored);
  return {size.special, {buffer_.begin(), end}};
}

std::size_t ChunkEncoder::scratch_memory() const {
  return buffer_.capacity() + blocks_.scratch_memory() + decoder_.scratch_memory();
}

void ChunkEncoder::trim(std::size_t keep) {
  if (scratch_memory() > keep) buffer_ = std::vector<std::uint8_t>();
  if (scratch_memory() > keep) blocks_.trim(0);
  if (scratch_memory() > keep) decoder_.trim(0);
}

}  // namespace bloscfs::codec
