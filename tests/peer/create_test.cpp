// C-Blosc2 reads what `b2frame create` has made.

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "codec/compressor/codec_table.hpp"
#include "tests/peer/created_frame.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/sanitizers.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;
using nlohmann::json;

constexpr int kCombinations = kSanitized ? 50 : 300;

/// Files for metalayers, and the values that the metalayers must have.
class Layers {
 public:
  explicit Layers(const TempDir& scratch) {
    write_file(scratch / "facts.json", std::string_view(R"({"unit": "K"})"));
    write_file(scratch / "raw", std::string_view("\x01\x02\x03"));
    for (const char* option : {"--meta", "--vlmeta"})
      for (const auto& [name, file] : {std::pair{"facts", "facts.json"}, {"raw", "raw"}}) {
        options_.emplace_back(option);
        options_.push_back(std::string(name) + "=" + (scratch / file).string());
      }
  }
  const Arguments& options() const { return options_; }
  static void check(const json& found) {
    BOOST_TEST(found.at("facts") == "81a4756e6974a14b");
    BOOST_TEST(found.at("raw") == "010203");
  }

 private:
  Arguments options_;
};

json info_of(const fs_std::path& frame) {
  const ProcessResult result = run({b2frame_program(), "info", "--json", frame.string()});
  if (!result.ok()) throw std::runtime_error(result.description());
  return json::parse(result.out);
}

void check_facts(const json& facts, const json& info) {
  for (const char* name : {"clevel", "typesize", "chunksize", "nbytes", "nchunks"})
    BOOST_TEST(facts.at(name) == info.at(name), name << " " << facts << " " << info);
  if (!info.contains("shape") || info.at("shape").empty()) return;
  for (const char* name : {"shape", "chunkshape", "blockshape"})
    BOOST_TEST(facts.at(name) == info.at(name), name);
}

void check_creation(const Creation& creation, const TempDir& scratch) {
  const Layers layers(scratch);
  const auto frame = scratch / "frame", out = scratch / "out";
  create_frame(creation, frame, scratch / "input", layers.options());
  const json facts = read_by_peer(frame, out);
  BOOST_TEST((read_file(out) == contents_in_frame(creation)));
  Layers::check(facts.at("meta"));
  Layers::check(facts.at("vlmeta"));
  check_facts(facts, info_of(frame));
}

/// Makes an array with options that depend on its shape.
Creation shaped_creation(const std::string& dtype, const std::vector<std::int64_t>& shape,
                         const Arguments& options) {
  Creation creation;
  creation.is_array = true;
  creation.shape = shape;
  creation.options = options;
  std::size_t size = dtype.back() == '1' ? 1 : dtype.back() == '4' ? 4 : 8;
  for (const std::int64_t extent : shape) size *= static_cast<std::size_t>(extent);
  const std::string header = npy_header(dtype, shape);
  creation.input = make_contents(dtype[1] == 'f' ? "floats" : "text", 3, size, 4);
  creation.input.insert(creation.input.begin(), header.begin(), header.end());
  return creation;
}

