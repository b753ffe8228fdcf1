#pragma once
// Plans how b2frame create stores an input: frame, chunks and blocks, from the command line and the
// input's first bytes.

#include <cstdint>
#include <optional>

#include "codec/encode_settings.hpp"
#include "frame/container/frame_writer.hpp"
#include "fs/numpy/npy.hpp"
#include "tools/b2frame_commands.hpp"

namespace bloscfs::tools {

/// Returns how many bytes of the input make_plan() needs as a sample. A shorter input is the whole
/// sample.
std::size_t plan_sample(const CreateOptions& options);

struct CreatePlan {
  frame::FrameSettings frame;
  codec::EncodeSettings encode;
  std::optional<fs::NpyHeader> npy;  ///< only for an array: elements are stored, not the header
};

/// Plans for an input that begins with `sample`. `known_size` is its size, if that is known. Throws
/// UsageError if options contradict each other or the input. Throws Error for a NPY file that
/// cannot become an array.
CreatePlan make_plan(const CreateOptions& options, codec::Bytes sample,
                     std::optional<std::int64_t> known_size);

/// Plans for contents whose type is known: an array, of which shape and dtype are used, or else
/// items of `typesize` bytes.
CreatePlan make_plan(const StorageOptions& options, const std::optional<frame::ArrayInfo>& array,
                     std::int32_t typesize);

}  // namespace bloscfs::tools
