#include "fs/content/written.hpp"

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include <boost/test/unit_test.hpp>

namespace bloscfs::fs {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::int64_t kMost = 600;

/// Applies each random change to a Written and to a plain vector. Both lie over a committed file,
/// which commits replace.
class Pair {
 public:
  explicit Pair(std::uint64_t seed) : random_(seed) {}

  void change() {
    const auto size = std::ssize(shown_);
    switch (number(0, 9)) {
      case 0:
        written_.resize(number(0, kMost));
        shown_.resize(static_cast<std::size_t>(written_.size()));
        break;
      case 1: {
        const std::int64_t offset = number(0, std::max<std::int64_t>(0, size - 1));
        const std::int64_t count = number(0, size - offset);
        written_.zero(offset, count);
        std::fill_n(shown_.begin() + offset, count, std::uint8_t{0});
        break;
      }
      case 2:
        begin_commit(number(0, 1) == 0);
        break;
      case 3:
        end_commit(number(0, 2) == 0);
        break;
      default:
        write(number(0, kMost - 40), number(1, 40));
    }
  }

  void check() {
    BOOST_TEST_REQUIRE(written_.size() == std::ssize(shown_));
    BOOST_TEST_REQUIRE(written_.committed_size() == std::ssize(committed_));
    const Bytes now = read(committed_, written_.lower_end(), written_.size(), written_);
    BOOST_TEST_REQUIRE(now == shown_, boost::test_tools::per_element());
    const std::int64_t offset = number(0, kMost), count = number(1, 100);
    if (written_.is_untouched(offset, count)) {
      BOOST_TEST_REQUIRE(offset + count <= std::ssize(shown_));
      BOOST_TEST_REQUIRE(std::equal(shown_.begin() + offset, shown_.begin() + offset + count,
                                    committed_.begin() + offset));
    }
    if (written_.is_clean()) BOOST_TEST_REQUIRE(shown_ == committed_);
    const Layer* const frozen = written_.frozen();
    BOOST_TEST_REQUIRE((frozen != nullptr) == is_committing_);
    if (frozen != nullptr && stores_all_) {
      const Bytes stored = read(committed_, frozen->lower_end, std::ssize(to_commit_), *frozen);
      BOOST_TEST_REQUIRE(stored == to_commit_, boost::test_tools::per_element());
    }
  }

 private:
  template <typename Layers>
  static Bytes read(const Bytes& below, std::int64_t lower_end, std::int64_t size,
                    const Layers& layers) {
    Bytes bytes = below;
    bytes.resize(static_cast<std::size_t>(std::min(lower_end, std::ssize(below))));
    bytes.resize(static_cast<std::size_t>(size));
    layers.apply(0, bytes);
    return bytes;
  }

  void write(std::int64_t offset, std::int64_t count) {
    Bytes bytes(static_cast<std::size_t>(count));
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(number(1, 255));
    written_.write(offset, bytes);
    if (std::ssize(shown_) < offset + count)
      shown_.resize(static_cast<std::size_t>(offset + count));
    std::copy(bytes.begin(), bytes.end(), shown_.begin() + offset);
  }

  void begin_commit(bool all) {
    if (is_committing_) return;
    is_committing_ = true;
    stores_all_ = all;
    to_commit_ = shown_;
    if (all)
      written_.freeze_all();
    else
      written_.freeze_first(static_cast<std::size_t>(number(0, 60)));
  }

  void end_commit(bool fails) {
    if (!is_committing_) return;
    is_committing_ = false;
    if (fails) return written_.unfreeze();
    // A commit of the first part stores a file of the present size, but without the bytes of the
    // rest.
    if (!stores_all_) {
      const Layer& first = *written_.frozen();
      to_commit_ = read(committed_, first.lower_end, std::ssize(to_commit_), first);
    }
    committed_ = to_commit_;
    written_.drop_frozen();
    written_.set_committed_size(std::ssize(committed_));
  }

  std::int64_t number(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }

  std::mt19937_64 random_;
  PagePool pages_;
  Written written_{pages_};
  Bytes shown_, committed_, to_commit_;
  bool is_committing_ = false, stores_all_ = false;
};

const LayerName kOne{LayerKind::variable, "one"}, kTwo{LayerKind::variable, "two"};

LayerChange value(std::uint8_t byte) { return std::make_shared<const Bytes>(10, byte); }

}  // namespace

BOOST_AUTO_TEST_SUITE(written)

BOOST_AUTO_TEST_CASE(agrees_with_a_model_under_random_changes_and_commits) {
  for (std::uint64_t seed = 1; seed <= 60; seed++) {
    Pair pair(seed);
    for (int step = 0; step < 300; step++) {
      pair.change();
      pair.check();
    }
  }
}

BOOST_AUTO_TEST_CASE(metalayers_of_a_failed_commit_give_way_to_later_ones) {
  PagePool pages;
  Written written(pages);
  const LayerChange first = value(1), later = value(2);
  written.set_metalayer(kOne, first);
  written.set_metalayer(kTwo, first);
  const std::size_t memory = written.metalayers_memory();
  written.freeze_all();
  BOOST_TEST(written.metalayers_memory() == memory);
  written.set_metalayer(kTwo, later);
  const LayerChanges expected{{kOne, first}, {kTwo, later}};
  BOOST_TEST((written.metalayers() == expected));
  written.unfreeze();
  BOOST_TEST((written.metalayers() == expected));
  BOOST_TEST(written.metalayers_memory() == memory);
  written.drop_metalayers();
  BOOST_TEST(written.metalayers_memory() == 0U);
  BOOST_TEST(written.is_clean());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::fs