ByteVector extracted(const fs_std::path& frame, const fs_std::path& out) {
  const ProcessResult result =
      run({b2frame_program(), "extract", frame.string(), "-o", out.string()});
  if (!result.ok()) throw std::runtime_error(result.description());
  return read_file(out);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(peer_creation)

BOOST_AUTO_TEST_CASE(blosc2_reads_arrays_by_their_shape, *precondition(needs_peer)) {
  std::vector<Creation> creations = {
      shaped_creation("|u1", {301, 203}, {"--codec", "ndlz:4"}),
      shaped_creation("|u1", {301, 203}, {"--codec", "ndlz:8", "--block-shape", "100,70"}),
      shaped_creation("<i4", {90, 70}, {"--codec", "ndlz:8", "--chunk-shape", "40,30"}),
      shaped_creation("<f8", {20, 30, 10},
                      {"--filters", "ndcell:3,shuffle", "--block-shape", "7,8,9"}),
      shaped_creation("<f4", {90, 70}, {"--filters", "ndmean:4", "--chunk-shape", "40,30"}),
      shaped_creation("<f8", {200}, {"--filters", "ndmean:7,shuffle", "--codec", "lz4"})};
  if (codec::can_compress(codec::CodecId::zfp_rate))
    for (const char* codec : {"zfp_accuracy:-3", "zfp_precision:20", "zfp_rate:40"})
      creations.push_back(shaped_creation("<f8", {97, 101}, {"--codec", codec}));
  for (const Creation& creation : creations) {
    const TempDir scratch;
    BOOST_TEST_CONTEXT(describe(creation)) {
      create_frame(creation, scratch / "frame", scratch / "input");
      const ByteVector ours = extracted(scratch / "frame", scratch / "ours");
      read_by_peer(scratch / "frame", scratch / "theirs");
      BOOST_TEST((read_file(scratch / "theirs") == ours));
    }
  }
}

/// Contents of several kinds, which suit different item sizes, filters, codecs and blocks.
struct Kind {
  ByteVector contents;
  int typesize = 1;
};
std::vector<Kind> kinds_to_choose_for() {
  constexpr int kItems = 300'000;
  std::vector<std::int64_t> times;
  std::vector<float> rounded;
  std::string records, lines;
  for (int i = 0; i < kItems; i++) {
    times.push_back(1'700'000'000'000 + 20 * i + i % 7);
    rounded.push_back(std::round(std::sin(0.001F * static_cast<float>(i)) * 2000) / 100);
    if (i % 5 == 0) lines += fmt::format("{},{},{:.2f}\n", i, i % 13, rounded.back());
    if (i % 10 == 0) records += fmt::format("{:08x}{:04}{:>8}", i * 37, i % 97, "abc");
  }
  const auto bytes_of = [](const auto& items) {
    const auto* const first = reinterpret_cast<const std::uint8_t*>(items.data());
    return ByteVector(first, first + items.size() * sizeof items[0]);
  };
  return {{bytes_of(times), 8},
          {bytes_of(rounded), 4},
          {bytes_of(records), 20},
          {bytes_of(lines), 1},
          {make_contents("noise", 1, 3'000'000, 1), 1}};
}

/// The chosen settings may take at most two percent more than the usual strong settings, for which
/// the item size is known.
BOOST_AUTO_TEST_CASE(blosc2_opens_what_was_chosen_and_it_is_small, *precondition(needs_peer)) {
  for (const auto& [contents, typesize] : kinds_to_choose_for()) {
    const TempDir scratch;
    const auto size_with = [&, &contents = contents](const Arguments& options) {
      create_frame({contents, {}, false, options}, scratch / "frame", scratch / "input");
      return static_cast<double>(fs_std::file_size(scratch / "frame"));
    };
    const double usual = size_with({"--codec", "zstd", "--clevel", "5", "--filters", "shuffle",
                                    "--typesize", std::to_string(typesize)});
    for (const std::string goal : {"auto:speed", "auto:balanced", "auto:ratio"}) {
      fs_std::remove(scratch / "frame");
      const double chosen = size_with({"--codec", goal});
      BOOST_TEST_CONTEXT(goal << " " << info_of(scratch / "frame")) {
        if (goal == "auto:ratio") BOOST_TEST(chosen <= 1.02 * usual);
        read_by_peer(scratch / "frame", scratch / "theirs");
        BOOST_TEST((read_file(scratch / "theirs") == contents));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(blosc2_opens_what_create_made, *precondition(needs_peer)) {
  const std::uint64_t seed = creation_seed();
  std::mt19937_64 random(seed);
  for (int i = 0; i < kCombinations; ++i) {
    const TempDir scratch;
    const Creation creation = creation_for_peer(random, i % 2 != 0);
    BOOST_TEST_CONTEXT("seed " << seed << ": " << describe(creation)) {
      try {
        check_creation(creation, scratch);
      } catch (const std::runtime_error& error) {
        BOOST_ERROR(error.what());
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
