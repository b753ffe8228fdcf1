#include "tools/create_plan.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codec/block_size.hpp"
#include "codec/compressor/codec_table.hpp"
#include "codec/error.hpp"
#include "codec/loss.hpp"
#include "codec/names.hpp"
#include "frame/array/array_shapes.hpp"
#include "frame/choosing/choice.hpp"
#include "frame/header/b2nd.hpp"
#include "fs/encoding/new_frame.hpp"

namespace bloscfs::tools {
namespace {

/// Bytes of a chunk: large enough for good ratios and few index entries, and small enough that each
/// thread can hold a chunk in memory.
constexpr std::int32_t kChunkSize = 4 << 20;
constexpr int kUsualLevel = 3;
constexpr std::size_t kUsualSample = std::size_t{1} << 20;
constexpr const char* kUseFlat = "; --flat stores the file as it is";

fs::NpyHeader array_header(codec::Bytes sample) {
  try {
    fs::NpyHeader header = fs::parse_npy_header(sample);
    if (header.dtype.itemsize == 0) codec::throw_unsupported("NPY header: items of 0 bytes");
    if (header.dtype.itemsize > codec::kMaxBlocksize)
      codec::throw_unsupported(fmt::format("NPY header: items of {} bytes", header.dtype.itemsize));
    if (header.shape.size() > frame::kMaxB2ndDimensions)
      codec::throw_unsupported(fmt::format("NPY header: {} dimensions, at most {} are possible",
                                           header.shape.size(),
                                           std::size_t{frame::kMaxB2ndDimensions}));
    return header;
  } catch (const codec::Error& error) {
    codec::throw_unsupported(error.what() + std::string(kUseFlat));
  }
}

/// Returns settings that suit the contents. Returns nullopt if the options have no goal, or if the
/// contents decide nothing, as zeros do. `contents` has the first bytes of an input of `size`
/// bytes. `typesize` is the item size; 0: not known.
std::optional<codec::EncodeSettings> chosen_settings(const StorageOptions& options,
                                                     codec::Bytes contents, std::int64_t size,
                                                     std::int32_t typesize) {
  if (!options.goal) return std::nullopt;
  require(
      !options.clevel && !options.filters && !options.dictionary,
      "--codec auto chooses level and filters: --clevel, --filters and --dict don't go with it");
  return frame::choose_settings(contents, size, typesize, *options.goal);
}

/// Guesses the item size from the middle of the sample, since the beginning of a file is often
/// unlike the rest. Begins at a multiple of 64 bytes, so that most items are whole.
std::int32_t guessed_typesize(codec::Bytes sample) {
  const std::size_t size = std::min(sample.size(), fs::kSampleSize);
  return fs::guess_typesize(sample.subspan((sample.size() - size) / 2 / 64 * 64, size));
}

codec::EncodeSettings encode_settings(const StorageOptions& options, std::int32_t typesize) {
  const fs::CodecChoice choice = options.codec.value_or(fs::CodecChoice());
  const codec::CodecRow& codec = *codec::find_codec(choice.id);
  codec::EncodeSettings settings;
  settings.codec = codec.id;
  settings.codec_meta = choice.meta;
  // Such a codec compresses items of one byte, so blocks of larger items are split into bytes.
  if (codec.takes_single_bytes && typesize > 1) settings.split = codec::SplitMode::always;
  settings.clevel = options.clevel.value_or(kUsualLevel);
  settings.typesize = typesize;
  settings.use_dictionary = options.dictionary;
  if (options.filters)
    settings.filters = *options.filters;
  else if (typesize > 1 && codec.loss == codec::Loss::none)
    settings.filters.back() = {codec::FilterId::shuffle, 0};
  return settings;
}

void require_writable(const codec::EncodeSettings& settings) {
  try {
    codec::check_settings(settings);
  } catch (const codec::Error& error) {
    const codec::CodecRow* const codec = codec::find_codec(settings.codec);
    const std::string what = error.what();
    const bool is_of_blocks =
        codec != nullptr && codec->depends_on_shape && what.find("blocks") != std::string::npos;
    throw UsageError(is_of_blocks ? what + "; set them with --block-shape (and --chunk-shape)"
                                  : what);
  }
}

/// Throws UsageError if codec or filters lose digits, and the items are no floating-point numbers.
/// Such codecs look only at the item size and would take anything for numbers.
void require_numbers(const codec::EncodeSettings& settings, const std::string& dtype) {
  if (dtype == "<f4" || dtype == "<f8") return;
  const auto refuse = [&](const std::string& name) {
    throw UsageError(
        fmt::format("{} is for arrays of float32 or float64 (<f4, <f8), not {}", name, dtype));
  };
  if (codec::loss_of(settings.codec, {}) == codec::Loss::every_time)
    refuse("codec " + codec::codec_name(settings.codec));
  for (const codec::FilterStep& step : settings.filters)
    if (codec::loss_of({}, {&step, 1}) == codec::Loss::every_time)
      refuse("filter " + codec::filter_name(step.id));
}

/// Rounds a size down to whole units, but to at least one.
std::int32_t whole(std::int64_t size, std::int64_t unit) {
  return static_cast<std::int32_t>(std::max(size - size % unit, unit));
}

void plan_flat(const StorageOptions& options, CreatePlan& plan) {
  require(!options.chunk_shape && !options.block_shape,
          "shapes of chunks and blocks need an array");
  codec::EncodeSettings& encode = plan.encode;
  const std::int32_t chunksize = whole(options.chunk_size.value_or(kChunkSize), encode.typesize);
  if (options.block_size) encode.blocksize = whole(*options.block_size, encode.typesize);
  encode.blocksize = codec::choose_blocksize(encode, chunksize);
  plan.frame.chunksize = options.chunk_size ? chunksize : whole(chunksize, encode.blocksize);
  plan.frame.blocksize = encode.blocksize;
}

/// Codecs that use the shape of an array need blocks of at least this many items along each axis.
constexpr std::int64_t kLeastExtent = 4;

/// Returns the given shape of chunks or blocks. If none is given, chooses one of about `target`
/// bytes.
std::vector<std::int32_t> chosen_shape(const std::optional<std::vector<std::int32_t>>& given,
                                       const std::vector<std::int64_t>& extents,
                                       const codec::EncodeSettings& encode, std::int64_t target,
                                       bool fortran_order) {
  const codec::CodecRow* const codec = codec::find_codec(encode.codec);
  const std::int64_t least = codec != nullptr && codec->depends_on_shape ? kLeastExtent : 1;
  if (given) return *given;
  return frame::choose_cut(extents, encode.typesize, target, least, fortran_order);
}

void require_dimensions(const char* option, const std::optional<std::vector<std::int32_t>>& given,
                        const std::vector<std::int64_t>& shape) {
  if (given && given->size() != shape.size())
    throw UsageError(
        fmt::format("{} {}: give one number for each dimension of the array, whose shape is {}",
                    option, fmt::join(*given, ","), fmt::join(shape, ",")));
}

/// `array` has the array's shape and dtype. The shapes of chunks and blocks are chosen here.
void plan_array(const StorageOptions& options, frame::ArrayInfo array, CreatePlan& plan) {
  require(!options.chunk_shape || !options.chunk_size,
          "--chunk-shape and --chunk-size exclude each other");
  require(!options.block_shape || !options.block_size,
          "--block-shape and --block-size exclude each other");
  require_dimensions("--chunk-shape", options.chunk_shape, array.shape);
  require_dimensions("--block-shape", options.block_shape, array.shape);
  codec::EncodeSettings& encode = plan.encode;
  array.in_order = false;
  array.chunkshape = chosen_shape(options.chunk_shape, array.shape, encode,
                                  options.chunk_size.value_or(kChunkSize), array.fortran_order);
  const std::vector<std::int64_t> chunk(array.chunkshape.begin(), array.chunkshape.end());
  const std::int32_t blocksize =
      options.block_size ? *options.block_size
                         : codec::choose_blocksize(encode, options.chunk_size.value_or(kChunkSize));
  array.blockshape =
      chosen_shape(options.block_shape, chunk, encode, blocksize, array.fortran_order);
  for (std::size_t i = 0; i < chunk.size(); ++i)
    require(array.blockshape[i] <= chunk[i], "a block is larger than its chunk");
  try {
    const frame::ArraySizes sizes = frame::array_sizes(array, encode.typesize);
    encode.blocksize = static_cast<std::int32_t>(sizes.blocksize);
    encode.block_shape = codec::BlockShape(array.blockshape);
  } catch (const codec::Error& error) {
    throw UsageError(error.what());
  }
  plan.frame.array = std::move(array);
}

void describe_frame(const StorageOptions& options, CreatePlan& plan) {
  const codec::EncodeSettings& encode = plan.encode;
  plan.frame.typesize = encode.typesize;
  plan.frame.codec = encode.codec;
  plan.frame.codec_meta = encode.codec_meta;
  plan.frame.clevel = encode.clevel;
  plan.frame.filters = encode.filters;
  plan.frame.splitmode = static_cast<int>(encode.split);
  plan.frame.use_dict = encode.use_dictionary;
  plan.frame.checksums = options.checksum;
}

}  // namespace

std::size_t plan_sample(const CreateOptions& options) {
  return options.goal ? frame::kChoiceSample : kUsualSample;
}

CreatePlan make_plan(const CreateOptions& options, codec::Bytes sample,
                     std::optional<std::int64_t> known_size) {
  CreatePlan plan;
  const std::int64_t size = std::max<std::int64_t>(known_size.value_or(0), std::ssize(sample));
  if (!options.flat && fs::npy_header_size(sample)) {
    plan.npy = array_header(sample);
    const auto itemsize = static_cast<std::int32_t>(plan.npy->dtype.itemsize);
    require(!options.typesize || *options.typesize == itemsize,
            "--typesize is not the item size of the array; leave it out");
    const auto chosen = chosen_settings(
        options, sample.subspan(std::min(sample.size(), plan.npy->header_size)), size, itemsize);
    plan.encode = chosen ? *chosen : encode_settings(options, itemsize);
    require_numbers(plan.encode, plan.npy->dtype.stored);
    frame::ArrayInfo array;
    array.shape = plan.npy->shape;
    array.dtype = plan.npy->dtype.stored;
    array.fortran_order = plan.npy->fortran_order && fs::is_fortran_only(array.shape);
    plan_array(options, std::move(array), plan);
  } else {
    const auto chosen = chosen_settings(options, sample, size, options.typesize.value_or(0));
    plan.encode = chosen ? *chosen
                         : encode_settings(options, options.typesize ? *options.typesize
                                                                     : guessed_typesize(sample));
    plan_flat(options, plan);
  }
  require_writable(plan.encode);
  describe_frame(options, plan);
  return plan;
}

CreatePlan make_plan(const StorageOptions& options, const std::optional<frame::ArrayInfo>& array,
                     std::int32_t typesize) {
  CreatePlan plan;
  require(!options.typesize || !array || *options.typesize == typesize,
          "--typesize is not the item size of the array; leave it out");
  plan.encode = encode_settings(options, options.typesize.value_or(typesize));
  if (array) {
    require_numbers(plan.encode, array->dtype.value_or("what has no dtype"));
    plan_array(options, *array, plan);
  } else {
    plan_flat(options, plan);
  }
  require_writable(plan.encode);
  describe_frame(options, plan);
  return plan;
}

}  // namespace bloscfs::tools
