#pragma once
// SHA-256 of what was read.

#include <string>

#include "codec/bytes.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// In lower-case hex.
std::string sha256(codec::Bytes bytes);

}  // namespace bloscfs::test
