#pragma once
// How a mount stores what is new: item size, chunks, blocks and codec from the data and the
// mount's options.

#include <cstdint>
#include <optional>
#include <vector>

#include "codec/chunk_encoder.hpp"
#include "frame/choosing/choice.hpp"
#include "frame/container/frame_writer.hpp"
#include "fs/numpy/npy.hpp"
#include "fs/options/write_options.hpp"

namespace bloscfs::fs {

/// What is to be stored.
struct NewContents {
  std::int64_t size = 0;
  frame::ReadContents read;

  /// The first bytes, as many as are asked for or there are.
  std::vector<std::uint8_t> start(std::size_t most) const;
};

/// Settings of a flat frame. Throws what reading throws.
frame::FrameSettings new_flat_frame(const WriteOptions& options, const NewContents& contents);
/// Of the beginning, that is looked at.
inline constexpr std::size_t kSampleSize = 32U << 10;
/// Size of the smallest chunks that it gives a frame, whatever the contents are.
std::int32_t min_flat_chunk(const WriteOptions& options);

/// The item size that suits contents best: the one of 1, 2, 4 and 8 with which shuffled bytes
/// compress best under LZ4, where that saves at least 1 part in 20 over smaller ones.
std::int32_t guess_typesize(codec::Bytes sample);

/// Settings of an array for the contents of a NPY file that consists of its header and as many
/// elements as that says; nullopt where an array could not show the same bytes: its header is not
/// what we would write ourselves, or there are more than 16 dimensions, or more chunks than a frame
/// can have. B2ND knows C order alone: elements in Fortran order are moved, so that other programs
/// find the same array, and a metalayer of our own says in which order they are shown.
std::optional<frame::FrameSettings> new_array_frame(const WriteOptions& options,
                                                    const NpyHeader& header,
                                                    const NewContents& contents);

/// The same for the contents of a file; nullopt also where they are no complete NPY file.
std::optional<frame::FrameSettings> array_frame_of(const WriteOptions& options,
                                                   const NewContents& contents);

/// How chunks for a frame are encoded; `fallback` serves where the frame's own codec or filters can
/// only be read. Chunks of a frame with a codec or filters that lose more each time (codec::Loss)
/// are encoded without these, by the fallback's codec: a change is kept as it was written, and what
/// is beside it in the chunk loses no more.
codec::EncodeSettings encode_settings(const frame::FrameInfo& info, const WriteOptions& fallback);

}  // namespace bloscfs::fs
