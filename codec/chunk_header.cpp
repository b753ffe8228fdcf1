#include "codec/chunk_header.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "codec/compressor/codec_table.hpp"
#include "codec/error.hpp"

namespace bloscfs::codec {
namespace {

constexpr std::uint8_t kVersionAlpha = 3;
constexpr std::uint8_t kCodecVersion = 1;  // of every codec; readers ignore it
constexpr std::int32_t kMaxShortNbytes = 0x7FFFFFFF - 16;

[[noreturn]] void bad(const std::string& what) { throw_malformed("chunk header: " + what); }

void parse_short(const RawChunkHeader& raw, std::uint64_t available, ChunkHeader& h) {
  h.version = raw.version;
  h.typesize = raw.typesize;
  h.nbytes = raw.nbytes.value();
  h.blocksize = raw.blocksize.value();
  h.cbytes = raw.cbytes.value();
  h.header_size = (raw.flags & kFlagExtendedHeader) == kFlagExtendedHeader ? kExtendedHeaderSize
                                                                           : kShortHeaderSize;
  h.memcpyed = (raw.flags & kFlagMemcpy) != 0;
  h.dont_split = (raw.flags & kFlagDontSplit) != 0;
  const std::int32_t max_nbytes =
      h.header_size == kShortHeaderSize ? kMaxShortNbytes : kMaxChunkNbytes;
  if (h.cbytes < h.header_size || static_cast<std::uint64_t>(h.cbytes) > available) {
    bad("cbytes " + std::to_string(h.cbytes) + " outside " + std::to_string(h.header_size) + ".." +
        std::to_string(available));
  }
  if (h.nbytes < 0 || h.nbytes > max_nbytes) bad("nbytes " + std::to_string(h.nbytes));
  if (h.blocksize <= 0 || h.blocksize > kMaxBlocksize) {
    bad("blocksize " + std::to_string(h.blocksize));
  }
  if (h.typesize == 0) bad("typesize 0");
}

/// Blosc1 stores its one or two filters in the flags.
void deduce_filters(std::uint8_t flags, ChunkHeader& h) {
  if ((flags & kFlagShuffle) != 0 && h.typesize > 1) h.filters[5].id = FilterId::shuffle;
  if ((flags & kFlagBitshuffle) != 0) h.filters[5].id = FilterId::bitshuffle;
  if ((flags & kFlagDelta) != 0) h.filters[4].id = FilterId::delta;
}

void parse_extended(const RawExtendedHeader& raw, ChunkHeader& h) {
  for (std::size_t i = 0; i < kFilterSlots; ++i) {
    h.filters[i] = {static_cast<FilterId>(raw.filters[i]), raw.filters_meta[i]};
  }
  if (h.version == kVersionAlpha) h.filters[5] = {};  // alpha writers left garbage in this slot
  h.codec_meta = raw.codec_meta;
  if ((raw.flags2 & ~kFlag2VlBlocks) != 0) {
    const std::string what = "flags2 " + std::to_string(raw.flags2);
    if (h.version > kChunkVersionVlBlocks) {
      throw_unsupported("chunk version " + std::to_string(h.version) + " with " + what);
    }
    bad(what);
  }
  const int special = (raw.blosc2_flags >> kSpecialShift) & kSpecialMask;
  if (special > static_cast<int>(SpecialValue::uninit))
    bad("special id " + std::to_string(special));
  if ((raw.blosc2_flags & kBlosc2Lazy) != 0) bad("lazy flag in a stored chunk");
  h.special = static_cast<SpecialValue>(special);
  h.vl_blocks = (raw.flags2 & kFlag2VlBlocks) != 0;
  h.has_dictionary = (raw.blosc2_flags & kBlosc2Dictionary) != 0;
  h.instrumented = (raw.blosc2_flags & kBlosc2Instrumented) != 0;
}

/// Returns the codec of a stream format; null if there is none. If several codecs have the format,
/// `id` decides: the extended header's codec byte, or 0.
const CodecRow* codec_of_stream(int format, std::uint8_t id) {
  const CodecRow* found = nullptr;
  for (const CodecRow& row : codec_rows()) {
    if (row.stream_format != format) continue;
    if (found == nullptr || static_cast<std::uint8_t>(row.id) == id) found = &row;
  }
  return found;
}

CodecId parse_codec(int format, std::uint8_t id, const ChunkHeader& h) {
  if (format == kCodecFormatById) {
    if (h.header_size == kShortHeaderSize || id < kFirstPluginCodec) {
      bad("no plugin codec has the id " + std::to_string(id));
    }
    return static_cast<CodecId>(id);
  }
  const CodecRow* const codec = codec_of_stream(format, id);
  if (codec == nullptr) {
    throw_unsupported("chunk header: codec format " + std::to_string(format));
  }
  if (codec->needs_short_header && h.header_size != kShortHeaderSize) {
    bad(std::string(codec->name) + " with an extended header");
  }
  return codec->id;
}

/// Reports a dictionary as malformed only if the codec is supported. A chunk with another codec is
/// unsupported, whether or not the codec takes dictionaries.
void check_dictionary(const ChunkHeader& h) {
  const CodecRow* const codec = find_codec(h.codec);
  if (codec == nullptr || codec->make_decompressor == nullptr || codec->takes_dictionary) return;
  bad(std::string("a dictionary with ") + codec->name);
}

void check_special(ChunkHeader& h) {
  const std::string shape = std::to_string(h.nbytes) + " bytes";
  if (h.special == SpecialValue::value) {
    h.value_size = h.cbytes - kExtendedHeaderSize;
    if (h.value_size < 1 || h.value_size > h.nbytes || h.nbytes % h.value_size != 0) {
      bad("repeated value of " + std::to_string(h.value_size) + " bytes for " + shape);
    }
  }
  if (h.special == SpecialValue::nan && h.full_typesize != 4 && h.full_typesize != 8) {
    bad("NaNs of " + std::to_string(h.full_typesize) + " bytes");
  }
  const std::int32_t unit = h.special == SpecialValue::nan      ? h.full_typesize
                            : h.special == SpecialValue::uninit ? h.typesize
                                                                : 1;
  if (h.nbytes % unit != 0) bad(shape + " of items of " + std::to_string(unit));
}

/// Sets blocksize and block_count (codec/formats/chunk.md, "Blocks and streams").
void set_blocks(ChunkHeader& h) {
  if (h.vl_blocks) {
    if (h.is_special() || h.memcpyed || h.nbytes == 0) bad("VL blocks in a chunk that has none");
    h.block_count = h.blocksize;
    h.blocksize = 0;
  } else if (h.nbytes > 0) {
    h.blocksize = std::min(h.blocksize, h.nbytes);
    // One writer stored the requested blocksize, not the rounded one that it used.
    const std::int32_t unit =
        h.typesize == 1 && h.full_typesize > 255 ? h.full_typesize : h.typesize;
    if (h.has_block_starts() && h.version >= kChunkVersionBlosc2 && h.blocksize > unit) {
      h.blocksize -= h.blocksize % unit;
    }
    h.block_count = ceil_div(h.nbytes, h.blocksize);
  }
  if (h.has_block_starts() && h.header_size + std::int64_t{4} * h.block_count > h.cbytes) {
    bad(std::to_string(h.block_count) + " block starts in " + std::to_string(h.cbytes) + " bytes");
  }
}

void check_layout(ChunkHeader& h) {
  if (h.memcpyed && std::int64_t{h.nbytes} + h.header_size != h.cbytes) {
    bad("memcpyed, but nbytes " + std::to_string(h.nbytes) + " and cbytes " +
        std::to_string(h.cbytes));
  }
  if (h.is_special()) check_special(h);
  set_blocks(h);
  if (h.is_special()) h.memcpyed = false;
  h.has_dictionary = h.has_dictionary && h.has_block_starts();
}

int codec_format(CodecId id) {
  const CodecRow* const codec = find_codec(id);
  return codec != nullptr ? codec->stream_format : kCodecFormatById;
}

std::uint8_t filter_flags(const ChunkHeader& h) {
  std::uint8_t flags = h.has_filter(FilterId::delta) ? kFlagDelta : std::uint8_t{0};
  if (h.header_size == kExtendedHeaderSize) return flags | kFlagExtendedHeader;
  if (h.has_filter(FilterId::shuffle)) flags |= kFlagShuffle;
  if (h.has_filter(FilterId::bitshuffle)) flags |= kFlagBitshuffle;
  return flags;
}

RawChunkHeader short_part(const ChunkHeader& h) {
  RawChunkHeader raw{};
  raw.version = h.version;
  raw.codec_version = kCodecVersion;
  raw.flags = static_cast<std::uint8_t>(filter_flags(h) | (h.memcpyed ? kFlagMemcpy : 0) |
                                        (h.dont_split ? kFlagDontSplit : 0) |
                                        codec_format(h.codec) << kCodecFormatShift);
  raw.typesize = static_cast<std::uint8_t>(h.typesize);
  raw.nbytes = h.nbytes;
  raw.blocksize = h.blocksize;
  raw.cbytes = h.cbytes;
  return raw;
}

RawExtendedHeader extended_part(const ChunkHeader& h) {
  RawExtendedHeader raw{};
  for (std::size_t i = 0; i < kFilterSlots; ++i) {
    raw.filters[i] = static_cast<std::uint8_t>(h.filters[i].id);
    raw.filters_meta[i] = h.filters[i].meta;
  }
  raw.codec_id = static_cast<std::uint8_t>(h.codec);
  raw.codec_meta = h.codec_meta;
  raw.blosc2_flags = static_cast<std::uint8_t>((h.has_dictionary ? kBlosc2Dictionary : 0) |
                                               static_cast<int>(h.special) << kSpecialShift);
  return raw;
}

}  // namespace

ChunkHeader parse_chunk_header(Bytes prefix, std::uint64_t available, std::int32_t full_typesize,
                               const BlockShape& block_shape) {
  RawChunkHeader raw;
  if (prefix.size() < sizeof raw) bad(std::to_string(prefix.size()) + " bytes of at least 16");
  std::memcpy(&raw, prefix.data(), sizeof raw);
  ChunkHeader h;
  parse_short(raw, available, h);
  h.full_typesize = full_typesize > 0 ? full_typesize : h.typesize;
  h.block_shape = block_shape;
  RawExtendedHeader extended{};
  if (h.header_size == kExtendedHeaderSize) {
    if (prefix.size() < kChunkHeaderBytes) bad(std::to_string(prefix.size()) + " bytes of 32");
    std::memcpy(&extended, prefix.data() + sizeof raw, sizeof extended);
    parse_extended(extended, h);
  } else {
    deduce_filters(raw.flags, h);
  }
  check_layout(h);
  // Without streams, the codec bits have no meaning.
  if (h.has_block_starts())
    h.codec = parse_codec(raw.flags >> kCodecFormatShift, extended.codec_id, h);
  if (h.has_dictionary) check_dictionary(h);
  return h;
}

std::array<std::uint8_t, kChunkHeaderBytes> serialize_chunk_header(const ChunkHeader& header) {
  std::array<std::uint8_t, kChunkHeaderBytes> bytes{};
  const RawChunkHeader raw = short_part(header);
  std::memcpy(bytes.data(), &raw, sizeof raw);
  if (header.header_size == kExtendedHeaderSize) {
    const RawExtendedHeader extended = extended_part(header);
    std::memcpy(bytes.data() + sizeof raw, &extended, sizeof extended);
  }
  return bytes;
}

}  // namespace bloscfs::codec
