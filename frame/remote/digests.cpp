#include "frame/remote/digests.hpp"

#include <new>

#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace bloscfs::frame::inline remote {
namespace {

codec::Bytes text_bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

Sha256 sha256(codec::Bytes bytes) {
  Sha256 result{};
  if (::EVP_Digest(bytes.data(), bytes.size(), result.data(), nullptr, ::EVP_sha256(), nullptr) !=
      1)
    throw std::bad_alloc();
  return result;
}

Sha256 sha256(std::string_view text) { return sha256(text_bytes(text)); }

Sha256 hmac_sha256(codec::Bytes key, std::string_view text) {
  Sha256 result{};
  const codec::Bytes bytes = text_bytes(text);
  if (::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes.data(), bytes.size(),
             result.data(), nullptr) == nullptr)
    throw std::bad_alloc();
  return result;
}

std::string base64_of_md5(codec::Bytes bytes) {
  std::array<std::uint8_t, 16> digest{};
  if (::EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, ::EVP_md5(), nullptr) != 1)
    throw std::bad_alloc();
  std::array<std::uint8_t, 25> text{};  // with a NUL
  const int size = ::EVP_EncodeBlock(text.data(), digest.data(), static_cast<int>(digest.size()));
  return {text.begin(), text.begin() + size};
}

std::string hexadecimal(codec::Bytes bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string result;
  result.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) result += {kDigits[byte >> 4], kDigits[byte & 15U]};
  return result;
}

}  // namespace bloscfs::frame::inline remote
