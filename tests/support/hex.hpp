#pragma once
// Converts bytes to lower-case hex digits and back.

#include <string>
#include <string_view>

#include "codec/bytes.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

std::string to_hex(codec::Bytes bytes);
/// `digits` has an even number of hex digits.
ByteVector from_hex(std::string_view digits);

}  // namespace bloscfs::test
