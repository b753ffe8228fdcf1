#pragma once
// Data to compress, the same for the same arguments everywhere.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// "zeros", "constant", "ramp", "noise", "floats", "text", "nan", "islands" (noise among zeros).
const std::vector<std::string>& content_kinds();
ByteVector make_contents(const std::string& kind, std::uint64_t seed, std::size_t size,
                         std::size_t typesize);

}  // namespace bloscfs::test
