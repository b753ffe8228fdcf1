#pragma once
// Computes SHA-256.

#include <string>

#include "codec/bytes.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

/// Returns the digest in lower-case hex.
std::string sha256(codec::Bytes bytes);

}  // namespace bloscfs::test
