#include "frame/repair/frame_remains.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include <boost/endian/conversion.hpp>

#include "codec/error.hpp"
#include "frame/header/cframe_format.hpp"
#include "frame/store/window_reader.hpp"

namespace bloscfs::frame::inline repair {
namespace {

using boost::endian::load_big_s32;
using boost::endian::load_big_u16;
using boost::endian::load_big_u32;

constexpr std::uint32_t kMaxFixedLayer = std::uint32_t{64} << 20;
constexpr std::size_t kSalvagedHead = 5, kMapHeadBytes = 7;
/// A damaged header counts only if at least this many of its fields have their marker.
constexpr int kLeastMarkers = 4;

/// The entries of a map whose contents are in place, and the names of the others.
struct Layers {
  bool is_whole = false;
  bool is_complete = false;  ///< all names are known
  std::vector<MetalayerEntry> entries;
  std::vector<std::string> lost;
  std::uint64_t end = 0;  ///< end of map and contents
};

/// Where offsets count from, where the map is, and where contents must end.
struct LayerSection {
  std::uint64_t start, map_at, end;
  int max_entries;
};

class LayerReader {
 public:
  LayerReader(const ByteSource& source, const LayerSection& section)
      : reader_(source, section.end), section_(section), at_(section.map_at) {}

  Layers read() {
    try {
      const Bytes head = take(kMapHeadBytes);
      const int count = load_big_u16(head.data() + 5);
      if (head[0] != kMsgpackArray3 || head[1] != kMsgpackUint16 || head[4] != kMsgpackMap16 ||
          count > section_.max_entries)
        return {};
      layers_.is_whole = true;
      int known = 0;
      while (known < count && read_entry()) ++known;
      layers_.is_complete = known == count;
      layers_.is_whole =
          layers_.is_whole && layers_.entries.size() == static_cast<std::size_t>(count);
      // The array16 marker of the contents follows the map.
      layers_.end = std::max(layers_.end, at_ + 3);
    } catch (const codec::Error&) {
      layers_.is_whole = false;
    }
    return std::move(layers_);
  }

 private:
  Bytes take(std::size_t size) {
    const Bytes bytes = reader_.at(at_, size, "metalayers");
    at_ += size;
    return bytes;
  }

  /// Returns false if the rest of the map cannot be read.
  bool read_entry() {
    const std::uint8_t marker = take(1)[0];
    if ((marker & kMsgpackFixstrMask) != kMsgpackFixstr) return false;
    MetalayerEntry entry;
    const Bytes name = take(marker & 0x1fu);
    entry.name.assign(name.begin(), name.end());
    if (entry.name.empty() || entry.name.find('\0') != std::string::npos) return false;
    const Bytes offset = take(5);
    const std::int32_t value = load_big_s32(offset.data() + 1);
    if (offset[0] != kMsgpackInt32 || value < 0 ||
        !find_content(static_cast<std::uint64_t>(value), entry))
      layers_.lost.push_back(entry.name);
    else
      layers_.entries.push_back(entry);
    return true;
  }

  bool find_content(std::uint64_t offset, MetalayerEntry& entry) {
    const std::uint64_t at = section_.start + offset;
    if (at > section_.end || section_.end - at < kSalvagedHead) return false;
    const Bytes head = reader_.at(at, kSalvagedHead, "metalayer");
    const std::uint32_t size = load_big_u32(head.data() + 1);
    if (head[0] != kMsgpackBin32 || size > section_.end - at - kSalvagedHead) return false;
    entry.stored_offset = at + kSalvagedHead;
    entry.stored_size = size;
    layers_.end = std::max(layers_.end, entry.stored_offset + size);
    return true;
  }

  WindowReader reader_;
  LayerSection section_;
  std::uint64_t at_;
  Layers layers_;
};

/// Takes fields one by one, and counts those with the right marker.
class FieldReader {
 public:
  template <typename Field, typename Value>
  void take(bool has_marker, const Field& field, std::int64_t least, std::int64_t most,
            std::optional<Value>& out) {
    if (!has_marker) return;
    ++markers_;
    const auto value = static_cast<std::int64_t>(field.value());
    if (value >= least && value <= most) out = static_cast<Value>(value);
  }
  int markers() const { return markers_; }

