// Tests `advise`, which finds settings that suit a file. They are options of `create`, and must
// have the effect that `advise` predicts.

#include <algorithm>
#include <cmath>
#include <map>

#include <boost/algorithm/string/split.hpp>
#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include "tests/support/npy.hpp"
#include "tests/tools/program.hpp"

namespace {

using namespace bloscfs::test;
using Json = nlohmann::json;

/// Returns a sine wave of 32-bit floats that are rounded to two decimals.
std::string rounded_wave(std::size_t count) {
  std::string bytes;
  for (std::size_t i = 0; i < count; i++) {
    const auto value =
        static_cast<float>(std::round(1500 * std::sin(static_cast<double>(i) / 300)) / 100);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return bytes;
}

Arguments words(const std::string& text) {
  Arguments parts;
  boost::algorithm::split(parts, text, [](char c) { return c == ' '; });
  return parts;
}

Json advice_on(const Arguments& arguments) {
  const ProcessResult result = b2frame(Arguments{"advise", "--json"} + arguments);
  BOOST_TEST_REQUIRE(result.ok(), result.description());
  return Json::parse(result.out);
}

std::string at_mark(const Json& advice, const std::string& mark) {
  for (const Json& one : advice["settings"])
    for (const Json& other : one["marks"])
      if (other == mark) return one["options"];
  return "";
}

}  // namespace

BOOST_AUTO_TEST_SUITE(b2frame_advise)

BOOST_AUTO_TEST_CASE(options_store_a_file_as_small_as_they_promise) {
  const TempDir home;
  const std::string contents = rounded_wave(200'000), file = (home / "wave").string();
  write_file(file, contents);
  const Json advice = advice_on({file});
  BOOST_TEST(advice["contents"] == contents.size());
  BOOST_TEST(advice["sampled"] == contents.size());
  double last = 1e9;
  for (const Json& one : advice["settings"]) {
    const double ratio = one["ratio"];
    BOOST_TEST(ratio <= last);
    last = ratio;
    BOOST_TEST(one["encode_mb_s"].get<double>() > 0);
    BOOST_TEST(one["decode_mb_s"].get<double>() > 0);
    const std::string options = one["options"], frame = (home / "wave.b2frame").string();
    const ProcessResult made =
        b2frame(Arguments{"create"} + words(options) + Arguments{file, "-o", frame});
    BOOST_TEST_REQUIRE(made.ok(), made.description());
    BOOST_TEST(extracted(frame) == contents);
    const double stored = info_of(frame)["cbytes"];
    BOOST_TEST(std::abs(static_cast<double>(contents.size()) / stored / ratio - 1) < 0.15,
               options << " gives " << static_cast<double>(contents.size()) / stored << " and not "
                       << ratio);
  }
  // On a busy machine `advise` may leave out other settings.
  BOOST_TEST(at_mark(advice, "usual").starts_with("--codec zstd --clevel 3"));
  BOOST_TEST(advice["settings"][0]["front"] == true);
}

BOOST_AUTO_TEST_CASE(finds_the_size_of_records_and_knows_that_of_an_array) {
  const TempDir home;
  std::string records;
  for (int i = 0; i < 40'000; i++) {
    const std::string id = std::to_string(1'000'000 + i * 37);
    records += id + std::string(1, static_cast<char>(i % 7)) + std::string(3, '\0') + id.substr(3) +
               std::string("abcde");
  }
  write_file(home / "records", records);
  const std::string frame = (home / "records.b2frame").string();
  // Hardly any bytes are left of these records. The goal `ratio` must also choose well then.
  std::map<std::string, double> stored;
  for (const std::string goal : {"ratio", "balanced", "speed"}) {
    const ProcessResult made =
        b2frame({"create", "--codec", "auto:" + goal, (home / "records").string(), "-o", frame});
    BOOST_TEST_REQUIRE(made.ok(), made.description());
    BOOST_TEST(info_of(frame)["typesize"] == 20, goal);
    stored[goal] = info_of(frame)["cbytes"];
  }
  BOOST_TEST(stored["ratio"] <= stored["balanced"]);
  BOOST_TEST(stored["ratio"] <= stored["speed"]);
  // Settings are chosen by a sample, which cannot show differences of 1 % of the contents.
  BOOST_TEST(stored["balanced"] <= stored["speed"] + static_cast<double>(records.size()) / 100);
  write_file(home / "wave.npy", npy_header("<f4", {100, 300}) + rounded_wave(30'000));
  const Json array = advice_on({(home / "wave.npy").string()});
  BOOST_TEST(array["contents"] == 120'000);
  for (const Json& one : array["settings"])
    BOOST_TEST(one["options"].get<std::string>().find("--typesize") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(compares_with_what_a_frame_has_now) {
  const TempDir home;
  write_file(home / "wave", rounded_wave(50'000));
  const std::string frame = (home / "wave.b2frame").string();
  BOOST_TEST(b2frame({"create", "--codec", "zlib", "--clevel", "2", "--filters", "bitshuffle",
                      "--typesize", "4", (home / "wave").string(), "-o", frame})
                 .ok());
  const Json advice = advice_on({frame});
  BOOST_TEST(at_mark(advice, "now").starts_with("--codec zlib --clevel 2 --filters bitshuffle"));
  BOOST_TEST(at_mark(advice, "usual").empty());
  BOOST_TEST(advice["ratio"].get<double>() > 1);
  const ProcessResult table = b2frame({"advise", frame});
  BOOST_TEST(table.ok(), table.description());
  BOOST_TEST(table.out.find("OPTIONS OF CREATE") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(padding_of_an_array_does_not_count_as_contents) {
  const TempDir home;
  const std::string array = (home / "wave.npy").string(), frame = (home / "wave.b2nd").string();
  write_file(array, npy_header("<f4", {101, 101}) + rounded_wave(101 * 101));
  BOOST_TEST(b2frame({"create", "--chunk-shape", "100,100", array, "-o", frame}).ok());
  const Json info = info_of(frame), advice = advice_on({frame});
  // Four chunks of 100 x 100 items, three of which are mostly padding.
  BOOST_TEST(info["nbytes"].get<int>() >= 4 * 100 * 100 * 4);
  BOOST_TEST(advice["contents"] == 101 * 101 * 4);
  BOOST_TEST(advice["ratio"].get<double>() == 101 * 101 * 4 / info["cbytes"].get<double>(),
             boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(all_settings_have_names_and_sizes) {
  const TempDir home;
  const std::string file = (home / "wave").string(), frame = (home / "wave.b2frame").string();
  write_file(file, rounded_wave(50'000));
  BOOST_TEST(b2frame({"create", "--codec", "zlib", "--typesize", "4", file, "-o", frame}).ok());
  const Json advice = advice_on({frame});
  BOOST_TEST(advice["stored"] == info_of(frame)["cbytes"]);
  std::map<std::string, double> ratios;
  for (const Json& one : advice["settings"]) {
    BOOST_TEST(
        one["size"].get<double>() * one["ratio"].get<double>() == advice["contents"].get<double>(),
        boost::test_tools::tolerance(0.01));
    BOOST_TEST(ratios.emplace(one["name"], one["ratio"]).second, one["name"]);
  }
  for (const char* mark : {"now", "smallest", "fastest-write", "fastest-read"})
    BOOST_TEST(!at_mark(advice, mark).empty(), mark);
  BOOST_TEST(at_mark(advice, "smallest") == advice["settings"][0]["options"].get<std::string>());
  const ProcessResult shown = b2frame({"advise", frame});
  for (const char* text : {" KiB", "(200000 bytes), stored now in ", "WRITE MB/s",
                           "\nnow:           what the frame is stored with\n"})
    BOOST_TEST(shown.out.find(text) != std::string::npos, shown.out);
}

BOOST_AUTO_TEST_CASE(frames_are_stored_anew_with_the_settings_of_a_name) {
  const TempDir home;
  const std::string contents = rounded_wave(50'000);
  const std::string file = (home / "wave").string(), frame = (home / "wave.b2frame").string();
  write_file(file, contents);
  // Runs `advise` with these arguments. Returns the codec that the frame has afterwards.
  const auto codec_after = [&](const Arguments& words) {
    BOOST_TEST(b2frame({"create", "--codec", "zlib", "--typesize", "4", file, "-o", frame}).ok());
    const auto before = fs_std::file_size(frame);
    const ProcessResult result = b2frame(Arguments{"advise"} + words);
    BOOST_TEST_REQUIRE(result.ok(), result.description());
    const std::string codec = info_of(frame)["codec"];
    const bool is_new = result.out.find(frame + ": stored anew as ") != std::string::npos;
    BOOST_TEST(is_new == (codec != "zlib"), result.out);
    if (is_new)
      for (const auto size : {before, fs_std::file_size(frame)})
        BOOST_TEST(result.out.find("(" + std::to_string(size) + " bytes) ") != std::string::npos,
                   result.out);
    BOOST_TEST(extracted(frame) == contents);
    return codec;
  };
  BOOST_TEST(codec_after({"--apply", "smallest", frame}) == "zstd");
  BOOST_TEST(codec_after({frame, "--apply", "fastest-write"}) == "lz4");
  BOOST_TEST(codec_after({"--apply", frame}) != "zlib");
  BOOST_TEST(codec_after({frame, "--apply", "now"}) == "zlib");
  const ByteVector bytes = read_file(frame);
  const ProcessResult unknown = b2frame({"advise", "--apply", "smalest", frame});
  BOOST_TEST(unknown.status == 1);
  BOOST_TEST(unknown.err.starts_with("b2frame: " + frame + ": no settings are called smalest"),
             unknown.err);
  BOOST_TEST(b2frame({"advise", "--apply", file}).status == 1);
  BOOST_TEST(b2frame({"advise", "--apply"}).status == 2);
  BOOST_TEST(b2frame({"advise", "--json", "--apply", frame}).status == 2);
  // `convert` refuses this too: the other name would keep the old frame.
  fs_std::create_hard_link(frame, home / "other.b2frame");
  const ProcessResult linked = b2frame({"advise", "--apply", "smallest", frame});
  BOOST_TEST(linked.status == 1);
  BOOST_TEST(linked.err.find("hard links") != std::string::npos, linked.err);
  BOOST_TEST(read_file(frame) == bytes);
}

BOOST_AUTO_TEST_CASE(draws_a_point_in_both_diagrams_for_each) {
  const TempDir home;
  const std::string file = (home / "<wave>").string(), picture = (home / "wave.svg").string();
  write_file(file, rounded_wave(50'000));
  const Json advice = advice_on({file, "--picture", picture});
  const ByteVector bytes = read_file(picture);
  const std::string svg(bytes.begin(), bytes.end());
  std::size_t circles = 0;
  for (std::size_t at = 0; (at = svg.find("<circle", at)) != std::string::npos; at++) circles++;
  BOOST_TEST(circles == 2 * advice["settings"].size());
  for (const Json& one : advice["settings"]) {
    const std::string label = ">" + one["name"].get<std::string>() + "</text>";
    std::size_t labels = 0;
    for (std::size_t at = 0; (at = svg.find(label, at)) != std::string::npos; at++) labels++;
    BOOST_TEST(labels == 3u, label);  // in both diagrams and in the list below them
  }
  BOOST_TEST(svg.find("&lt;wave&gt;") != std::string::npos);
  BOOST_TEST(svg.find("prefers-color-scheme:dark") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(settings_are_chosen_by_create_where_the_codec_is_auto) {
  const TempDir home;
  const std::string contents = rounded_wave(300'000), file = (home / "wave").string();
  write_file(file, contents);
  const auto created = [&](const Arguments& options) {
    const std::string frame = (home / "wave.b2frame").string();
    const ProcessResult made =
        b2frame(Arguments{"create"} + options + Arguments{file, "-o", frame});
    BOOST_TEST_REQUIRE(made.ok(), made.description());
    BOOST_TEST(extracted(frame) == contents);
    return info_of(frame);
  };
  const Json ratio = created({"--codec", "auto:ratio"}), again = created({"--codec", "auto:ratio"});
  for (const char* field : {"codec", "clevel", "filters", "typesize", "blocksize", "cbytes"})
    BOOST_TEST(ratio[field] == again[field], field);
  const auto cbytes = [](const Json& info) { return info["cbytes"].get<double>(); };
  const Json speed = created({"--codec", "auto:speed"}), balanced = created({"--codec", "auto"});
  BOOST_TEST(cbytes(ratio) <= cbytes(balanced));
  BOOST_TEST(cbytes(balanced) <= cbytes(speed));
  BOOST_TEST(cbytes(ratio) <=
             1.02 * cbytes(created({"--clevel", "5", "--filters", "shuffle", "--typesize", "4"})));
  BOOST_TEST(balanced["cbytes"] == created({"--codec", "auto:balanced"})["cbytes"]);
  BOOST_TEST(created({"--codec", "auto", "--typesize", "8"})["typesize"] == 8);
  BOOST_TEST(created({"--codec", "auto:ratio", "--block-size", "64K"})["blocksize"] <= 65536);
  for (const Arguments& bad : {Arguments{"--codec", "auto", "--clevel", "3"},
                               {"--codec", "auto:x"},
                               {"--codec", "auto", "--dict"}})
    BOOST_TEST(
        b2frame(Arguments{"create"} + bad + Arguments{file, "-o", (home / "no").string()}).status ==
        2);
  write_file(home / "zeros", std::string(100'000, '\0'));
  BOOST_TEST(b2frame({"create", "--codec", "auto:speed", (home / "zeros").string(), "-o",
                      (home / "z").string()})
                 .ok());
  BOOST_TEST(info_of(home / "z")["codec"] == "zstd");
}

BOOST_AUTO_TEST_CASE(shows_what_create_chooses) {
  const TempDir home;
  const std::string file = (home / "a.npy").string(), frame = (home / "a.b2nd").string();
  std::string noisy = rounded_wave(64 * 1024);
  for (std::size_t i = 0; i < noisy.size(); i += 4) noisy[i] = static_cast<char>(i * i >> 5);
  write_file(file, npy_header("<f4", {256, 256}) + noisy);
  const std::string marked = at_mark(advice_on({file}), "auto");
  BOOST_TEST_REQUIRE(b2frame({"create", "--codec", "auto", file, "-o", frame}).ok());
  const Json info = info_of(frame);
  const std::string start = fmt::format("--codec {} --clevel {} ", info["codec"].get<std::string>(),
                                        info["clevel"].get<int>());
  BOOST_TEST(marked.starts_with(start), marked << " and not " << start);
  const std::string filters = info["filters"].dump();
  for (const char* filter : {"shuffle", "bitshuffle", "bytedelta"})
    BOOST_TEST(
        (marked.find(filter) != std::string::npos) == (filters.find(filter) != std::string::npos),
        marked << " and " << filters);
}

BOOST_AUTO_TEST_CASE(says_why_there_is_nothing_to_advise) {
  const TempDir home;
  write_file(home / "empty", std::string());
  const std::string empty = (home / "empty").string();
  const ProcessResult nothing = b2frame({"advise", empty});
  BOOST_TEST(nothing.status == 1);
  BOOST_TEST(is_message_about(nothing.err, empty), nothing.err);
  BOOST_TEST(b2frame({"advise", home.path().string()}).status == 1);
  BOOST_TEST(b2frame({"advise", (home / "none").string()}).status == 1);
  write_file(home / "x.npy", npy_header("<f4", {3}) + rounded_wave(3));
  BOOST_TEST(b2frame({"advise", "--typesize", "8", (home / "x.npy").string()}).status == 2);
  BOOST_TEST(b2frame({"advise", "--picture", (home / "p").string(), empty, empty}).status == 2);
}

BOOST_AUTO_TEST_SUITE_END()
