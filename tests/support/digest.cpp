#include "tests/support/digest.hpp"

#include <array>
#include <stdexcept>

#include <openssl/evp.h>

#include "tests/support/hex.hpp"

namespace bloscfs::test {

std::string sha256(codec::Bytes bytes) {
  std::array<std::uint8_t, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1)
    throw std::runtime_error("EVP_Digest failed");
  return to_hex({digest.data(), size});
}

}  // namespace bloscfs::test
