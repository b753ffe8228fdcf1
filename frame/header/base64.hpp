#pragma once
// Bytes as text of 64 letters.

#include <string>

#include "codec/bytes.hpp"

namespace bloscfs::frame::inline header {

/// RFC 4648, section 4: with padding, in one line.
std::string base64(codec::Bytes bytes);

}  // namespace bloscfs::frame::inline header
