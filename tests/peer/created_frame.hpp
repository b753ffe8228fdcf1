#pragma once
// Frames that b2frame create makes, and what C-Blosc2 says of them.

#include <random>

#include <nlohmann/json.hpp>

#include "tests/tools/random_creation.hpp"

namespace bloscfs::test {

/// With options of which C-Blosc2 2.17 reads the result.
Creation creation_for_peer(std::mt19937_64& random, bool array);
/// What the frame holds: the input, of a NPY file without the header.
ByteVector contents_in_frame(const Creation& creation);
/// Runs b2frame create with `options` as well; the input goes to the file `input`.
void create_frame(const Creation& creation, const fs_std::path& frame, const fs_std::path& input,
                  const Arguments& options = {});
/// Has C-Blosc2 write all items to `out`. Returns the frame's facts; throws std::runtime_error when
/// it fails.
nlohmann::json read_by_peer(const fs_std::path& frame, const fs_std::path& out);

}  // namespace bloscfs::test
