#include "frame/header/frame_parts.hpp"

#include <algorithm>
#include <cstring>

#include <boost/endian/conversion.hpp>
#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/header/b2nd.hpp"
#include "frame/header/metalayer_names.hpp"
#include "frame/header/metalayers.hpp"

namespace bloscfs::frame::inline header {
namespace {

using codec::throw_malformed;

/// Larger than any real b2nd metalayer. Structured dtypes are the longest part.
constexpr std::uint32_t kMaxArrayMetalayer = 1u << 20;
constexpr std::int64_t kMaxIndexRegion = INT32_MAX;

/// Most bytes of index and trailer that are requested together.
constexpr std::int64_t kExpectedEnd = std::int64_t{256} << 10;
constexpr std::int64_t kExpectedTrailer = std::int64_t{64} << 10;

void load_end(WindowReader& reader, std::uint64_t frame_len, std::size_t size) {
  reader.load(frame_len - std::min<std::uint64_t>(frame_len, size), size);
}

/// Returns where the trailer begins. In a frame without contents the trailer is right behind the
/// header, wherever the frame ends, because other readers look for it at that position
/// (frame/formats/cframe.md, "Trailer").
std::int64_t trailer_start(const FrameInfo& info, bool early) {
  const std::int64_t start =
      info.nbytes == 0 && !early ? info.header_len : info.frame_len - info.trailer_len;
  if (start < info.header_len || start > info.frame_len - info.trailer_len)
    throw_malformed(fmt::format("frame trailer: {} bytes do not fit behind the header of {}",
                                info.trailer_len, info.header_len));
  return start;
}

/// Reads a trailer of the early layout: array, version, and a bin32 that holds one chunk.
std::vector<MetalayerEntry> read_usermeta(WindowReader& reader, const FrameInfo& info) {
  constexpr std::uint32_t kHead = 7;
  const auto start = static_cast<std::uint64_t>(trailer_start(info, true));
  const Bytes head = reader.at(start, kHead, "frame trailer");
  const std::uint32_t size = boost::endian::load_big_u32(head.data() + 3);
  if (head[2] != kMsgpackBin32 ||
      info.trailer_len < std::int64_t{kHead} + size + std::int64_t{sizeof(RawTrailerEnd)})
    throw_malformed(fmt::format("frame trailer at {}: usermeta of {} bytes in {}", start, size,
                                info.trailer_len));
  if (size == 0) return {};
  return {{"usermeta", start + kHead, size}};
}

std::vector<MetalayerEntry> read_layers(WindowReader& reader, const FrameInfo& info, bool early) {
  if (early) return read_usermeta(reader, info);
  const auto start = static_cast<std::uint64_t>(trailer_start(info, false));
  if (reader.at(start, 2, "frame trailer")[0] != kMsgpackArray4)
    throw_malformed(fmt::format("frame trailer at {}: no array(4)", start));
  return read_metalayer_map(reader, {start, static_cast<std::uint64_t>(info.trailer_len), 2,
                                     kMaxVlmetalayers, "frame trailer"});
}

std::uint64_t size_of_file(std::int64_t size) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, size));
}

class PartsReader {
 public:
  PartsReader(const ByteSource& source, std::uint64_t file_size, std::uint8_t frame_type,
              const FirstReads& first)
      : reader_(source, file_size), first_(first) {
    // If first.start is smaller, the caller already has header and trailer in memory.
    const bool reads_whole =
        file_size <= kSmallFrame && !source.is_over_network() && first.start == kHeaderBytesKept;
    reader_.load(0, reads_whole ? kSmallFrame : first.start);
    read_header(frame_type);
  }

  void read_rest(const ByteSource& source) {
    expect_end(source);
    read_trailer();
    locate_index();
  }

  FrameParts take() {
    parts_.whole = reader_.take_whole();
    return std::move(parts_);
  }

 private:
  FrameInfo& info() { return parts_.header.info; }

  void read_header(std::uint8_t frame_type) {
    const auto available = reader_.size();
    const auto first = std::min<std::uint64_t>(available, sizeof(RawFrameHeader));
    parts_.header =
        parse_frame_header(reader_.at(0, static_cast<std::size_t>(first), "frame header"));
    if (parts_.header.frame_type != frame_type)
      throw_malformed(fmt::format("frame header: frame type {} where {} is expected",
                                  parts_.header.frame_type, frame_type));
    if (static_cast<std::uint64_t>(info().frame_len) > available)
      throw_malformed(fmt::format("frame header: cut off: it says {} bytes, but there are {}",
                                  info().frame_len, available));
    reader_.set_size(static_cast<std::uint64_t>(info().frame_len));
    const auto header_len = static_cast<std::uint64_t>(info().header_len);
    const auto kept = std::min<std::uint64_t>(header_len, kHeaderBytesKept);
    const Bytes bytes = reader_.at(0, static_cast<std::size_t>(kept), "frame header");
    parts_.header_bytes.assign(bytes.begin(), bytes.end());
    const auto map_at = static_cast<std::uint64_t>(parts_.header.metalayers_at);
    if (parts_.header.early && header_len == map_at) return;
    parts_.metalayers =
        read_metalayer_map(reader_, {0, header_len, map_at, kMaxMetalayers, "frame header"});
    read_array();
  }

