// ZFP: what its modes promise, and invalid streams.
#include <cmath>
#include <cstring>
#include <limits>

#include <boost/test/unit_test.hpp>

#include "codec/chunk_encoder.hpp"
#include "codec/compressor/codec_table.hpp"
#include "tests/codec/array_chunks.hpp"
#include "tests/codec/chunk_builder.hpp"

namespace bloscfs::test {

using codec::BlockShape;
using codec::CodecId;
using codec::EncodeSettings;
using codec::FilterId;

BOOST_AUTO_TEST_SUITE(zfp)

namespace {

boost::test_tools::assertion_result has_zfp(boost::unit_test::test_unit_id) {
  boost::test_tools::assertion_result result(codec::can_compress(CodecId::zfp_rate));
  result.message() << "built without libzfp";
  return result;
}

template <typename Float>
ByteVector waves(std::size_t count) {
  ByteVector bytes(count * sizeof(Float));
  for (std::size_t i = 0; i < count; ++i) {
    const auto item = static_cast<Float>(std::sin(static_cast<double>(i) / 50));
    std::memcpy(bytes.data() + i * sizeof(Float), &item, sizeof(Float));
  }
  return bytes;
}

template <typename Float>
double largest_difference(const ByteVector& a, const ByteVector& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); i += sizeof(Float)) {
    Float x = 0, y = 0;
    std::memcpy(&x, a.data() + i, sizeof(Float));
    std::memcpy(&y, b.data() + i, sizeof(Float));
    largest = std::max(largest, std::abs(static_cast<double>(x) - static_cast<double>(y)));
  }
  return largest;
}

template <typename Float>
void check_mode(CodecId id, std::uint8_t meta, double tolerance, const Extents& shape) {
  const auto typesize = static_cast<std::int32_t>(sizeof(Float));
  const EncodeSettings settings = array_settings(id, meta, typesize, shape);
  const ByteVector contents =
      waves<Float>(2 * static_cast<std::size_t>(settings.blocksize / typesize));
  const ByteVector chunk = codec::ChunkEncoder(settings).encode_stored(contents);
  const ByteVector decoded = decode_array(chunk, typesize, shape);
  BOOST_TEST(chunk.size() < contents.size());
  BOOST_TEST(largest_difference<Float>(contents, decoded) <= tolerance);
  // Builds of libzfp differ in the size of words. Each stream must have whole words of 8 bytes.
  BOOST_TEST((chunk.size() - 32 - 2 * (4 + 4)) % 8 == 0U);
}

}  // namespace

BOOST_AUTO_TEST_CASE(keeps_what_each_mode_promises, *boost::unit_test::precondition(has_zfp)) {
  constexpr std::uint8_t kThousandth = 253;  // 10^-3
  for (const Extents& shape : {Extents{400}, {30, 22}, {9, 10, 11}, {8, 8, 7, 8}}) {
    check_mode<float>(CodecId::zfp_accuracy, kThousandth, 1e-3, shape);
    check_mode<double>(CodecId::zfp_accuracy, kThousandth, 1e-3, shape);
    check_mode<double>(CodecId::zfp_precision, 20, 1e-2, shape);
    check_mode<double>(CodecId::zfp_rate, 50, 1e-2, shape);
  }
}

BOOST_AUTO_TEST_CASE(keeps_what_is_no_number, *boost::unit_test::precondition(has_zfp)) {
  const EncodeSettings settings = array_settings(CodecId::zfp_rate, 10, 4, {8, 8});
  ByteVector contents = waves<float>(128);
  const float infinite = std::numeric_limits<float>::infinity();
  std::memcpy(contents.data() + 40, &infinite, sizeof(infinite));
  const ByteVector chunk = codec::ChunkEncoder(settings).encode_stored(contents);
  const ByteVector decoded = decode_array(chunk, 4, {8, 8});
  BOOST_TEST(std::equal(decoded.begin(), decoded.begin() + 256, contents.begin()));
  BOOST_TEST((decoded != contents));
}

BOOST_AUTO_TEST_CASE(refuses_streams_that_are_damaged, *boost::unit_test::precondition(has_zfp)) {
  ChunkPlan plan;
  plan.flags = 0xD5;
  plan.typesize = 4;
  plan.codec_id = 33;
  plan.nbytes = plan.blocksize = 1024;
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const ByteVector chunk = build_chunk(plan, {coded_stream(noise(1 + seed % 40, seed))});
    array_refusal(chunk, 4, {16, 16});  // any result except a crash
  }
  const ByteVector chunk = build_chunk(plan, {coded_stream(noise(8))});
  BOOST_TEST(unsupported(chunk, 4) == "codec zfp_accuracy: needs the shape of an array's blocks");
  BOOST_TEST(array_refusal(chunk, 4, {16, 8}) ==
             "codec zfp_accuracy: a block of 1024 bytes is not 16x8 items of 4");
  BOOST_TEST(array_refusal(chunk, 4, {2, 2, 4, 4, 4}) ==
             "codec zfp_accuracy: takes up to 4 dimensions, not 5");
}

BOOST_AUTO_TEST_CASE(counts_the_memory_of_its_cells, *boost::unit_test::precondition(has_zfp)) {
  ChunkPlan plan;
  plan.flags = 0xD5;
  plan.typesize = 4;
  plan.codec_id = 33;
  plan.nbytes = plan.blocksize = 4096;
  const ByteVector chunk = build_chunk(plan, {coded_stream(noise(100))});
  const auto memory = [&](const Extents& shape) {
    return codec::open_chunk(chunk, 4, BlockShape(shape)).decode_memory();
  };
  BOOST_TEST(memory({1024}) > memory({}) + 4096);
  BOOST_TEST(memory({1, 1, 1, 1024}) > 64 * 4096);
}

BOOST_AUTO_TEST_CASE(is_refused_where_it_does_not_fit, *boost::unit_test::precondition(has_zfp)) {
  const auto problem = [](CodecId id, std::uint8_t meta, std::int32_t typesize,
                          const Extents& shape) {
    return problem_of(array_settings(id, meta, typesize, shape));
  };
  using enum CodecId;
  BOOST_TEST(problem(zfp_rate, 101, 4, {8, 8}) ==
             "codec zfp_rate: takes 1 to 100 percent, not 101");
  BOOST_TEST(problem(zfp_precision, 0, 8, {8, 8}) == "");
  BOOST_TEST(problem(zfp_precision, 0, 2, {8, 8}) ==
             "codec zfp_precision: takes items of 4 or 8 bytes, not 2");
  BOOST_TEST(problem(zfp_accuracy, 0, 4, {8, 3}) ==
             "codec zfp_accuracy: takes blocks of at least 4 items along each dimension");
  EncodeSettings settings = array_settings(zfp_rate, 50, 4, {8, 8}, {{FilterId::shuffle, 0}});
  BOOST_TEST(problem_of(settings) == "codec zfp_rate: takes no filters");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
