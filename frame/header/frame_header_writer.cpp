#include "frame/header/frame_header_writer.hpp"

#include <algorithm>
#include <cstring>

#include <boost/endian/conversion.hpp>

#include "frame/header/cframe_format.hpp"
#include "frame/header/metalayer_writer.hpp"

namespace bloscfs::frame::inline header {
namespace {

/// Readers ignore the header's two numbers of threads. C-Blosc2 writes the number of threads that
/// it used.
constexpr std::int16_t kThreads = 1;
constexpr std::uint8_t kOffsetWidth64 = 1 << kOffsetWidthShift;
constexpr std::uint8_t kPlainVersion = 2;  ///< of frames without variable-size chunks and VL blocks

/// Returns codec and level. Codecs from 6 on are named in RawFrameHeader::codec_id, and the nibble
/// is 6.
std::uint8_t codec_flags(const FrameInfo& info) {
  const auto id = static_cast<std::uint8_t>(info.codec.value_or(codec::CodecId::blosclz));
  return static_cast<std::uint8_t>(std::min(id, kCodecInExtendedField) | info.clevel << 4);
}

RawFrameStart make_start(const FrameInfo& info) {
  RawFrameStart raw{};
  raw.array_marker = kModernArray;
  std::memcpy(&raw.magic_marker, kFrameMagic, sizeof(kFrameMagic));
  raw.header_len_marker = kMsgpackInt32;
  raw.frame_len_marker = kMsgpackUint64;
  raw.flags_marker = kMsgpackFixstr4;
  raw.general_flags = kPlainVersion | kOffsetWidth64;
  raw.frame_type = info.kind == ContainerKind::sframe ? 1 : 0;
  raw.codec_flags = codec_flags(info);
  raw.split_mode = static_cast<std::uint8_t>(info.splitmode - 1);
  raw.nbytes_marker = raw.cbytes_marker = kMsgpackInt64;
  raw.typesize_marker = kMsgpackInt32;
  raw.typesize = info.typesize;
  return raw;
}

RawFrameHeader make_header(const FrameInfo& info) {
  RawFrameHeader raw{};
  raw.start = make_start(info);
  raw.blocksize_marker = raw.chunksize_marker = kMsgpackInt32;
  raw.compression_threads_marker = raw.decompression_threads_marker = kMsgpackInt16;
  raw.compression_threads = raw.decompression_threads = kThreads;
  raw.pipeline_marker = kMsgpackFixext16;
  raw.filter_count = sizeof(raw.filters);
  for (std::size_t i = 0; i < std::size(raw.filters); ++i) {
    raw.filters[i] = static_cast<std::uint8_t>(info.filters[i].id);
    raw.filters_meta[i] = info.filters[i].meta;
  }
  raw.codec_id = static_cast<std::uint8_t>(info.codec.value_or(codec::CodecId::blosclz));
  raw.codec_meta = info.codec_meta;
  raw.use_dict = info.use_dict ? 1 : 0;
  return raw;
}

}  // namespace

void update_frame_header(codec::MutableBytes header, const FrameInfo& info, bool has_vlmetalayers) {
  RawFrameHeader raw;
  std::memcpy(&raw, header.data(), sizeof(raw));
  raw.start.header_len = static_cast<std::int32_t>(info.header_len);
  raw.start.frame_len = static_cast<std::uint64_t>(info.frame_len);
  raw.start.nbytes = info.nbytes;
  raw.start.cbytes = info.cbytes;
  raw.blocksize = info.blocksize;
  raw.chunksize = info.chunksize;
  raw.has_vlmetalayers = has_vlmetalayers ? kMsgpackTrue : kMsgpackFalse;
  std::memcpy(header.data(), &raw, sizeof(raw));
}

std::vector<std::uint8_t> serialize_frame_header(const FrameInfo& info,
                                                 const std::vector<Metalayer>& metalayers) {
  std::vector<LayerSize> sizes;
  sizes.reserve(metalayers.size());
  for (const Metalayer& layer : metalayers) sizes.push_back({layer.name, layer.content.size()});
  const MetalayerLayout layout = lay_out_header(sizes);
  RawFrameHeader raw = make_header(info);
  std::vector<std::uint8_t> bytes(sizeof(raw));
  std::memcpy(bytes.data(), &raw, sizeof(raw));
  FrameInfo laid_out = info;
  laid_out.header_len = static_cast<std::int64_t>(layout.end);
  update_frame_header(bytes, laid_out, false);
  bytes.insert(bytes.end(), layout.map.begin(), layout.map.end());
  for (const Metalayer& layer : metalayers) {
    const auto head = content_head(layer.content.size());
    bytes.insert(bytes.end(), head.begin(), head.end());
    bytes.insert(bytes.end(), layer.content.begin(), layer.content.end());
  }
  return bytes;
}

void update_shape(codec::MutableBytes header, std::size_t content_at,
                  const std::vector<std::int64_t>& shape) {
  // Array marker, version, number of dimensions, array marker; then a marker before each extent.
  std::size_t at = content_at + 4;
  for (const std::int64_t extent : shape) {
    boost::endian::store_big_s64(header.data() + at + 1, extent);
    at += 9;
  }
}

}  // namespace bloscfs::frame::inline header
