#include "frame/header/frame_header.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

#include "codec/error.hpp"

namespace bloscfs::frame::inline header {
namespace {

using codec::throw_malformed;

void check_marker(std::uint8_t marker, std::uint8_t expected, const char* field) {
  if (marker != expected)
    throw_malformed(fmt::format("frame header, {}: msgpack marker {:#04x} instead of {:#04x}",
                                field, marker, expected));
}

void check_markers(const RawFrameStart& raw) {
  check_marker(raw.header_len_marker, kMsgpackInt32, "header_len");
  check_marker(raw.frame_len_marker, kMsgpackUint64, "frame_len");
  check_marker(raw.flags_marker, kMsgpackFixstr4, "flags");
  check_marker(raw.nbytes_marker, kMsgpackInt64, "uncompressed_size");
  check_marker(raw.cbytes_marker, kMsgpackInt64, "compressed_size");
  check_marker(raw.typesize_marker, kMsgpackInt32, "typesize");
}

void check_lengths(const FrameInfo& info, std::uint64_t frame_len, std::int64_t min_header_len) {
  if (info.header_len < min_header_len)
    throw_malformed(
        fmt::format("frame header: header_len {} < {}", info.header_len, min_header_len));
  if (frame_len > std::uint64_t{INT64_MAX} || info.frame_len < kMinFrameLen)
    throw_malformed(fmt::format("frame header: frame_len {} out of range", frame_len));
  if (info.header_len > info.frame_len)
    throw_malformed(
        fmt::format("frame header: header_len {} > frame_len {}", info.header_len, info.frame_len));
}

void read_start(const RawFrameStart& raw, FrameHeader& header, std::int64_t min_header_len) {
  check_markers(raw);
  FrameInfo& info = header.info;
  info.format_version = raw.general_flags & kFrameVersionMask;
  if (info.format_version > kMaxFrameVersion)
    codec::throw_unsupported(
        fmt::format("frame header: format version {} is not known", info.format_version));
  info.header_len = raw.header_len.value();
  info.frame_len = static_cast<std::int64_t>(raw.frame_len.value());
  check_lengths(info, raw.frame_len.value(), min_header_len);
  header.frame_type = raw.frame_type;
  info.vl_blocks = (raw.general_flags & kFlagVlBlocks) != 0;
  info.clevel = raw.codec_flags >> 4;
  info.splitmode = (raw.split_mode & 0x03) + 1;
  info.nbytes = raw.nbytes.value();
  info.cbytes = raw.cbytes.value();
  info.typesize = raw.typesize.value();
  if (info.nbytes < 0 || info.cbytes < 0)
    throw_malformed(fmt::format("frame header: negative size (uncompressed {}, compressed {})",
                                info.nbytes, info.cbytes));
  if (info.typesize <= 0) throw_malformed(fmt::format("frame header: typesize {}", info.typesize));
}

void check_filter_count(std::uint8_t count, std::uint8_t slots) {
  if (count > slots)
    throw_malformed(fmt::format("frame header: {} filters, at most {} possible", count, slots));
}

void read_modern(const RawFrameHeader& raw, FrameHeader& header) {
  read_start(raw.start, header, kMinHeaderLen);
  check_marker(raw.blocksize_marker, kMsgpackInt32, "blocksize");
  check_marker(raw.chunksize_marker, kMsgpackInt32, "chunksize");
  check_filter_count(raw.filter_count, 6);
  FrameInfo& info = header.info;
  header.metalayers_at = sizeof(RawFrameHeader);
  info.blocksize = raw.blocksize.value();
  info.chunksize = raw.chunksize.value();
  if (info.blocksize < 0)
    throw_malformed(fmt::format("frame header: blocksize {}", info.blocksize));
  const auto nibble = static_cast<std::uint8_t>(raw.start.codec_flags & 0x0f);
  info.codec = codec::CodecId{nibble == kCodecInExtendedField ? raw.codec_id : nibble};
  info.codec_meta = raw.codec_meta;
  for (std::size_t i = 0; i < std::size(raw.filters); ++i)
    info.filters[i] = {codec::FilterId{raw.filters[i]}, raw.filters_meta[i]};
  info.use_dict = (raw.use_dict & 1) != 0;
  header.has_vlmetalayers = raw.has_vlmetalayers == kMsgpackTrue;
}

std::optional<codec::CodecId> early_codec(std::uint8_t nibble) {
  switch (nibble) {
    case 0:
      return codec::CodecId::blosclz;
    case 1:
      return codec::CodecId::lz4;
    case 2:
      return codec::CodecId::snappy;
    case 3:
      return codec::CodecId::zlib;
    case 4:
      return codec::CodecId::zstd;
    default:
      return std::nullopt;
  }
}

int early_offset_width(std::uint8_t general_flags) {
  const int code = (general_flags >> kOffsetWidthShift) & kOffsetWidthMask;
  if (code == 3) throw_malformed("frame header: offset width 3 is reserved");
  return 2 << code;
}

void read_early(const RawEarlyHeader& raw, FrameHeader& header) {
  read_start(raw.start, header, sizeof(RawEarlyHeader));
  check_marker(raw.chunksize_marker, kMsgpackInt32, "chunksize");
  check_filter_count(raw.filter_count, 8);
  FrameInfo& info = header.info;
  header.early = true;
  header.metalayers_at = sizeof(RawEarlyHeader);
  header.offset_width = early_offset_width(raw.start.general_flags);
  // Frames of the early layout are contiguous and have no VL blocks, whatever the header says.
  header.frame_type = 0;
  info.chunksize = raw.chunksize.value();
  info.vl_blocks = false;
  info.codec = early_codec(raw.start.codec_flags & 0x0f);
  for (std::size_t i = 0; i < std::size(raw.filters); ++i)
    info.filters[i] = {codec::FilterId{raw.filters[i]}, raw.filters_meta[i]};
}

template <typename Raw>
Raw copy_raw(codec::Bytes bytes) {
  if (bytes.size() < sizeof(Raw))
    throw_malformed(
        fmt::format("frame header: {} bytes of at least {}", bytes.size(), sizeof(Raw)));
  Raw raw;
  std::memcpy(&raw, bytes.data(), sizeof(Raw));
  return raw;
}

}  // namespace

std::int64_t count_chunks(std::int64_t nbytes, std::int32_t chunksize) {
  if (nbytes == 0) return 0;
  if (chunksize < 0)
    throw_malformed(fmt::format("frame header: chunksize {} with {} bytes", chunksize, nbytes));
  const std::int64_t count = codec::ceil_div<std::int64_t>(nbytes, chunksize);
  if (count > kMaxChunks)
    throw_malformed(fmt::format("frame header: {} bytes in chunks of {} are {} chunks > {}", nbytes,
                                chunksize, count, kMaxChunks));
  return count;
}

bool has_frame_magic(codec::Bytes first_bytes) {
  return first_bytes.size() >= 1 + sizeof(kFrameMagic) &&
         (first_bytes[0] == kModernArray || first_bytes[0] == kEarlyArray) &&
         std::equal(std::begin(kFrameMagic), std::end(kFrameMagic), first_bytes.begin() + 1);
}

FrameHeader parse_frame_header(codec::Bytes first_bytes) {
  if (!has_frame_magic(first_bytes)) throw_malformed("frame header: no magic");
  FrameHeader header;
  if (first_bytes[0] == kModernArray)
    read_modern(copy_raw<RawFrameHeader>(first_bytes), header);
  else
    read_early(copy_raw<RawEarlyHeader>(first_bytes), header);
  FrameInfo& info = header.info;
  info.variable_chunks = info.chunksize == 0;
  info.kind = header.frame_type == 0 ? ContainerKind::cframe : ContainerKind::sframe;
  if (info.chunksize != 0) info.nchunks = count_chunks(info.nbytes, info.chunksize);
  return header;
}

}  // namespace bloscfs::frame::inline header
