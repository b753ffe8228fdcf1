#pragma once
// How a mount stores new files. Chooses item size, chunks, blocks and codec by the data and the
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

/// Contents that are to be stored.
struct NewContents {
  std::int64_t size = 0;
  frame::ReadContents read;

  /// Returns the first `most` bytes, or fewer if the contents are shorter.
  std::vector<std::uint8_t> start(std::size_t most) const;
};

/// Returns the settings of a flat frame. Throws what `contents.read` throws.
frame::FrameSettings new_flat_frame(const WriteOptions& options, const NewContents& contents);
/// The most bytes from the beginning of the contents that are looked at to guess the item size.
inline constexpr std::size_t kSampleSize = 32U << 10;
/// Returns the size of the smallest chunks that new_flat_frame() chooses for any contents.
std::int32_t min_flat_chunk(const WriteOptions& options);

/// Returns the item size that suits the sample best: that of 1, 2, 4 and 8 with which the shuffled
/// bytes compress best under LZ4. A larger size must save at least 1 part in 20.
std::int32_t guess_typesize(codec::Bytes sample);

/// Returns the settings of an array for the contents of a NPY file. The file must consist of its
/// header and as many elements as the header says. Returns nullopt if an array could not show the
/// same bytes: the header differs from the one that the mount writes, or the array has more than 16
/// dimensions, or more chunks than a frame can have.
///
/// B2ND knows only C order. Elements in Fortran order are moved, so that other programs find the
/// same array. A metalayer of bloscfs says in which order the mount shows them.
std::optional<frame::FrameSettings> new_array_frame(const WriteOptions& options,
                                                    const NpyHeader& header,
                                                    const NewContents& contents);

/// Like new_array_frame(), for the contents of a file. Also returns nullopt if the contents are no
/// complete NPY file.
std::optional<frame::FrameSettings> array_frame_of(const WriteOptions& options,
                                                   const NewContents& contents);

/// Returns how chunks of a frame are encoded. If this build can only decode the frame's codec
/// or filters, uses those of `fallback`. Codecs and filters that lose more each time (codec::Loss)
/// are replaced or left out. So a change is stored as it was written, and the rest of its chunk
/// loses no more.
codec::EncodeSettings encode_settings(const frame::FrameInfo& info, const WriteOptions& fallback);

}  // namespace bloscfs::fs
