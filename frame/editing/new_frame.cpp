#include "frame/editing/new_frame.hpp"

#include <algorithm>
#include <cerrno>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/header/b2nd.hpp"
#include "frame/header/cframe_format.hpp"
#include "frame/header/frame_limits.hpp"
#include "frame/header/metalayer_names.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline editing {
namespace {

void check(bool condition, const char* what, std::int64_t value) {
  if (!condition) throw_errno(EINVAL, fmt::format("{} {}", what, value));
}

void check_settings(const FrameSettings& settings) {
  check(settings.typesize > 0 && settings.typesize <= codec::kMaxBlocksize, "typesize",
        settings.typesize);
  check(settings.chunksize == -1 ||
            (settings.chunksize > 0 && settings.chunksize <= codec::kMaxChunkNbytes),
        "chunksize", settings.chunksize);
  check(settings.blocksize >= 0 && settings.blocksize <= codec::kMaxBlocksize, "blocksize",
        settings.blocksize);
  check(settings.clevel >= 0 && settings.clevel <= 9, "level", settings.clevel);
  check(settings.splitmode >= 1 && settings.splitmode <= 4, "split mode", settings.splitmode);
}

void plan_array(const ArrayInfo& array, NewFrame& frame) {
  const std::size_t dimensions = array.shape.size();
  check(dimensions <= kMaxB2ndDimensions && array.chunkshape.size() == dimensions &&
            array.blockshape.size() == dimensions,
        "dimensions", static_cast<std::int64_t>(dimensions));
  try {
    const ArraySizes sizes = array_sizes(array, frame.info.typesize);
    frame.info.chunksize = static_cast<std::int32_t>(sizes.chunksize);
    frame.info.blocksize = static_cast<std::int32_t>(sizes.blocksize);
    frame.info.nbytes = sizes.nbytes;
    frame.info.nchunks = sizes.nbytes / std::max<std::int64_t>(1, sizes.chunksize);
  } catch (const codec::Error& error) {
    throw_errno(EINVAL, error.what());
  }
  check(frame.info.nchunks <= max_chunk_count(frame.checksums), "number of chunks",
        frame.info.nchunks);
  frame.info.array = array;
  frame.info.block_shape = codec::BlockShape(array.blockshape);
  // b2nd must be first: first_header() rewrites the shape there.
  frame.metalayers.push_back({"b2nd", serialize_b2nd(array)});
  if (array.fortran_order)
    frame.metalayers.push_back({kOrderLayer, {kFortranOrder.begin(), kFortranOrder.end()}});
}

}  // namespace

NewFrame plan_frame(const FrameSettings& settings, ContainerKind kind) {
  check_settings(settings);
  NewFrame frame;
  frame.checksums = settings.checksums;
  FrameInfo& info = frame.info;
  info.kind = kind;
  info.format_version = 2;
  info.typesize = settings.typesize;
  info.chunksize = settings.chunksize;
  info.blocksize = settings.blocksize;
  info.splitmode = settings.splitmode;
  info.use_dict = settings.use_dict;
  info.codec = settings.codec;
  info.codec_meta = settings.codec_meta;
  info.clevel = settings.clevel;
  std::copy(settings.filters.begin(), settings.filters.end(), info.filters.begin());
  if (settings.array) plan_array(*settings.array, frame);
  frame.metalayers.insert(frame.metalayers.end(), settings.metalayers.begin(),
                          settings.metalayers.end());
  info.header_len = std::ssize(serialize_frame_header(info, frame.metalayers));
  return frame;
}

std::vector<std::uint8_t> first_header(const NewFrame& frame, const FrameInfo& info,
                                       bool has_vlmetalayers) {
  std::vector<Metalayer> metalayers = frame.metalayers;
  if (info.array) metalayers.front().content = serialize_b2nd(*info.array);
  std::vector<std::uint8_t> header = serialize_frame_header(info, metalayers);
  update_frame_header(header, info, has_vlmetalayers);
  return header;
}

}  // namespace bloscfs::frame::inline editing
