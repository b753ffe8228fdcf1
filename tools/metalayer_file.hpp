#pragma once
// Contents of metalayers from files and from the command line.

#include <cstdint>
#include <string>
#include <vector>

#include "tools/b2frame_commands.hpp"

namespace bloscfs::tools {

/// Reads a file. Converts a file that ends in .json to msgpack, because other Blosc2 programs store
/// msgpack in metalayers. Throws FileError.
std::vector<std::uint8_t> read_metalayer_file(const std::string& path);

/// Returns the contents that the command line gives for a metalayer. Throws FileError.
std::vector<std::uint8_t> content_of(const NamedLayer& layer);

/// Converts a JSON text to msgpack. Throws std::runtime_error.
std::vector<std::uint8_t> msgpack_of(const std::string& json);

}  // namespace bloscfs::tools
