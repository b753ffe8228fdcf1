#pragma once
// How a mount stores what is new: item size, chunks, blocks and codec from the data and the
// mount's options.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "codec/chunk_encoder.hpp"
#include "frame/container/frame_writer.hpp"
#include "fs/numpy/npy.hpp"
#include "fs/options/write_options.hpp"

namespace bloscfs::fs {

/// Settings of a flat frame. `sample` is the beginning of its contents, up to kSampleSize bytes.
frame::FrameSettings new_flat_frame(const WriteOptions& options, codec::Bytes sample);
inline constexpr std::size_t kSampleSize = 32U << 10;
/// Size of the smallest chunks that it gives a frame, whatever the contents are.
std::int32_t min_flat_chunk(const WriteOptions& options);

/// The item size that suits contents best: the one of 1, 2, 4 and 8 with which shuffled bytes
/// compress best under LZ4, where that saves at least 1 part in 20 over smaller ones.
std::int32_t guess_typesize(codec::Bytes sample);

/// Settings of an array for the contents of a NPY file that consists of `header_bytes` and as many
/// elements as they say; nullopt where an array could not show the same bytes: header_bytes is not
/// what we would write ourselves, order is Fortran's, or there are more than 8 dimensions, or more
/// chunks than a frame can have.
std::optional<frame::FrameSettings> new_array_frame(const WriteOptions& options,
                                                    const NpyHeader& header,
                                                    codec::Bytes header_bytes);

/// The same for the contents of a file; nullopt also where they are no complete NPY file.
/// `read_start` gives the first bytes, as many as are asked for or the file has.
using ReadStart = std::function<std::vector<std::uint8_t>(std::size_t size)>;
std::optional<frame::FrameSettings> array_frame_of(const WriteOptions& options, std::int64_t size,
                                                   const ReadStart& read_start);

/// How chunks for a frame are encoded; `fallback` serves where the frame's own codec or filters can
/// only be read. Chunks of a frame with a codec or filters that lose more each time (codec::Loss)
/// are encoded without these, by the fallback's codec: a change is kept as it was written, and what
/// is beside it in the chunk loses no more.
codec::EncodeSettings encode_settings(const frame::FrameInfo& info, const WriteOptions& fallback);

}  // namespace bloscfs::fs
