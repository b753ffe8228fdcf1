#pragma once
// How b2frame create stores an input: frame, chunks and blocks from the command line and the
// input's first bytes.

#include <cstdint>
#include <optional>

#include "codec/encode_settings.hpp"
#include "frame/container/frame_writer.hpp"
#include "fs/numpy/npy.hpp"
#include "tools/b2frame_commands.hpp"

namespace bloscfs::tools {

/// Bytes of the input that make_plan() looks at, if there are as many.
std::size_t plan_sample(const CreateOptions& options);

struct CreatePlan {
  frame::FrameSettings frame;
  codec::EncodeSettings encode;
  std::optional<fs::NpyHeader> npy;  ///< of an array; its elements are stored, not its header
};

/// For input that begins with `sample`, and has so many bytes where that is known. Throws
/// UsageError where options contradict each other or the input, Error for a NPY file that cannot
/// become an array.
CreatePlan make_plan(const CreateOptions& options, codec::Bytes sample,
                     std::optional<std::int64_t> known_size);

/// The same for contents that are known: an array, of which shape and dtype count, or items of
/// `typesize` bytes.
CreatePlan make_plan(const StorageOptions& options, const std::optional<frame::ArrayInfo>& array,
                     std::int32_t typesize);

}  // namespace bloscfs::tools
