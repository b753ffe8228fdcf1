// Tests `info --stats`.

#include <cmath>

#include <boost/test/unit_test.hpp>

#include "tests/support/frame_writer.hpp"
#include "tests/tools/program.hpp"

namespace {

using namespace bloscfs::test;
using nlohmann::json;

template <typename Item>
json stats_of(const std::vector<Item>& items, const std::string& dtype,
              std::size_t itemsize = sizeof(Item)) {
  const TempDir home;
  const auto* const first = reinterpret_cast<const std::uint8_t*>(items.data());
  const std::size_t size = items.size() * sizeof(Item);
  const auto count = static_cast<std::int64_t>(size / itemsize);
  write_file(home / "a.b2nd",
             array_frame(ByteVector(first, first + size), {count}, dtype, itemsize));
  const ProcessResult result = b2frame({"info", "--stats", "--json", home / "a.b2nd"});
  BOOST_TEST_REQUIRE(result.ok(), result.description());
  return json::parse(result.out).at("stats");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(b2frame_statistics)

BOOST_AUTO_TEST_CASE(are_exact_for_integers) {
  const json stats = stats_of<std::int64_t>({INT64_MAX, INT64_MIN, 0, INT64_MAX - 1}, "<i8");
  BOOST_TEST(stats.at("min") == INT64_MIN);
  BOOST_TEST(stats.at("max") == INT64_MAX);
  BOOST_TEST(stats.at("zeros") == 1);
  BOOST_TEST(stats.at("count") == 4);
  BOOST_TEST(stats_of<std::uint64_t>({UINT64_MAX, 3}, "<u8").at("max") == UINT64_MAX);
  BOOST_TEST(stats_of<std::uint8_t>({0, 1, 1, 1}, "|b1").at("mean") == 0.75);
  BOOST_TEST(stats_of<std::uint16_t>({0x0100, 0x0200}, ">i2").at("max") == 2);
}

/// A sum of squares would lose all digits of these items.
BOOST_AUTO_TEST_CASE(are_sound_far_from_zero) {
  std::vector<double> items(400'000);
  for (std::size_t i = 0; i < items.size(); i++) items[i] = 1e9 + static_cast<double>(i % 2);
  const json stats = stats_of(items, "<f8");
  BOOST_TEST(std::fabs(stats.at("mean").get<double>() - (1e9 + 0.5)) < 1e-6);
  BOOST_TEST(std::fabs(stats.at("std").get<double>() - 0.5) < 1e-9);
  BOOST_TEST(stats.at("min") == 1e9);
}

BOOST_AUTO_TEST_CASE(count_nans_apart) {
  const json stats = stats_of<float>({NAN, 1, -0.0F, 3, NAN}, "<f4");
  BOOST_TEST(stats.at("nan") == 2);
  BOOST_TEST(stats.at("zeros") == 1);
  BOOST_TEST(stats.at("min") == 0.0);
  BOOST_TEST(stats.at("max") == 3.0);
  BOOST_TEST(std::fabs(stats.at("mean").get<double>() - 4.0 / 3) < 1e-15);
  BOOST_TEST(!stats_of<float>({NAN}, "<f4").contains("min"));
  BOOST_TEST(stats_of<float>({INFINITY, 1}, "<f4").at("max") == "inf");
  BOOST_TEST(stats_of<std::uint16_t>({0x3c00, 0x7e00}, "<f2").at("mean") == 1.0);
}

BOOST_AUTO_TEST_CASE(of_records_are_told_for_each_field_of_numbers) {
  const json stats = stats_of<std::int32_t>(
      {1, 5, 'x', 3, 7, 'y'}, "[('a', '<i4'), ('b', [('c', '<i4')]), ('t', '|S4')]", 12);
  BOOST_TEST(stats.at("a").at("mean") == 2.0);
  BOOST_TEST(stats.at("b.c").at("max") == 7);
  BOOST_TEST(!stats.contains("t"));
  BOOST_TEST(stats_of<std::int64_t>({1}, "<M8[s]").is_null());
}

BOOST_AUTO_TEST_CASE(text_says_why_there_are_none) {
  const TempDir home;
  Cut cut;
  cut.typesize = 12;
  const std::string flat = (home / "f.b2frame").string(), dates = (home / "d.b2nd").string();
  write_file(home / "f.b2frame", flat_frame(ByteVector(24, 1), cut));
  write_file(home / "d.b2nd", array_frame(ByteVector(8, 1), {1}, "<M8[s]", 8));
  BOOST_TEST(
      b2frame({"info", "--stats", flat}).out.find("none: items of 12 bytes are no numbers\n") !=
      std::string::npos);
  BOOST_TEST(b2frame({"info", "--stats", dates})
                 .out.find("none: items of the type <M8[s] are no numbers\n") != std::string::npos);
  const ProcessResult result = b2frame({"info", "--stats", "--json", flat});
  BOOST_TEST(json::parse(result.out).at("stats").is_null());
}

BOOST_AUTO_TEST_CASE(are_told_of_slices) {
  const TempDir home;
  const std::string file = (home / "a.b2nd").string();
  write_file(file, array_frame(ByteVector{1, 2, 3, 4, 5, 6}, {2, 3}, "|u1", 1));
  const ProcessResult result = b2frame({"info", "--stats", "--json", file + "[:, 1]"});
  BOOST_TEST_REQUIRE(result.ok(), result.description());
  const json told = json::parse(result.out);
  BOOST_TEST(told.at("stats").at("mean") == 3.5);
  BOOST_TEST(told.at("stats").at("count") == 2);
  BOOST_TEST(told.at("shape") == json({2, 3}));
  const ProcessResult refused = b2frame({"info", file + "[0]"});
  BOOST_TEST(refused.status == 2);
  BOOST_TEST(refused.err.find("a slice goes with --stats") != std::string::npos, refused.err);
}

BOOST_AUTO_TEST_SUITE_END()
