#include "fs/view/reply_data.hpp"

#include <climits>

#include <boost/test/unit_test.hpp>

using namespace bloscfs;
using namespace bloscfs::fs;

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kLargestReply = 1 << 20;

Bytes joined(const ReplyData& data) {
  Bytes out(data.size());
  data.copy_to(out);
  return out;
}

/// A reply of parts that alternate between shared bytes and zeros, and its expected bytes.
struct Mixture {
  Mixture(std::size_t shared_size, std::size_t zeros) {
    while (reply.size() + shared_size + zeros <= kLargestReply) {
      const auto part = std::make_shared<Bytes>(shared_size, ++last);
      reply.add_shared(part, *part);
      reply.add_zeros(zeros);
      expected.insert(expected.end(), part->begin(), part->end());
      expected.resize(expected.size() + zeros);
    }
  }
  PagePool pages;
  ReplyData reply{pages};
  Bytes expected;
  std::uint8_t last = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(reply_data)

BOOST_AUTO_TEST_CASE(has_few_pieces_whatever_it_is_made_of) {
  for (const std::size_t shared_size : {100u, 4095u, 4096u, 70'000u})
    for (const std::size_t zeros : {0u, 100u, 4096u, 300'000u}) {
      const Mixture mixture(shared_size, zeros);
      BOOST_TEST(mixture.reply.pieces().size() < IOV_MAX - 1u);
      BOOST_TEST((joined(mixture.reply) == mixture.expected));
    }
}

BOOST_AUTO_TEST_CASE(pins_nothing_that_is_small) {
  PagePool pages;
  ReplyData reply(pages);
  const auto small = std::make_shared<Bytes>(100, std::uint8_t{1});
  const auto large = std::make_shared<Bytes>(100'000, std::uint8_t{2});
  reply.add_shared(small, *small);
  reply.add_shared(large, *large);
  BOOST_TEST(small.use_count() == 1);
  BOOST_TEST(large.use_count() == 2);
}

BOOST_AUTO_TEST_SUITE_END()
