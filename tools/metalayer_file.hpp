#pragma once
// Contents for metalayers, from files.

#include <cstdint>
#include <string>
#include <vector>

namespace bloscfs::tools {

/// The bytes of a file; one that ends in .json is turned into msgpack, which is what other Blosc2
/// programs put into metalayers. Throws FileError.
std::vector<std::uint8_t> read_metalayer_file(const std::string& path);

}  // namespace bloscfs::tools
