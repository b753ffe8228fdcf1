// Delta and bytedelta: the format's examples, and the vectorised code compared with the scalar
// code.
#include <boost/test/unit_test.hpp>

#include "codec/filter/bytedelta.hpp"
#include "codec/filter/delta.hpp"
#include "tests/codec/chunk_builder.hpp"
#include "tests/codec/each_target.hpp"
#include "tests/support/hex.hpp"

namespace bloscfs::test {
namespace {

using codec::BytedeltaKind;

constexpr std::size_t kSizes[] = {0,  1,  2,  3,  7,  8,   9,   15,  16,  17,   23,   31,  32,
                                  33, 47, 63, 64, 65, 100, 127, 128, 129, 1000, 1001, 4099};

template <typename Forward>
ByteVector filtered(const ByteVector& in, const Forward& forward) {
  ByteVector out(in.size(), 0xEE);
  forward(in, out);
  return out;
}

template <typename Backward>
ByteVector restored(ByteVector data, const Backward& backward) {
  backward(data);
  return data;
}

void check_running(const ByteVector& in, std::size_t typesize) {
  const auto fast = filtered(
      in, [&](codec::Bytes a, codec::MutableBytes b) { codec::delta_running(a, b, typesize); });
  const auto slow = filtered(in, [&](codec::Bytes a, codec::MutableBytes b) {
    codec::delta_running_scalar(a, b, typesize);
  });
  BOOST_TEST_CONTEXT("typesize " << typesize << ", " << in.size() << " bytes") {
    BOOST_TEST((fast == slow));
    BOOST_TEST((restored(fast, [&](codec::MutableBytes data) {
                  codec::undelta_running(data, typesize);
                }) == in));
    BOOST_TEST((restored(fast, [&](codec::MutableBytes data) {
                  codec::undelta_running_scalar(data, typesize);
                }) == in));
  }
}

void check_bytedelta(const ByteVector& in, std::size_t streams, BytedeltaKind kind) {
  const auto fast = filtered(
      in, [&](codec::Bytes a, codec::MutableBytes b) { codec::bytedelta(a, b, streams, kind); });
  const auto slow = filtered(in, [&](codec::Bytes a, codec::MutableBytes b) {
    codec::bytedelta_scalar(a, b, streams, kind);
  });
  BOOST_TEST_CONTEXT(streams << " streams, " << in.size() << " bytes") {
    BOOST_TEST((fast == slow));
    BOOST_TEST((restored(fast, [&](codec::MutableBytes data) {
                  codec::unbytedelta(data, streams, kind);
                }) == in));
    BOOST_TEST((restored(fast, [&](codec::MutableBytes data) {
                  codec::unbytedelta_scalar(data, streams, kind);
                }) == in));
  }
}

BOOST_AUTO_TEST_SUITE(delta_filters)

BOOST_AUTO_TEST_CASE(delta_word_follows_the_typesize) {
  const std::pair<std::size_t, std::size_t> expected[] = {
      {1, 1}, {2, 2}, {3, 1}, {4, 4}, {6, 1}, {8, 8}, {12, 1}, {16, 8}, {24, 8}, {255, 1}};
  for (const auto& pair : expected) BOOST_TEST(codec::delta_word(pair.first) == pair.second);
}

BOOST_AUTO_TEST_CASE(delta_does_the_examples_of_the_format) {
  const ByteVector words = from_hex("2187ea6bdea6c8de200407f6");
  const auto first = filtered(
      words, [](codec::Bytes in, codec::MutableBytes out) { codec::delta_running(in, out, 4); });
  BOOST_TEST(to_hex(first) == "2187ea6bff2122b5fea2cf28");
  ByteVector second = from_hex("ac095803");
  codec::delta_reference(second, words, 4);
  BOOST_TEST(to_hex(second) == "8d8eb268");
}

BOOST_AUTO_TEST_CASE(running_delta_equals_its_twin_and_is_undone) {
  for_each_target([] {
    for (const std::size_t typesize : {1U, 2U, 3U, 4U, 6U, 8U, 12U, 16U, 24U, 255U}) {
      for (const std::size_t size : kSizes) check_running(noise(size), typesize);
    }
  });
}

BOOST_AUTO_TEST_CASE(reference_delta_equals_its_twin_and_is_its_own_inverse) {
  for_each_target([] {
    for (const std::size_t typesize : {1U, 2U, 4U, 7U, 8U}) {
      for (const std::size_t size : kSizes) {
        const ByteVector in = noise(size);
        const ByteVector reference = noise(size + 5, 2);
        ByteVector fast = in;
        ByteVector slow = in;
        codec::delta_reference(fast, reference, typesize);
        codec::delta_reference_scalar(slow, reference, typesize);
        BOOST_TEST((fast == slow), "typesize " << typesize << ", " << size << " bytes");
        codec::delta_reference(fast, reference, typesize);
        BOOST_TEST((fast == in));
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(delta_keeps_the_bytes_behind_the_last_word) {
  const ByteVector in = noise(23);
  ByteVector data = in;
  codec::delta_reference(data, noise(23, 2), 8);
  BOOST_TEST((ByteVector(data.begin() + 16, data.end()) == ByteVector(in.begin() + 16, in.end())));
  BOOST_TEST((data != in));
}

BOOST_AUTO_TEST_CASE(bytedelta_does_the_example_of_the_format) {
  ByteVector data = from_hex(
      "21666381"
      "30");
  codec::unbytedelta(data, 1, BytedeltaKind::current);
  BOOST_TEST(to_hex(data) == "2187ea6b9b");
}

BOOST_AUTO_TEST_CASE(bytedelta_starts_again_with_each_stream) {
  ByteVector data(41, 1);
  codec::unbytedelta(data, 2, BytedeltaKind::current);
  BOOST_TEST(int{data[19]} == 20);
  BOOST_TEST(int{data[20]} == 1);
  BOOST_TEST(int{data[39]} == 20);
  BOOST_TEST(int{data[40]} == 1);  // after both
}

BOOST_AUTO_TEST_CASE(old_bytedelta_starts_again_behind_the_last_sixteen) {
  ByteVector data(20, 1);
  codec::unbytedelta(data, 1, BytedeltaKind::old);
  BOOST_TEST(int{data[15]} == 16);
  BOOST_TEST(int{data[16]} == 1);
  BOOST_TEST(int{data[19]} == 4);
}

BOOST_AUTO_TEST_CASE(bytedelta_equals_its_twin_and_is_undone) {
  for_each_target([] {
    for (const std::size_t streams : {1U, 2U, 3U, 4U, 7U, 8U, 16U, 255U, 1000U}) {
      for (const std::size_t size : kSizes) {
        for (const auto kind : {BytedeltaKind::current, BytedeltaKind::old}) {
          check_bytedelta(noise(size), streams, kind);
        }
      }
    }
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace bloscfs::test
