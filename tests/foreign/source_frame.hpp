#pragma once
// Frames in SOURCE, as programs other than the mount see and change them.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "tests/support/draw.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

using Layers = std::map<std::string, ByteVector>;

struct FrameState {
  ByteVector contents;  ///< as a mount shows them
  Layers layers;        ///< vlmetalayers
};

/// Returns the contents of a frame, or nothing if the file does not exist. Throws Violation if it
/// is not a frame.
std::optional<FrameState> read_frame(const fs_std::path& path);

/// A flat frame, or an array of one dimension with items of 4 bytes.
enum class Kind { flat, array };

/// Returns a frame with random contents of a few chunks at most.
ByteVector random_frame(Random& random, Kind kind);

enum class Edit { chunk, layer, growth };
/// Changes a frame in place, as programs with a Blosc2 library do. Changes one chunk or one
/// metalayer, or adds chunks to a flat frame. The change may be durable or not.
void edit_in_place(Random& random, const fs_std::path& path, Edit edit);

}  // namespace bloscfs::test
