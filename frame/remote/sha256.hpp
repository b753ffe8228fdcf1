#pragma once
// SHA-256 and its HMAC, as signatures of requests use them.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "codec/bytes.hpp"

namespace bloscfs::frame::inline remote {

using Sha256 = std::array<std::uint8_t, 32>;

/// Throw std::bad_alloc.
Sha256 sha256(codec::Bytes bytes);
Sha256 sha256(std::string_view text);
Sha256 hmac_sha256(codec::Bytes key, std::string_view text);

/// In lower case.
std::string hexadecimal(codec::Bytes bytes);

}  // namespace bloscfs::frame::inline remote
