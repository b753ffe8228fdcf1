#include "frame/container/missing_decoder.hpp"

#include "codec/compressor/codec_table.hpp"
#include "codec/error.hpp"
#include "codec/filter/pipeline.hpp"
#include "codec/names.hpp"

namespace bloscfs::frame::inline container {
namespace {

bool can_decompress(codec::CodecId id) {
  const codec::CodecRow* const row = codec::find_codec(id);
  return row != nullptr && row->make_decompressor != nullptr;
}

std::optional<std::string> missing_decoder(const FrameInfo& info) {
  if (info.codec && !can_decompress(*info.codec))
    return "codec " + codec::codec_name(*info.codec) + " is not supported";
  for (const codec::FilterStep& step : info.filters)
    if (!codec::is_supported(step.id))
      return "filter " + codec::filter_name(step.id) + " is not supported";
  return std::nullopt;
}

/// True if all chunks are special, and so need no decoder. False if the index is damaged, because
/// the chunks are then unknown.
bool has_no_stored_bytes(const Snapshot& snapshot) {
  if (snapshot.info().nbytes == 0) return true;
  try {
    return snapshot.all_chunks_special().has_value();
  } catch (const codec::Error&) {
    return false;
  }
}

}  // namespace

std::optional<std::string> missing_decoder(const Snapshot& snapshot) {
  auto missing = missing_decoder(snapshot.info());
  return missing && !has_no_stored_bytes(snapshot) ? missing : std::nullopt;
}

}  // namespace bloscfs::frame::inline container
