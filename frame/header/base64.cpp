#include "frame/header/base64.hpp"

#include <algorithm>

#include <openssl/evp.h>

namespace bloscfs::frame::inline header {

// Encodes pieces of whole groups of three bytes, because EVP_EncodeBlock() takes an int.
std::string base64(codec::Bytes bytes) {
  constexpr std::size_t kPiece = 3 << 20;
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  std::string piece(kPiece / 3 * 4 + 1, 0);
  for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
    const auto part = bytes.subspan(at, std::min(kPiece, bytes.size() - at));
    const int size = ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(piece.data()), part.data(),
                                       static_cast<int>(part.size()));
    text.append(piece, 0, static_cast<std::size_t>(size));
  }
  return text;
}

}  // namespace bloscfs::frame::inline header
