#include "frame/bloscpack/digest.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

using namespace bloscfs::frame;

namespace {

std::string hex_digest(DigestKind kind, std::string_view text) {
  Digest digest(kind);
  const Bytes bytes(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  digest.update(bytes.first(1));
  digest.update(bytes.subspan(1));
  std::string out;
  for (const std::uint8_t byte : digest.finish()) out += fmt::format("{:02x}", byte);
  return out;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(digest)

// The digests of "abc" are from the standards. Files store adler32 and crc32 with the lowest byte
// first.
BOOST_AUTO_TEST_CASE(gives_the_published_sums) {
  const std::vector<std::pair<DigestKind, std::string>> known = {
      {DigestKind::none, ""},
      {DigestKind::adler32, "27014d02"},
      {DigestKind::crc32, "c2412435"},
      {DigestKind::md5, "900150983cd24fb0d6963f7d28e17f72"},
      {DigestKind::sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"},
      {DigestKind::sha224, "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"},
      {DigestKind::sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
      {DigestKind::sha384,
       "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c"
       "825a7"},
      {DigestKind::sha512,
       "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
       "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"},
  };
  for (const auto& [kind, sum] : known) {
    BOOST_TEST(hex_digest(kind, "abc") == sum);
    BOOST_TEST(digest_size(kind) == sum.size() / 2);
  }
}

BOOST_AUTO_TEST_SUITE_END()
