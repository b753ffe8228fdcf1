// The option codec=auto: the mount chooses the settings of new files by their contents.

#include <cmath>
#include <cstring>
#include <ostream>
#include <random>

#include <boost/test/unit_test.hpp>
#include <fmt/core.h>

#include "fs/encoding/new_frame.hpp"
#include "fs/options/options.hpp"
#include "tests/fs/mount/in_process.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/npy.hpp"

namespace bloscfs::test {
namespace {

constexpr std::size_t kSize = 9 << 20;

/// Makes 4-byte counters with nearly even steps. Shuffled bytes and their differences compress to a
/// tenth of the size.
ByteVector counters() {
  ByteVector bytes(kSize);
  std::uint32_t random = 1;
  for (std::size_t i = 0; i < kSize / 4; i++) {
    random = random * 1664525 + 1013904223;
    const auto value = static_cast<std::uint32_t>(3 * i) + (random >> 24) % 3;
    std::memcpy(bytes.data() + 4 * i, &value, sizeof value);
  }
  return bytes;
}

struct FileSettings {
  std::string codec, clevel, filters, typesize;
  std::uint64_t size = 0;
  /// Leaves out `size`, which depends on when commits come.
  bool operator==(const FileSettings& other) const {
    return codec == other.codec && clevel == other.clevel && filters == other.filters &&
           typesize == other.typesize;
  }
};

std::ostream& operator<<(std::ostream& out, const FileSettings& stored) {
  return out << stored.codec << ' ' << stored.clevel << ' ' << stored.filters << ' '
             << stored.typesize << ' ' << stored.size;
}

/// Stores a new file in a mount with these options, and reads it again. Returns its settings.
FileSettings stored_with(const std::string& options, const std::string& name,
                         const ByteVector& bytes) {
  const TempDir source;
  InProcess mount(source.path(), options);
  mount.write(name, bytes);
  mount->commit_written();
  const auto attribute = [&](const std::string& of) {
    return mount.attribute(name, "user.blosc2." + of);
  };
  const FileSettings stored{attribute("codec"), attribute("clevel"), attribute("filters"),
                            attribute("typesize"), std::stoull(attribute("cbytes"))};
  mount.end();
  const bool is_array = name.ends_with(".npy");
  const std::string frame =
      is_array ? name.substr(0, name.size() - 4) + ".b2nd" : name + ".b2frame";
  BOOST_CHECK(shown_contents(source / frame) == bytes);
  return stored;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(choosing_in_a_mount)

BOOST_AUTO_TEST_CASE(new_files_get_what_suits_them) {
  const ByteVector bytes = counters();
  const FileSettings usual = stored_with("clevel=5", "a", bytes);
  for (const char* goal : {"auto", "auto:ratio", "auto:balanced", "auto:speed"})
    BOOST_TEST_CONTEXT(goal) {
      const FileSettings chosen = stored_with(std::string("codec=") + goal, "a", bytes);
      BOOST_TEST(chosen.filters == "shuffle,bytedelta");
      BOOST_TEST(chosen.typesize == "4");
      BOOST_TEST(chosen.size * 2 < usual.size);
      BOOST_TEST(chosen == stored_with(std::string("codec=") + goal, "a", bytes));
    }
  const FileSettings noise =
      stored_with("codec=auto:ratio", "a", make_contents("noise", 1, kSize, 1));
  BOOST_TEST(noise.size <= kSize + kSize / 100);
  BOOST_TEST(stored_with("codec=auto", "a", ByteVector(kSize)).codec == "zstd");
}

BOOST_AUTO_TEST_CASE(short_files_get_what_is_usual_for_the_goal) {
  const ByteVector bytes = make_contents("text", 1, 100000, 1);
  BOOST_TEST(stored_with("codec=auto:ratio", "a", bytes) == stored_with("clevel=5", "a", bytes));
  BOOST_TEST(stored_with("codec=auto", "a", bytes) == stored_with("", "a", bytes));
  BOOST_TEST(stored_with("codec=auto:speed", "a", bytes) ==
             stored_with("codec=lz4,clevel=5", "a", bytes));
}

BOOST_AUTO_TEST_CASE(items_of_arrays_are_known) {
  ByteVector file = bytes_of(npy_header("<i4", {static_cast<std::int64_t>(kSize / 4)}));
  const ByteVector values = counters();
  file.insert(file.end(), values.begin(), values.end());
  const FileSettings chosen = stored_with("codec=auto:ratio", "a.npy", file);
  BOOST_TEST(chosen.typesize == "4");
  BOOST_TEST(chosen.filters == "shuffle,bytedelta");
  // The items are larger than those that filters can split into bytes.
  ByteVector records = bytes_of(npy_header("|V300", {30000}));
  records.resize(records.size() + std::size_t{300} * 30000, 7);
  BOOST_TEST(stored_with("codec=auto:ratio", "b.npy", records).typesize == "300");
}

BOOST_AUTO_TEST_CASE(frames_keep_their_settings) {
  const TempDir source;
  {
    InProcess mount(source.path(), "codec=lz4,clevel=3");
    mount.write("a", counters());
    mount.end();
  }
  InProcess mount(source.path(), "codec=auto:ratio");
  const InProcess::File file = mount.open("a");
  file.write(5'000'000, make_contents("text", 1, 100000, 1));
  file.sync();
  BOOST_TEST(mount.attribute("a", "user.blosc2.codec") == "lz4");
  BOOST_TEST(mount.attribute("a", "user.blosc2.clevel") == "3");
}

BOOST_AUTO_TEST_CASE(nothing_else_chooses_what_is_chosen) {
  const auto message_of = [](const std::string& list) -> std::string {
    try {
      fs::parse_options({list});
      return "";
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
  };
  for (const char* list : {"codec=auto,clevel=3", "filters=none,codec=auto:speed"})
    BOOST_TEST(message_of(list).find("chooses level and filters") != std::string::npos, list);
  BOOST_TEST(message_of("codec=auto:best").find("or auto, which may have") != std::string::npos);
  // The last `codec` option counts.
  BOOST_TEST(message_of("codec=auto,codec=lz4,clevel=3") == "");
  BOOST_TEST(message_of("codec=auto,chunk_size=1M,block_size=64K") == "");
}

BOOST_AUTO_TEST_CASE(item_sizes_are_those_of_the_numbers_in_a_file) {
  constexpr std::size_t kSample = 4096;
  const auto numbers = [](auto number_at) {
    using Number = decltype(number_at(std::size_t{}));
    ByteVector bytes(kSample);
    for (std::size_t i = 0; i < kSample / sizeof(Number); i++) {
      const Number number = number_at(i);
      std::memcpy(bytes.data() + i * sizeof number, &number, sizeof number);
    }
    return bytes;
  };
  std::mt19937 random(1);
  const auto wave = [](std::size_t i) { return std::sin(double(i) / 50); };
  const auto guess = [](const ByteVector& bytes) { return fs::guess_typesize(bytes); };
  BOOST_TEST(guess(numbers([&](std::size_t i) { return std::int16_t(999 * wave(i)); })) == 2);
  BOOST_TEST(guess(numbers([](std::size_t i) { return std::int32_t(i); })) == 4);
  BOOST_TEST(guess(numbers([&](std::size_t i) { return float(wave(i)); })) == 4);
  BOOST_TEST(guess(numbers([](std::size_t i) { return std::int64_t(1000 * i); })) == 8);
  BOOST_TEST(guess(numbers([&](std::size_t i) { return wave(i); })) == 8);
  BOOST_TEST(guess(numbers([&](std::size_t) { return std::uint8_t(random()); })) == 1);
  ByteVector text;
  for (int i = 0; text.size() < kSample; i++)
    for (const char c : fmt::format("line {}: {} of {}\n", i, i * i % 97, i * 31 % 89))
      text.push_back(static_cast<std::uint8_t>(c));
  BOOST_TEST(guess(text) == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
