#pragma once
// Frames that `b2frame create` makes, and the facts that C-Blosc2 reads from them.

#include <random>

#include <nlohmann/json.hpp>

#include "tests/tools/random_creation.hpp"

namespace bloscfs::test {

/// Returns a random creation whose result C-Blosc2 2.17 can read.
Creation creation_for_peer(std::mt19937_64& random, bool array);
/// Returns the contents of the frame: the input, without the header if it is an NPY file.
ByteVector contents_in_frame(const Creation& creation);
/// Runs `b2frame create` with the creation's options and `options`. Writes the input to the file
/// `input`.
void create_frame(const Creation& creation, const fs_std::path& frame, const fs_std::path& input,
                  const Arguments& options = {});
/// Has C-Blosc2 write all items to `out`. Returns the facts of the frame. Throws std::runtime_error
/// if C-Blosc2 fails.
nlohmann::json read_by_peer(const fs_std::path& frame, const fs_std::path& out);

}  // namespace bloscfs::test
