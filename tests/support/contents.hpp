#pragma once
// Makes data to compress. Equal arguments give equal bytes on every machine.

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// Returns "zeros", "constant", "ramp", "noise", "floats", "text", "nan" and "islands" (noise
/// among zeros), in alphabetical order.
const std::vector<std::string>& content_kinds();
ByteVector make_contents(const std::string& kind, std::uint64_t seed, std::size_t size,
                         std::size_t typesize);

}  // namespace bloscfs::test
