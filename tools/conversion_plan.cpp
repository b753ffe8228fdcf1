#include "tools/conversion_plan.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "codec/compressor/codec_table.hpp"
#include "codec/error.hpp"
#include "codec/loss.hpp"
#include "codec/names.hpp"
#include "frame/header/b2nd.hpp"
#include "frame/header/cframe_format.hpp"
#include "fs/encoding/new_frame.hpp"

namespace bloscfs::tools {
namespace {

/// True for an array whose dtype is not one of NumPy's. The new frame would lose that dtype. It
/// shows as a layer that is longer than one without a dtype.
bool has_other_dtype(const frame::Snapshot& source) {
  const frame::FrameInfo& info = source.info();
  const auto& layers = source.metalayers();
  return info.has_blocked_array() && !info.array->dtype &&
         std::any_of(layers.begin(), layers.end(), [&](const frame::MetalayerEntry& layer) {
           return layer.name == "b2nd" &&
                  layer.stored_size > frame::serialize_b2nd(*info.array).size();
         });
}

void require_convertible(const frame::Snapshot& source) {
  const frame::FrameInfo& info = source.info();
  if (info.is_frame() && (info.variable_chunks || info.vl_blocks))
    codec::throw_unsupported("has chunks or blocks of different sizes, which stay what they are");
  if (has_other_dtype(source)) codec::throw_unsupported("an array of a type that is not NumPy's");
}

/// Returns the filters in the last slots, as frames store them. Frames of the early layout can have
/// up to eight filters, new frames up to six.
fs::FilterSteps filters_of(const frame::FrameInfo& info) {
  std::vector<codec::FilterStep> steps;
  for (const codec::FilterStep& step : info.filters)
    if (step.id != codec::FilterId::none) steps.push_back(step);
  fs::FilterSteps filters{};
  if (steps.size() > filters.size()) codec::throw_unsupported("more than six filters");
  std::copy(steps.begin(), steps.end(), filters.end() - static_cast<std::ptrdiff_t>(steps.size()));
  return filters;
}

bool changes_codec(const StorageOptions& options) {
  return options.codec || options.clevel || options.filters || options.dictionary;
}

bool changes_chunks(const StorageOptions& options) {
  return options.chunk_size || options.chunk_shape || options.block_size || options.block_shape ||
         options.typesize;
}

/// Throws UsageError if the frame's codec or filters lose more digits each time they encode, unless
/// the options say which codec and filters to use.
void refuse_losses(const StorageOptions& options, const frame::FrameInfo& info) {
  const auto codec = options.codec ? codec::CodecId{} : info.codec.value_or(codec::CodecId{});
  const auto filters = options.filters ? std::array<codec::FilterStep, 8>{} : info.filters;
  if (codec::loss_of(codec, filters) == codec::Loss::every_time)
    throw UsageError("is stored with " + codec::codec_name(info.codec.value_or(codec)) +
                     " and filters that lose more each time; say --codec and --filters");
}

/// Sets absent options to the frame's own settings.
void fill_in(const frame::FrameInfo& info, StorageOptions& options) {
  const bool keeps_blocks = !changes_codec(options) && !changes_chunks(options);
  if (!options.codec && info.codec && codec::can_compress(*info.codec))
    options.codec = fs::CodecChoice{*info.codec, info.codec_meta};
  if (!options.clevel && info.is_frame()) options.clevel = info.clevel;
  const codec::CodecRow* const row = options.codec ? codec::find_codec(options.codec->id) : nullptr;
  const bool takes_filters = row == nullptr || row->loss != codec::Loss::every_time;
  if (!options.filters && info.is_frame() && takes_filters) options.filters = filters_of(info);
  if (info.use_dict && row != nullptr && row->takes_dictionary) options.dictionary = true;
  if (info.has_blocked_array()) {
    // For another chunk shape, make_plan() also chooses another block shape.
    if (options.chunk_shape || options.chunk_size) return;
    options.chunk_shape = info.array->chunkshape;
    if (!options.block_shape && !options.block_size) options.block_shape = info.array->blockshape;
    return;
  }
  if (options.chunk_size || info.chunksize <= 0 || !info.is_frame()) return;
  options.chunk_size = info.chunksize;
  if (keeps_blocks && info.blocksize > 0) options.block_size = info.blocksize;
}

/// Returns a plan for a frame with the same settings as the frame that `info` describes.
CreatePlan same_storage(const frame::FrameInfo& info) {
  CreatePlan plan;
  plan.frame.typesize = info.typesize;
  plan.frame.chunksize = info.chunksize;
  plan.frame.blocksize = info.blocksize;
  plan.frame.codec = *info.codec;
  plan.frame.codec_meta = info.codec_meta;
  plan.frame.clevel = info.clevel;
  plan.frame.filters = filters_of(info);
  plan.frame.splitmode = info.splitmode;
  plan.frame.use_dict = info.use_dict;
  if (info.has_blocked_array()) plan.frame.array = info.array;
  plan.encode = fs::encode_settings(info, {});
  return plan;
}

}  // namespace

ConversionPlan plan_conversion(const StorageOptions& options, const frame::Snapshot& source,
                               const Elements& elements) {
  const frame::FrameInfo& info = source.info();
  require_convertible(source);
  ConversionPlan plan;
  plan.has_asked_chunks = options.chunk_size.has_value() || options.chunk_shape.has_value();
  plan.copies_chunks =
      info.is_frame() && info.chunksize > 0 && !changes_codec(options) && !changes_chunks(options);
  if (plan.copies_chunks) {
    plan.target = same_storage(info);
  } else {
    refuse_losses(options, info);
    StorageOptions wanted = options;
    fill_in(info, wanted);
    // A packed tensor is stored as flat bytes. Its vlmetalayer is copied, so python-blosc2 still
    // finds the tensor.
    const bool is_array = elements.shape() && !info.has_packed_tensor();
    std::optional<frame::ArrayInfo> array;
    if (is_array) array = info.array;
    // Elements::read() returns the items in C order.
    if (array && !info.has_blocked_array()) array->fortran_order = false;
    plan.target = make_plan(wanted, array, static_cast<std::int32_t>(elements.itemsize()));
  }
  plan.target.frame.checksums = options.checksum || source.has_checksums();
  return plan;
}

}  // namespace bloscfs::tools
