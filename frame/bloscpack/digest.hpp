#pragma once
// The digests of Bloscpack files, computed incrementally (frame/formats/bloscpack.md, "Digests").

#include <cstdint>
#include <memory>
#include <vector>

#include "frame/store/byte_source.hpp"

namespace bloscfs::frame::inline bloscpack {

/// The ids in the files.
enum class DigestKind : std::uint8_t {
  none = 0,
  adler32 = 1,
  crc32 = 2,
  md5 = 3,
  sha1 = 4,
  sha224 = 5,
  sha256 = 6,
  sha384 = 7,
  sha512 = 8,
};
inline constexpr std::uint8_t kMaxDigestId = 8;

std::size_t digest_size(DigestKind kind);  ///< bytes in the file
const char* digest_name(DigestKind kind);  ///< lower case; "" for none

class Digest {
 public:
  /// Throws codec::Error (unsupported) if the crypto library does not offer `kind`.
  explicit Digest(DigestKind kind);
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;

  void update(Bytes bytes);
  /// Returns the digest in the form that files store. Call it once, last.
  std::vector<std::uint8_t> finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Reads `size` bytes at `offset` in windows, and compares their digest with the one at
/// `digest_offset`. Throws codec::Error (malformed, naming `what` and the offset) if they differ.
void verify_stored_digest(const ByteSource& source, DigestKind kind, std::uint64_t offset,
                          std::uint64_t size, std::uint64_t digest_offset, const char* what);

}  // namespace bloscfs::frame::inline bloscpack
