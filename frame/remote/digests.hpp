#pragma once
// Digests that requests carry: SHA-256 and its HMAC for signatures, MD5 for stores that require it.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "codec/bytes.hpp"

namespace bloscfs::frame::inline remote {

using Sha256 = std::array<std::uint8_t, 32>;

/// These throw std::bad_alloc if OpenSSL fails.
Sha256 sha256(codec::Bytes bytes);
Sha256 sha256(std::string_view text);
Sha256 hmac_sha256(codec::Bytes key, std::string_view text);

/// In the form of Content-MD5 (RFC 1864).
std::string base64_of_md5(codec::Bytes bytes);

/// Returns lower-case hex digits.
std::string hexadecimal(codec::Bytes bytes);

}  // namespace bloscfs::frame::inline remote
