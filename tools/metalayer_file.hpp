#pragma once
// Contents for metalayers, from files and from the command line.

#include <cstdint>
#include <string>
#include <vector>

#include "tools/b2frame_commands.hpp"

namespace bloscfs::tools {

/// The bytes of a file; one that ends in .json is turned into msgpack, which is what other Blosc2
/// programs put into metalayers. Throws FileError.
std::vector<std::uint8_t> read_metalayer_file(const std::string& path);

/// What a metalayer of the command line is to hold. Throws FileError.
std::vector<std::uint8_t> content_of(const NamedLayer& layer);

/// The msgpack of a JSON text. Throws std::runtime_error.
std::vector<std::uint8_t> msgpack_of(const std::string& json);

}  // namespace bloscfs::tools
