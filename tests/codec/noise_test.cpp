#include "codec/noise.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/codec/encoding.hpp"
#include "tests/support/contents.hpp"

namespace bloscfs::test {
namespace {

using codec::CodecId;
using codec::looks_random;

/// Makes noise around a trend, like the low bytes of measured integers. Byte values are evenly
/// frequent only over the whole.
ByteVector trend(std::size_t size) {
  ByteVector bytes = noise(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::uint8_t>(i / 3 + bytes[i] % 64);
  }
  return bytes;
}

/// Makes noise in which one byte in thirty is zero.
ByteVector uneven(std::size_t size) {
  ByteVector bytes = noise(size);
  for (std::size_t i = 0; i < size; i += 30) bytes[i] = 0;
  return bytes;
}

BOOST_AUTO_TEST_SUITE(noise_detection)

BOOST_AUTO_TEST_CASE(noise_looks_random) {
  for (const std::size_t size : {4096U, 5000U, 65536U, 1000003U}) {
    for (std::uint32_t seed = 1; seed < 50; ++seed) BOOST_TEST(looks_random(noise(size, seed)));
  }
}

BOOST_AUTO_TEST_CASE(what_a_codec_could_shorten_does_not_look_random) {
  BOOST_TEST(!looks_random(noise(4095)));
  for (const std::size_t size : {4096U, 65536U, 1000003U}) {
    BOOST_TEST(!looks_random(trend(size)));
    BOOST_TEST(!looks_random(uneven(size)));
    BOOST_TEST(!looks_random(make_contents("text", 1, size, 1)));
    BOOST_TEST(!looks_random(ByteVector(size, 7)));
  }
}

BOOST_AUTO_TEST_CASE(repeated_noise_is_compressed) {
  ByteVector contents = noise(10000);
  for (int i = 0; i < 4; ++i) append(contents, noise(10000));
  for (const CodecId id : {CodecId::lz4hc, CodecId::zlib, CodecId::zstd}) {
    codec::ChunkEncoder encoder(make_settings(id, 5, 1));
    BOOST_TEST(encoder.encode(contents).bytes.size() < 12000);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace bloscfs::test
