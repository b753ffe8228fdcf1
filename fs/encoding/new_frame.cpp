#include "fs/encoding/new_frame.hpp"

#include <algorithm>

#include "codec/compressor/codec_table.hpp"
#include "codec/error.hpp"
#include "codec/filter/filter_table.hpp"
#include "codec/loss.hpp"
#include "frame/array/array_shapes.hpp"
#include "frame/choosing/trial.hpp"
#include "frame/header/b2nd.hpp"
#include "frame/header/frame_limits.hpp"

namespace bloscfs::fs {
namespace {

/// Small, so that a synced overwrite of a few bytes is cheap: it writes one chunk and encodes one
/// block.
constexpr std::int32_t kChunkSize = 128 << 10;
constexpr std::int32_t kBlockSize = 32 << 10;
constexpr std::int64_t kMaxItemSize = 16 << 20;
/// The item size of a shorter sample is not guessed.
constexpr std::size_t kMinSample = 256;
/// To guess the item size of small contents, an eighth of them is looked at, but at least this
/// much.
constexpr std::size_t kSmallSample = std::size_t{4} << 10;
/// A larger item size must save at least one part in this many of the compressed size.
constexpr int kWorthwhile = 20;
/// Limit for share_that_differs() at an item size, divided by its least value at the distances 3, 5
/// and 7. Text, programs and noise have at least this ratio. Numbers have a smaller one at their
/// own size.
constexpr double kLessByItems = 0.985;

/// Returns settings for the item size and the blocks of `frame`, without filters. The codec is
/// Zstandard, which can encode any frame. Callers replace it, or test a filter with it.
codec::EncodeSettings shaped_like(const frame::FrameSettings& frame) {
  codec::EncodeSettings settings;
  settings.codec = codec::CodecId::zstd;
  settings.typesize = frame.typesize;
  settings.blocksize = frame.blocksize;
  if (!frame.array) return settings;
  settings.block_shape = codec::BlockShape(frame.array->blockshape);
  settings.blocksize = static_cast<std::int32_t>(settings.block_shape.block_size(frame.typesize));
  return settings;
}

bool can_be_written(const codec::EncodeSettings& settings) {
  try {
    check_settings(settings);
    return true;
  } catch (const codec::Error&) {
    return false;
  }
}

bool depends_on_shape(codec::CodecId id) {
  const codec::CodecRow* const codec = codec::find_codec(id);
  return codec != nullptr && codec->depends_on_shape;
}

bool depends_on_shape(const codec::FilterStep& step) {
  const codec::FilterRow* const filter = codec::find_filter(step.id);
  return filter != nullptr && filter->depends_on_shape;
}

/// Returns the mount's codec, or Zstandard if that codec is only for arrays.
codec::CodecId codec_of_anything(const WriteOptions& options) {
  return depends_on_shape(options.codec) ? codec::CodecId::zstd : options.codec;
}

codec::SplitMode split_mode(const frame::FrameSettings& frame, codec::CodecId id) {
  const codec::CodecRow* const codec = codec::find_codec(id);
  if (codec == nullptr) return codec::SplitMode::never;
  if (codec->takes_single_bytes && frame.typesize > 1) return codec::SplitMode::always;
  // Splitting small blocks into streams of single bytes compresses badly, except with the fastest
  // codecs.
  return codec->is_fast ? codec::SplitMode::forward_compatible : codec::SplitMode::never;
}

/// Uses a codec that depends on an array's shape only for arrays that it fits.
void choose_codec(frame::FrameSettings& frame, const WriteOptions& options) {
  codec::EncodeSettings settings = shaped_like(frame);
  settings.codec = options.codec;
  settings.codec_meta = options.codec_meta;
  settings.split = split_mode(frame, options.codec);
  if (depends_on_shape(options.codec) && !can_be_written(settings)) {
    settings.codec = codec_of_anything(options);
    settings.codec_meta = 0;
    settings.split = split_mode(frame, settings.codec);
  }
  frame.codec = settings.codec;
  frame.codec_meta = settings.codec_meta;
  frame.splitmode = static_cast<int>(settings.split);
}

void choose_filters(frame::FrameSettings& frame, const WriteOptions& options) {
  if (options.filters)
    frame.filters = *options.filters;
  else if (frame.typesize > 1)
    frame.filters.back() = {codec::FilterId::shuffle, 0};
  for (codec::FilterStep& step : frame.filters) {
    codec::EncodeSettings settings = shaped_like(frame);
    settings.filters.back() = step;
    // Leave out a filter for arrays that does not fit this frame.
    if (depends_on_shape(step) && !can_be_written(settings)) step = {};
  }
}

void set_codec(frame::FrameSettings& frame, const WriteOptions& options) {
  frame.clevel = options.clevel;
  frame.checksums = options.checksum;
  choose_codec(frame, options);
  choose_filters(frame, options);
}

/// Removes codecs and filters that lose more each time. A commit encodes unchanged bytes of a chunk
/// again, and a program must read back what it has written.
void take_out_losses(codec::EncodeSettings& settings, const WriteOptions& fallback) {
  const auto is_losing = [](codec::CodecId codec, std::span<const codec::FilterStep> filters) {
    return codec::loss_of(codec, filters) == codec::Loss::every_time;
  };
  if (is_losing(settings.codec, {})) {
    settings.codec = codec_of_anything(fallback);
    settings.codec_meta = 0;
  }
  for (codec::FilterStep& step : settings.filters)
    if (is_losing({}, {&step, 1})) step = {};
}

/// If the options have a goal, chooses codec, level and filters for items of `typesize` bytes (0:
/// unknown) that begin at `begin`. Also sets `typesize` to the chosen item size.
WriteOptions chosen_for(WriteOptions options, const NewContents& contents, std::int64_t begin,
                        std::int32_t& typesize) {
  if (!options.goal) return options;
  const auto read = [&](std::int64_t offset, codec::MutableBytes out) {
    contents.read(begin + offset, out);
  };
  const std::int64_t size = std::max<std::int64_t>(contents.size - begin, 0);
  std::optional<codec::EncodeSettings> settings;
  if (frame::is_worth_choosing(size, *options.goal))
    settings = frame::choose_quickly(read, size, typesize, *options.goal);
  if (!settings) {
    if (typesize == 0) typesize = guess_typesize(contents.start(kSampleSize));
    settings = frame::usual_settings(*options.goal, typesize);
  }
  typesize = settings->typesize;
  options.codec = settings->codec;
  options.codec_meta = 0;
  options.clevel = settings->clevel;
  options.filters = settings->filters;
  return options;
}

std::int32_t whole_items(std::int32_t size, std::int32_t typesize) {
  return std::max(size - size % typesize, typesize);
}

/// Returns which share of the bytes differs from the byte `distance` bytes before.
double share_that_differs(codec::Bytes sample, std::size_t distance) {
  std::size_t count = 0;
  for (std::size_t i = distance; i < sample.size(); i++) count += sample[i] != sample[i - distance];
  return static_cast<double>(count) / static_cast<double>(sample.size() - distance);
}

/// True if it is worth trying item sizes. Each try encodes the sample once.
bool may_have_items(codec::Bytes sample) {
  double least_at_others = 1;
  for (const std::size_t distance : {3U, 5U, 7U})
    least_at_others = std::min(least_at_others, share_that_differs(sample, distance));
  return std::ranges::any_of(frame::kUsualTypesizes, [&](std::int32_t typesize) {
    return typesize > 1 && share_that_differs(sample, static_cast<std::size_t>(typesize)) <
                               kLessByItems * least_at_others;
  });
}

}  // namespace

std::int32_t guess_typesize(codec::Bytes sample) {
  if (sample.size() < kMinSample || !may_have_items(sample)) return 1;
  std::int32_t best = 1;
  std::size_t best_size = 0;
  for (const std::int32_t typesize : frame::kUsualTypesizes) {
    codec::EncodeSettings settings;
    settings.codec = codec::CodecId::lz4;
    settings.typesize = typesize;
    settings.blocksize = static_cast<std::int32_t>(sample.size());
    if (typesize > 1) settings.filters.back() = {codec::FilterId::shuffle, 0};
    settings.split = codec::SplitMode::never;
    const std::size_t size = codec::ChunkEncoder(settings).encode(sample).bytes.size();
    if (typesize > 1 && size >= best_size) continue;
    best = typesize;
    // A larger item size must compress the sample to less than this.
    best_size = size - size / kWorthwhile;
  }
  return best;
}

std::int32_t min_flat_chunk(const WriteOptions& options) {
  const std::int32_t wanted = options.chunk_size != 0 ? options.chunk_size : kChunkSize;
  std::int32_t smallest = wanted;
  for (std::int32_t typesize = 1; typesize <= frame::kMaxRecord; typesize++)
    smallest = std::min(smallest, whole_items(wanted, typesize));
  return smallest;
}

std::vector<std::uint8_t> NewContents::start(std::size_t most) const {
  std::vector<std::uint8_t> bytes(
      static_cast<std::size_t>(std::min(size, static_cast<std::int64_t>(most))));
  read(0, bytes);
  return bytes;
}

frame::FrameSettings new_flat_frame(const WriteOptions& options, const NewContents& contents) {
  frame::FrameSettings frame;
  // guess_typesize() may encode the sample four times. With a large sample, this would be most of
  // the work for a small file.
  const auto sample =
      std::clamp(static_cast<std::size_t>(contents.size) / 8, kSmallSample, kSampleSize);
  frame.typesize = options.goal ? 0 : guess_typesize(contents.start(sample));
  const WriteOptions chosen = chosen_for(options, contents, 0, frame.typesize);
  frame.chunksize =
      whole_items(options.chunk_size != 0 ? options.chunk_size : kChunkSize, frame.typesize);
  frame.blocksize = std::min(
      frame.chunksize,
      whole_items(options.block_size != 0 ? options.block_size : kBlockSize, frame.typesize));
  set_codec(frame, chosen);
  return frame;
}

std::optional<frame::FrameSettings> new_array_frame(const WriteOptions& options,
                                                    const NpyHeader& header,
                                                    const NewContents& contents) {
  const std::int64_t itemsize = header.dtype.itemsize;
  if (header.shape.size() > frame::kMaxB2ndDimensions || itemsize < 1 || itemsize > kMaxItemSize)
    return std::nullopt;
  frame::FrameSettings frame;
  frame.typesize = static_cast<std::int32_t>(itemsize);
  frame::ArrayInfo array;
  array.shape = header.shape;
  array.dtype = header.dtype.stored;
  array.fortran_order = header.fortran_order;
  array.chunkshape = frame::choose_cut(array.shape, itemsize,
                                       options.chunk_size != 0 ? options.chunk_size : kChunkSize, 1,
                                       header.fortran_order);
  array.blockshape = frame::choose_cut({array.chunkshape.begin(), array.chunkshape.end()}, itemsize,
                                       options.block_size != 0 ? options.block_size : kBlockSize, 1,
                                       header.fortran_order);
  const auto chunks = frame::array_chunk_count(array, frame.typesize);
  if (!chunks || *chunks > frame::max_chunk_count(options.checksum)) return std::nullopt;
  frame::FrameInfo info;
  info.typesize = frame.typesize;
  info.array = array;
  // The header that the mount would show must be that of the file, byte by byte.
  const auto ours = npy_view(info);
  const std::vector<std::uint8_t> header_bytes = contents.start(header.header_size);
  if (!ours || !std::equal(ours->begin(), ours->end(), header_bytes.begin(), header_bytes.end()))
    return std::nullopt;
  frame.array = std::move(array);
  const auto begin = static_cast<std::int64_t>(header.header_size);
  set_codec(frame, chosen_for(options, contents, begin, frame.typesize));
  return frame;
}

std::optional<frame::FrameSettings> array_frame_of(const WriteOptions& options,
                                                   const NewContents& contents) {
  const auto header_size = npy_header_size(contents.start(kNpyPrefix));
  if (!header_size || static_cast<std::int64_t>(*header_size) > contents.size) return std::nullopt;
  try {
    const NpyHeader header = parse_npy_header(contents.start(*header_size));
    if (static_cast<std::int64_t>(header.header_size) + header.nbytes != contents.size)
      return std::nullopt;
    return new_array_frame(options, header, contents);
  } catch (const codec::Error&) {
    return std::nullopt;
  }
}

codec::EncodeSettings encode_settings(const frame::FrameInfo& info, const WriteOptions& fallback) {
  codec::EncodeSettings settings;
  settings.typesize = info.typesize;
  settings.blocksize = info.blocksize;
  settings.clevel = info.clevel;
  settings.block_shape = info.block_shape;
  settings.codec = info.codec.value_or(codec_of_anything(fallback));
  settings.codec_meta = info.codec_meta;
  std::copy_n(info.filters.begin(), settings.filters.size(), settings.filters.begin());
  settings.split = static_cast<codec::SplitMode>(info.splitmode);
  settings.use_dictionary = info.use_dict;
  take_out_losses(settings, fallback);
  // This build can only decode with these settings.
  if (!can_be_written(settings)) {
    settings.codec = codec_of_anything(fallback);
    settings.codec_meta = 0;
    settings.clevel = fallback.clevel;
    settings.filters = {};
    settings.use_dictionary = false;
    settings.split = codec::SplitMode::forward_compatible;
  }
  return settings;
}

}  // namespace bloscfs::fs
