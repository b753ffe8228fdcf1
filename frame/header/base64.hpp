#pragma once
// Encodes bytes in Base64.

#include <string>

#include "codec/bytes.hpp"

namespace bloscfs::frame::inline header {

/// Encodes according to RFC 4648, section 4: with padding, in one line.
std::string base64(codec::Bytes bytes);

}  // namespace bloscfs::frame::inline header
