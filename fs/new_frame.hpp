#pragma once
// How a mount stores what is new: item size, chunks, blocks and codec from the data and the
// mount's options.

#include <cstdint>
#include <functional>
#include <optional>

#include "codec/chunk_encoder.hpp"
#include "frame/frame_writer.hpp"
#include "fs/npy.hpp"
#include "fs/write_options.hpp"

namespace bloscfs::fs {

/// Settings of a flat frame. `sample` is the beginning of its contents, up to kSampleSize bytes.
frame::FrameSettings new_flat_frame(const WriteOptions& options, codec::Bytes sample);
inline constexpr std::size_t kSampleSize = 32U << 10;

/// The item size that suits contents best: the one of 1, 2, 4 and 8 with which shuffled bytes
/// compress best under LZ4, where that saves at least 1 part in 20 over smaller ones.
std::int32_t guess_typesize(codec::Bytes sample);

/// Settings of an array for the contents of a NPY file that consists of `header_bytes` and as many
/// elements as they say; nullopt where an array could not show the same bytes: header_bytes is not
/// what we would write ourselves, order is Fortran's, or there are more than 8 dimensions.
std::optional<frame::FrameSettings> new_array_frame(const WriteOptions& options,
                                                    const NpyHeader& header,
                                                    codec::Bytes header_bytes);

/// How chunks for a frame are encoded; `fallback` serves where the frame's own codec or filters can
/// only be read.
codec::EncodeSettings encode_settings(const frame::FrameInfo& info, const WriteOptions& fallback);

}  // namespace bloscfs::fs
