#pragma once
// Digests that requests carry: SHA-256 and its HMAC in signatures, MD5 where stores want it.

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

/// As Content-MD5 has it (RFC 1864).
std::string base64_of_md5(codec::Bytes bytes);

/// In lower case.
std::string hexadecimal(codec::Bytes bytes);

}  // namespace bloscfs::frame::inline remote
