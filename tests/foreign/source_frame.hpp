#pragma once
// Frames in SOURCE as programs other than the mount see and change them.

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
  Layers layers;        ///< of variable length
};

/// What a file holds, if it is a frame.
std::optional<FrameState> read_frame(const fs_std::path& path);

/// Shape of the files of a kind: a flat frame, or an array of one dimension of 4-byte items.
enum class Kind { flat, array };

/// A frame of new contents, not more than some chunks of them.
ByteVector random_frame(Random& random, Kind kind);

enum class Edit { chunk, layer, growth };
/// Changes a frame in place, as programs that link a Blosc2 library do: one chunk, one metalayer,
/// or (flat ones) chunks more. Durable or not as it comes.
void edit_in_place(Random& random, const fs_std::path& path, Edit edit);

}  // namespace bloscfs::test
