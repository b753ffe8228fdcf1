#include "fs/encoding/new_frame.hpp"

#include <algorithm>

#include "codec/compressor/codec_table.hpp"
#include "codec/error.hpp"
#include "frame/array/array_shapes.hpp"
#include "frame/header/b2nd.hpp"
#include "frame/header/frame_limits.hpp"

namespace bloscfs::fs {
namespace {

/// Small enough that a synced overwrite of a few bytes is cheap: it writes one chunk again, and
/// encodes one block.
constexpr std::int32_t kChunkSize = 128 << 10;
constexpr std::int32_t kBlockSize = 32 << 10;
constexpr std::int64_t kMaxItemSize = 16 << 20;
constexpr std::size_t kMinSample = 256;
constexpr int kWorthwhile = 20;
constexpr std::int32_t kTypesizes[] = {1, 2, 4, 8};

void set_codec(frame::FrameSettings& frame, const WriteOptions& options) {
  frame.codec = options.codec;
  frame.clevel = options.clevel;
  frame.checksums = options.checksum;
  // Streams of single bytes of small blocks compress badly but with the fastest codecs.
  const codec::CodecRow* const codec = codec::find_codec(options.codec);
  frame.splitmode =
      static_cast<int>(codec != nullptr && codec->is_fast ? codec::SplitMode::forward_compatible
                                                          : codec::SplitMode::never);
  if (options.filters)
    frame.filters = *options.filters;
  else if (frame.typesize > 1)
    frame.filters.back() = {codec::FilterId::shuffle, 0};
}

std::int32_t whole_items(std::int32_t size, std::int32_t typesize) {
  return std::max(size - size % typesize, typesize);
}

}  // namespace

std::int32_t guess_typesize(codec::Bytes sample) {
  if (sample.size() < kMinSample) return 1;
  std::int32_t best = 1;
  std::size_t best_size = 0;
  for (const std::int32_t typesize : kTypesizes) {
    codec::EncodeSettings settings;
    settings.codec = codec::CodecId::lz4;
    settings.typesize = typesize;
    settings.blocksize = static_cast<std::int32_t>(sample.size());
    if (typesize > 1) settings.filters.back() = {codec::FilterId::shuffle, 0};
    settings.split = codec::SplitMode::never;
    const std::size_t size = codec::ChunkEncoder(settings).encode(sample).bytes.size();
    if (typesize > 1 && size >= best_size) continue;
    best = typesize;
    best_size = size - size / kWorthwhile;
  }
  return best;
}

std::int32_t min_flat_chunk(const WriteOptions& options) {
  const std::int32_t wanted = options.chunk_size != 0 ? options.chunk_size : kChunkSize;
  std::int32_t smallest = wanted;
  for (const std::int32_t typesize : kTypesizes)
    smallest = std::min(smallest, whole_items(wanted, typesize));
  return smallest;
}

frame::FrameSettings new_flat_frame(const WriteOptions& options, codec::Bytes sample) {
  frame::FrameSettings frame;
  frame.typesize = guess_typesize(sample);
  frame.chunksize =
      whole_items(options.chunk_size != 0 ? options.chunk_size : kChunkSize, frame.typesize);
  frame.blocksize = std::min(
      frame.chunksize,
      whole_items(options.block_size != 0 ? options.block_size : kBlockSize, frame.typesize));
  set_codec(frame, options);
  return frame;
}

std::optional<frame::FrameSettings> new_array_frame(const WriteOptions& options,
                                                    const NpyHeader& header,
                                                    codec::Bytes header_bytes) {
  const std::int64_t itemsize = header.dtype.itemsize;
  if (header.shape.size() > frame::kMaxB2ndDimensions || itemsize < 1 || itemsize > kMaxItemSize)
    return std::nullopt;
  frame::FrameSettings frame;
  frame.typesize = static_cast<std::int32_t>(itemsize);
  frame::ArrayInfo array;
  array.shape = header.shape;
  array.dtype = header.dtype.stored;
  array.chunkshape = frame::choose_cut(array.shape, itemsize,
                                       options.chunk_size != 0 ? options.chunk_size : kChunkSize);
  array.blockshape = frame::choose_cut({array.chunkshape.begin(), array.chunkshape.end()}, itemsize,
                                       options.block_size != 0 ? options.block_size : kBlockSize);
  const auto chunks = frame::array_chunk_count(array, frame.typesize);
  if (!chunks || *chunks > frame::max_chunk_count(options.checksum)) return std::nullopt;
  frame::FrameInfo info;
  info.typesize = frame.typesize;
  info.array = array;
  const auto ours = npy_view(info);
  if (!ours || !std::equal(ours->begin(), ours->end(), header_bytes.begin(), header_bytes.end()))
    return std::nullopt;
  frame.array = std::move(array);
  set_codec(frame, options);
  return frame;
}

std::optional<frame::FrameSettings> array_frame_of(const WriteOptions& options, std::int64_t size,
                                                   const ReadStart& read_start) {
  const auto header_size = npy_header_size(read_start(kNpyPrefix));
  if (!header_size || static_cast<std::int64_t>(*header_size) > size) return std::nullopt;
  const std::vector<std::uint8_t> header_bytes = read_start(*header_size);
  try {
    const NpyHeader header = parse_npy_header(header_bytes);
    if (static_cast<std::int64_t>(header.header_size) + header.nbytes != size) return std::nullopt;
    return new_array_frame(options, header, header_bytes);
  } catch (const codec::Error&) {
    return std::nullopt;
  }
}

codec::EncodeSettings encode_settings(const frame::FrameInfo& info, const WriteOptions& fallback) {
  codec::EncodeSettings settings;
  settings.typesize = info.typesize;
  settings.blocksize = info.blocksize;
  settings.clevel = info.clevel;
  settings.codec = info.codec.value_or(fallback.codec);
  std::copy_n(info.filters.begin(), settings.filters.size(), settings.filters.begin());
  settings.split = static_cast<codec::SplitMode>(info.splitmode);
  settings.use_dictionary = info.use_dict;
  try {
    check_settings(settings);
  } catch (const codec::Error&) {
    settings.codec = fallback.codec;
    settings.clevel = fallback.clevel;
    settings.filters = {};
    settings.use_dictionary = false;
    settings.split = codec::SplitMode::forward_compatible;
  }
  return settings;
}

}  // namespace bloscfs::fs