  /// Announces to a remote source that all bytes behind the chunks will be read, unless they are
  /// more than kExpectedEnd. Then announces only the end, where most trailers are.
  void expect_end(const ByteSource& source) const {
    const FrameInfo& header_info = parts_.header.info;
    const bool is_sparse = parts_.header.frame_type == 1;
    std::int64_t size = std::min(header_info.frame_len, kExpectedTrailer);
    const std::int64_t behind = header_info.frame_len - header_info.header_len - header_info.cbytes;
    if (!is_sparse && behind <= kExpectedEnd) size = std::max(size, behind);
    const ByteRange end{header_info.frame_len - size, size};
    source.expect({&end, 1});
  }

  void read_trailer() {
    const std::int64_t frame_len = info().frame_len;
    // One read at the end of the frame covers most trailers.
    load_end(reader_, static_cast<std::uint64_t>(frame_len), first_.end);
    RawTrailerEnd end;
    const Bytes bytes = reader_.at(static_cast<std::uint64_t>(frame_len) - sizeof(end), sizeof(end),
                                   "frame trailer");
    std::memcpy(&end, bytes.data(), sizeof(end));
    const std::int64_t length = end.trailer_len.value();
    if (end.length_marker != kMsgpackUint32)
      throw_malformed(
          fmt::format("frame trailer: marker {:#04x} before its length", end.length_marker));
    if (length < kMinTrailerLen || length > frame_len - parts_.header.metalayers_at)
      throw_malformed(fmt::format("frame trailer: length {} in a frame of {}", length, frame_len));
    info().trailer_len = length;
    parts_.vlmetalayers = read_layers(reader_, info(), parts_.header.early);
  }

  void locate_index() {
    if (info().nbytes == 0) return;
    const bool sparse = parts_.header.frame_type == 1;
    const std::int64_t end = info().frame_len - info().trailer_len - info().header_len;
    const std::int64_t before = sparse ? 0 : info().cbytes;
    if (before > end || end - before < kMinStoredChunk || end - before > kMaxIndexRegion)
      throw_malformed(
          fmt::format("frame header: compressed_size {} leaves no place for the index in {} bytes",
                      info().cbytes, end));
    parts_.index_at = static_cast<std::uint64_t>(info().header_len + before);
    parts_.index_limit = static_cast<std::uint64_t>(end - before);
  }

  void read_array() {
    const auto named = [&](const char* name) {
      return std::find_if(parts_.metalayers.begin(), parts_.metalayers.end(),
                          [&](const MetalayerEntry& entry) { return entry.name == name; });
    };
    auto found = named("b2nd");
    if (found == parts_.metalayers.end()) found = named("caterva");
    if (found == parts_.metalayers.end()) return;
    if (found->stored_size > kMaxArrayMetalayer)
      throw_malformed(fmt::format("metalayer {}: {} bytes", found->name, found->stored_size));
    info().array =
        parse_b2nd(reader_.at(found->stored_offset, found->stored_size, "b2nd metalayer"), info());
    if (const auto order = named(kOrderLayer); order != parts_.metalayers.end())
      info().array->fortran_order = is_fortran(*order);
    // No writer lets codecs or filters use the block shape of the older metalayer, caterva.
    if (found->name == "b2nd") info().block_shape = codec::BlockShape(info().array->blockshape);
  }

  /// True if the layer holds the msgpack text F. Any other content means C order, as if the
  /// metalayer did not exist.
  bool is_fortran(const MetalayerEntry& layer) {
    const Bytes content =
        reader_.at(layer.stored_offset, std::min(layer.stored_size, 2U), "metalayer bloscfs.order");
    return layer.stored_size == kFortranOrder.size() &&
           std::equal(content.begin(), content.end(), kFortranOrder.begin());
  }

  WindowReader reader_;
  const FirstReads first_;
  FrameParts parts_;
};

}  // namespace

std::vector<MetalayerEntry> read_vlmetalayers(const ByteSource& source, const FrameInfo& info,
                                              bool early) {
  const auto frame_len = static_cast<std::uint64_t>(info.frame_len);
  WindowReader reader(source, frame_len);
  load_end(reader, frame_len,
           static_cast<std::size_t>(
               std::min<std::int64_t>(info.trailer_len, std::int64_t{kHeaderBytesKept})));
  return read_layers(reader, info, early);
}

FrameParts read_frame_parts(const ByteSource& source, std::int64_t file_size,
                            std::uint8_t frame_type, const FirstReads& first) {
  PartsReader reader(source, size_of_file(file_size), frame_type, first);
  reader.read_rest(source);
  return reader.take();
}

std::optional<FrameInfo> read_frame_info(const ByteSource& source, std::int64_t file_size,
                                         std::uint8_t frame_type) {
  const FrameParts parts = PartsReader(source, size_of_file(file_size), frame_type, {}).take();
  if (parts.header.has_vlmetalayers && !parts.header.info.array) return std::nullopt;
  const auto is_store_layer = [](const MetalayerEntry& layer) {
    return layer.name == kEmbedStoreLayer;
  };
  if (std::any_of(parts.metalayers.begin(), parts.metalayers.end(), is_store_layer))
    return std::nullopt;
  return parts.header.info;
}

}  // namespace bloscfs::frame::inline header