 private:
  int markers_ = 0;
};

void read_fields(const RawFrameHeader& raw, HeaderRemains& header) {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  const RawFrameStart& start = raw.start;
  HeaderRemains read = header;
  FieldReader fields;
  fields.take(start.header_len_marker == kMsgpackInt32, start.header_len, kMinHeaderLen, INT32_MAX,
              read.header_len);
  fields.take(start.frame_len_marker == kMsgpackUint64, start.frame_len, kMinFrameLen, kMost,
              read.frame_len);
  fields.take(start.nbytes_marker == kMsgpackInt64, start.nbytes, 0, kMost, read.nbytes);
  fields.take(start.cbytes_marker == kMsgpackInt64, start.cbytes, 0, kMost, read.cbytes);
  fields.take(start.typesize_marker == kMsgpackInt32, start.typesize, 1, codec::kMaxBlocksize,
              read.typesize);
  fields.take(raw.blocksize_marker == kMsgpackInt32, raw.blocksize, 0, codec::kMaxBlocksize,
              read.blocksize);
  fields.take(raw.chunksize_marker == kMsgpackInt32, raw.chunksize, -1, codec::kMaxChunkNbytes,
              read.chunksize);
  if (fields.markers() < kLeastMarkers) return;
  if (raw.pipeline_marker == kMsgpackFixext16 && raw.filter_count == std::size(raw.filters)) {
    for (std::size_t i = 0; i < std::size(raw.filters); ++i)
      read.defaults.filters[i] = {codec::FilterId{raw.filters[i]}, raw.filters_meta[i]};
    read.defaults.codec = codec::CodecId{raw.codec_id};
    read.defaults.codec_meta = raw.codec_meta;
  }
  if (start.flags_marker == kMsgpackFixstr4) {
    read.vl_blocks = (start.general_flags & kFlagVlBlocks) != 0;
    read.variable_chunks = (start.general_flags & kFlagVariableChunks) != 0;
    read.defaults.clevel = std::min(start.codec_flags >> 4, 9);
  }
  header = read;
}

void read_layers(const ByteSource& source, std::uint64_t file_size, std::uint64_t map_at,
                 HeaderRemains& header) {
  const auto recorded = static_cast<std::uint64_t>(header.header_len.value_or(0));
  Layers layers =
      LayerReader(source, {0, map_at, std::min(recorded, file_size), kMaxMetalayers}).read();
  // The header's length may be wrong, so tries again up to the end of the file.
  if (!layers.is_whole) {
    layers = LayerReader(source, {0, map_at, file_size, kMaxMetalayers}).read();
  }
  // The metalayers are the last part of the header, so their end gives its length.
  if (layers.is_whole && layers.end != recorded && !header.is_early) {
    header.header_len = static_cast<std::int64_t>(layers.end);
    header.is_sound = false;
  }
  header.has_all_metalayers = layers.is_whole || layers.is_complete;
  header.lost_metalayers = layers.lost;
  header.is_sound = header.is_sound && layers.is_whole;
  for (const MetalayerEntry& entry : layers.entries) {
    Metalayer layer{entry.name, {}};
    if (entry.stored_size > kMaxFixedLayer) {
      header.lost_metalayers.push_back(entry.name);
      continue;
    }
    layer.content.resize(entry.stored_size);
    source.read_exactly_at(entry.stored_offset, layer.content, "metalayer");
    header.metalayers.push_back(std::move(layer));
  }
}

/// Reads the trailer that ends at `end`. Returns false if there is none.
bool read_trailer_before(const ByteSource& source, std::uint64_t end, TrailerRemains& trailer) {
  RawTrailerEnd raw;
  std::array<std::uint8_t, sizeof raw> bytes{};
  if (end < bytes.size() || source.read_at(end - bytes.size(), bytes) < bytes.size()) return false;
  std::memcpy(&raw, bytes.data(), sizeof raw);
  const std::uint64_t length = raw.trailer_len.value();
  if (raw.length_marker != kMsgpackUint32 || length < kMinTrailerLen || length > end) return false;
  std::array<std::uint8_t, 2> start{};
  if (source.read_at(end - length, start) < start.size() || start[0] != kMsgpackArray4)
    return false;
  const Layers layers =
      LayerReader(source, {end - length, end - length + start.size(), end, kMaxVlmetalayers})
          .read();
  if (!layers.is_whole && layers.entries.empty() && layers.lost.empty()) return false;
  trailer = {layers.is_whole, layers.is_whole, end - length, end, layers.entries, layers.lost};
  return true;
}

/// Returns the position of the last start of a trailer in the file; 0: none.
std::uint64_t find_trailer_start(const ByteSource& source, std::uint64_t file_size) {
  constexpr std::uint64_t kWindow = std::uint64_t{1} << 20, kStart = 2 + kMapHeadBytes;
  std::vector<std::uint8_t> window;
  for (std::uint64_t end = file_size; end > 0;) {
    const std::uint64_t begin = end - std::min(end, kWindow);
    window.assign(static_cast<std::size_t>(end - begin + kStart), 0);
    window.resize(source.read_at(begin, window));
    for (std::size_t at = window.size() < kStart ? 0 : window.size() - kStart + 1; at-- > 0;) {
      const std::uint8_t* const bytes = window.data() + at;
      if (bytes[0] == kMsgpackArray4 && bytes[1] == 1 && bytes[2] == kMsgpackArray3 &&
          bytes[3] == kMsgpackUint16 && bytes[6] == kMsgpackMap16 && begin + at > 0)
        return begin + at;
    }
    end = begin;
  }
  return 0;
}

}  // namespace

HeaderRemains read_header_remains(const ByteSource& source, std::uint64_t file_size) {
  HeaderRemains header;
  header.defaults.splitmode = 4;
  std::array<std::uint8_t, sizeof(RawFrameHeader)> bytes{};
  const std::size_t got = source.read_at(0, bytes);
  try {
    const FrameHeader parsed = parse_frame_header(Bytes(bytes).first(got));
    header.is_sound = true;
    header.is_early = parsed.early;
    header.offset_width = parsed.offset_width;
    header.defaults = parsed.info;
    header.header_len = parsed.info.header_len;
    header.frame_len = parsed.info.frame_len;
    header.nbytes = parsed.info.nbytes;
    header.cbytes = parsed.info.cbytes;
    header.typesize = parsed.info.typesize;
    header.blocksize = parsed.info.blocksize;
    header.chunksize = parsed.info.chunksize;
    header.vl_blocks = parsed.info.vl_blocks;
    header.variable_chunks =
        (bytes[offsetof(RawFrameStart, general_flags)] & kFlagVariableChunks) != 0;
    const auto map_at = static_cast<std::uint64_t>(parsed.metalayers_at);
    if (!parsed.early || parsed.info.header_len > parsed.metalayers_at)
      read_layers(source, file_size, map_at, header);
    return header;
  } catch (const codec::Error&) {
    header.is_sound = false;
  }
  if (got == bytes.size()) {
    RawFrameHeader raw;
    std::memcpy(&raw, bytes.data(), sizeof raw);
    read_fields(raw, header);
  }
  read_layers(source, file_size, sizeof(RawFrameHeader), header);
  return header;
}

TrailerRemains read_trailer_remains(const ByteSource& source, std::uint64_t file_size,
                                    const HeaderRemains& header) {
  TrailerRemains trailer;
  const auto recorded = static_cast<std::uint64_t>(header.frame_len.value_or(0));
  if (header.is_early) return trailer;
  if (recorded > 0 && recorded <= file_size && read_trailer_before(source, recorded, trailer))
    return trailer;
  if (recorded != file_size && read_trailer_before(source, file_size, trailer)) {
    // A sound header would have led to its own trailer. This one may be of an earlier state,
    // because a frame that grows in place leaves old trailers behind.
    trailer.is_sound = trailer.is_sound && !header.is_sound;
    return trailer;
  }
  const std::uint64_t at = find_trailer_start(source, file_size);
  if (at == 0) return trailer;
  const Layers layers = LayerReader(source, {at, at + 2, file_size, kMaxVlmetalayers}).read();
  return {false, layers.is_whole, at, std::max(layers.end, at), layers.entries, layers.lost};
}

std::uint64_t find_trailer_end(const ByteSource& source, std::uint64_t at, std::uint64_t limit) {
  std::array<std::uint8_t, 2> start{};
  if (source.read_at(at, start) < start.size() || start[0] != kMsgpackArray4 || start[1] != 1)
    return at;
  const Layers layers =
      LayerReader(source, {at, at + start.size(), limit, kMaxVlmetalayers}).read();
  const std::uint64_t end = layers.end + sizeof(RawTrailerEnd);
  return layers.is_whole && end <= limit ? end : at;
}

}  // namespace bloscfs::frame::inline repair
