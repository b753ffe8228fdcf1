// Runs `b2frame create` on all kinds of contents, and `b2frame extract` on the results.

#include <map>
#include <random>
#include <tuple>

#include <boost/test/unit_test.hpp>
#include <fmt/core.h>

#include "codec/compressor/codec_table.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/sanitizers.hpp"
#include "tests/tools/program.hpp"
#include "tests/tools/random_creation.hpp"

namespace bloscfs::test {
namespace {

using nlohmann::json;

constexpr int kCombinations = kSanitized ? 10 : 60;

std::string text_of(const ByteVector& bytes) { return {bytes.begin(), bytes.end()}; }

ProcessResult create_from_stdin(const std::string& input, const Arguments& options,
                                const fs_std::path& output) {
  ProcessSettings settings;
  settings.input = input;
  return run(Arguments{B2FRAME, "create"} + options + Arguments{"-", "-o", output.string()},
             settings);
}

/// Like create(), but the command reads from a pipe, which cannot be mapped.
ProcessResult create_from_pipe(const fs_std::path& input, const Arguments& options,
                               const fs_std::path& output) {
  std::string words;
  for (const std::string& option : options) words += " " + option;
  return run({"sh", "-c",
              "cat '" + input.string() + "' | " + B2FRAME + " create" + words + " - -o '" +
                  output.string() + "'"});
}

void check_verified(const fs_std::path& frame) {
  const ProcessResult result = b2frame({"verify", frame.string()});
  BOOST_TEST(result.ok(), result.description());
}

/// Returns the bytes of a frame, or of all files of a sparse frame by their names.
std::map<std::string, ByteVector> stored_bytes(const fs_std::path& frame) {
  if (!fs_std::is_directory(frame)) return {{"", read_file(frame)}};
  std::map<std::string, ByteVector> files;
  for (const auto& entry : fs_std::directory_iterator(frame))
    files[entry.path().filename()] = read_file(entry.path());
  return files;
}

std::int64_t file_count(const fs_std::path& directory) {
  return std::distance(fs_std::directory_iterator(directory), fs_std::directory_iterator());
}

ByteVector noise(std::size_t size) { return make_contents("noise", 7, size, 1); }

}  // namespace

BOOST_AUTO_TEST_SUITE(b2frame_create)

BOOST_AUTO_TEST_CASE(gives_back_what_went_in_whatever_the_options) {
  const std::uint64_t seed = creation_seed();
  std::mt19937_64 random(seed);
  const TempDir scratch;
  const auto input = scratch / "input", frame = scratch / "file", piped = scratch / "piped";
  for (int i = 0; i < 2 * kCombinations; ++i) {
    const Creation creation =
        i % 2 == 0 ? random_flat_creation(random) : random_array_creation(random);
    BOOST_TEST_CONTEXT("seed " << seed << ": " << describe(creation)) {
      write_file(input, creation.input);
      const ProcessResult result =
          b2frame(Arguments{"create"} + creation.options + Arguments{input, "-o", frame});
      BOOST_TEST_REQUIRE(result.ok(), result.description());
      BOOST_TEST((extracted(frame, creation.is_array) == text_of(creation.input)));
      if (creation.is_array) BOOST_TEST(info_of(frame).at("shape") == json(creation.shape));
      check_verified(frame);
      const ProcessResult again = create_from_pipe(input, creation.options, piped);
      BOOST_TEST_REQUIRE(again.ok(), again.description());
      BOOST_TEST((stored_bytes(piped) == stored_bytes(frame)));
    }
  }
  BOOST_TEST(file_count(scratch.path()) == 3);
}

BOOST_AUTO_TEST_CASE(gives_the_same_bytes_whatever_the_threads) {
  const TempDir scratch;
  write_file(scratch / "input", make_contents("floats", 3, 3'000'000, 4));
  for (const Arguments& options :
       {Arguments{"--codec", "zstd", "--checksum"}, Arguments{"--codec", "lz4", "--sparse"}}) {
    std::map<std::string, ByteVector> first;
    for (const char* threads : {"1", "2", "5"}) {
      const auto frame = scratch / threads;
      BOOST_TEST(b2frame(Arguments{"create", "--chunk-size", "100K", "--threads", threads} +
                         options + Arguments{scratch / "input", "-o", frame})
                     .ok());
      if (first.empty()) first = stored_bytes(frame);
      BOOST_TEST((stored_bytes(frame) == first));
    }
  }
}

BOOST_AUTO_TEST_CASE(stores_more_chunks_than_are_committed_at_once) {
  const TempDir scratch;
  const ByteVector contents = noise(150000 * 16);
  write_file(scratch / "input", contents);
  BOOST_TEST(b2frame({"create", "--chunk-size", "16", "--checksum", scratch / "input", "-o",
                      scratch / "x.b2frame"})
                 .ok());
  BOOST_TEST(info_of(scratch / "x.b2frame").at("nchunks") == 150000);
  BOOST_TEST((extracted(scratch / "x.b2frame") == text_of(contents)));
  check_verified(scratch / "x.b2frame");
}

BOOST_AUTO_TEST_CASE(gives_the_same_bytes_for_a_file_as_for_a_pipe) {
  const TempDir scratch;
  const ByteVector contents = make_contents("floats", 5, 5'000'004, 4);
  write_file(scratch / "input", contents);
  const std::string frame = scratch / "file", rest = scratch / "rest", piped = scratch / "piped";
  // Some chunks are mapped, others are not. The second input begins within a page.
  for (const std::string options :
       {"--filters shuffle --chunk-size 1M", "--filters shuffle --chunk-size 1000000",
        "--filters none --chunk-size 1M", "--filters delta,shuffle --chunk-size 2M",
        "--filters bitshuffle --chunk-size 3M", "--filters shuffle --chunk-size 100K"}) {
    const std::string create = B2FRAME " create --typesize 4 " + options + " - -o ";
    const std::string script = "cd '" + scratch.path().string() + "'; " + create +
                               "file <input; (" + "dd bs=1000 count=5 of=/dev/null 2>/dev/null; " +
                               create + "rest) <input; tail -c +5001 input | " + create + "piped";
    BOOST_TEST(run({"sh", "-c", script}).ok());
    BOOST_TEST((extracted(frame) == text_of(contents)), options);
    BOOST_TEST((extracted(rest) == text_of(contents).substr(5000)), options);
    BOOST_TEST((stored_bytes(piped) == stored_bytes(rest)), options);
  }
}

BOOST_AUTO_TEST_CASE(reads_the_file_that_stdin_is) {
  const TempDir scratch;
  const std::string contents = text_of(noise(100000));
  BOOST_TEST(create_from_stdin(contents, {}, scratch / "x.b2frame").ok());
  BOOST_TEST((extracted(scratch / "x.b2frame") == contents));
  const std::string npy = npy_header("<i4", {50, 500}) + contents;
  for (const char* shape : {"50,100", "10,500"}) {
    BOOST_TEST(create_from_stdin(npy, {"--chunk-shape", shape}, scratch / "a.b2nd").ok());
    BOOST_TEST((extracted(scratch / "a.b2nd", true) == npy));
  }
}

BOOST_AUTO_TEST_CASE(stores_no_bytes_for_zeros_and_nans) {
  const TempDir scratch;
  write_file(scratch / "zeros", ByteVector(1 << 20));
  write_file(scratch / "nans", make_contents("nan", 1, 1 << 20, 4));
  for (const auto& [name, kind] : {std::pair{"zeros", "zero"}, {"nans", "nan"}}) {
    BOOST_TEST(b2frame({"create", "--chunk-size", "64K", "--typesize", "4", scratch / name, "-o",
                        scratch / "x.b2frame"})
                   .ok());
    BOOST_TEST(info_of(scratch / "x.b2frame").at("chunks").at("special").at(kind) == 16);
    BOOST_TEST(fs_std::file_size(scratch / "x.b2frame") < 300U);
  }
}

BOOST_AUTO_TEST_CASE(guesses_the_size_of_items) {
  const TempDir scratch;
  for (const auto& [kind, typesize] : {std::pair{"floats", 8}, {"floats", 4}, {"text", 1}}) {
    write_file(scratch / "input",
               make_contents(kind, 5, 500'000, static_cast<std::size_t>(typesize)));
    BOOST_TEST(b2frame({"create", scratch / "input", "-o", scratch / "x.b2frame"}).ok());
    BOOST_TEST(info_of(scratch / "x.b2frame").at("typesize") == typesize);
  }
}

BOOST_AUTO_TEST_CASE(stores_npy_files_as_they_are_when_told_so) {
  const TempDir scratch;
  const std::string npy = npy_header("<i4", {10, 10}) + std::string(400, 'x');
  write_file(scratch / "a.npy", npy);
  BOOST_TEST(b2frame({"create", "--flat", scratch / "a.npy", "-o", scratch / "x.b2frame"}).ok());
  BOOST_TEST((extracted(scratch / "x.b2frame") == npy));
  BOOST_TEST(!info_of(scratch / "x.b2frame").contains("shape"));
}

BOOST_AUTO_TEST_CASE(makes_arrays_of_up_to_16_dimensions) {
  const TempDir scratch;
  const std::vector<std::int64_t> shape(16, 2);
  const std::string npy = npy_header("<i2", shape) + text_of(make_contents("ramp", 1, 131072, 2));
  write_file(scratch / "a.npy", npy);
  for (const Arguments& options :
       {Arguments{}, Arguments{"--chunk-shape", "1,2,2,1,2,2,1,2,2,1,2,2,1,2,2,2"}}) {
    BOOST_TEST(b2frame(Arguments{"create"} + options +
                       Arguments{scratch / "a.npy", "-o", scratch / "a.b2nd"})
                   .ok());
    BOOST_TEST(info_of(scratch / "a.b2nd").at("shape") == json(shape));
    BOOST_TEST((extracted(scratch / "a.b2nd", true) == npy));
    check_verified(scratch / "a.b2nd");
  }
}

BOOST_AUTO_TEST_CASE(arrays_in_fortran_order_are_shown_as_they_were) {
  const TempDir scratch;
  const auto npy = scratch / "a.npy", frame = scratch / "a.b2nd", copy = scratch / "b.b2nd";
  const std::vector<std::int64_t> shape = {7, 30, 11};
  const std::string input =
      npy_header("<i4", shape, true) + text_of(make_contents("ramp", 3, 7 * 30 * 11 * 4, 4));
  write_file(npy, input);
  for (const Arguments& options : std::vector<Arguments>{
           {}, {"--chunk-shape", "3,8,5", "--block-shape", "2,4,5"}, {"--chunk-size", "2000"}}) {
    const ProcessResult made = b2frame(Arguments{"create"} + options + Arguments{npy, "-o", frame});
    BOOST_TEST_REQUIRE(made.ok(), made.description());
    BOOST_TEST(info_of(frame).at("shape") == json(shape));
    BOOST_TEST((extracted(frame, true) == input));
    // Item [3, 2, 4]. The ramp counts items in the file's order, in which the first axis is the
    // fastest.
    const std::size_t at = input.size() - 7 * 30 * 11 * 4 + 4 * (3 + 7 * (2 + 30 * 4));
    const ProcessResult item = b2frame({"cat", frame.string() + "[3, 2, 4]"});
    BOOST_TEST((item.out == input.substr(at, 4)), item.description());
    check_verified(frame);
    BOOST_TEST(b2frame({"convert", "--chunk-shape", "7,6,11", frame, "-o", copy}).ok());
    BOOST_TEST((extracted(copy, true) == input));
    BOOST_TEST(b2frame({"diff", frame, copy}).ok());
    BOOST_TEST(b2frame({"convert", "--in-place", copy}).ok());
    BOOST_TEST((extracted(copy, true) == input));
  }
}

BOOST_AUTO_TEST_CASE(refuses_npy_files_that_cannot_be_arrays_unless_flat) {
  const TempDir scratch;
  const std::string data(400, 'x');
  const std::vector<std::pair<std::string, std::string>> cases = {
      {npy_header("|O", {50}) + data, "Python objects (dtype object, |O)"},
      {npy_header("<i4", {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 100}) + data,
       "17 dimensions"},
      {npy_header("|S0", {50}), "0 bytes"},
      {npy_header("<i4", {10, 11}) + data, "400 of 440"},
      {npy_header("<i4", {10, 9}) + data, "more than its elements"},
      {npy_header("<i4", {10, 9}).substr(0, 70), "header"},
  };
  for (const auto& [npy, word] : cases) {
    write_file(scratch / "a.npy", npy);
    const ProcessResult result = b2frame({"create", scratch / "a.npy", "-o", scratch / "a.b2nd"});
    BOOST_TEST(result.status == 1, result.description());
    BOOST_TEST(is_message_about(result.err, scratch / "a.npy"), result.err);
    BOOST_TEST(result.err.find(word) != std::string::npos, result.err);
    BOOST_TEST(result.err.find("--flat") != std::string::npos, result.err);
    BOOST_TEST(file_count(scratch.path()) == 1);
    BOOST_TEST(b2frame({"create", "--flat", scratch / "a.npy", "-o", scratch / "x"}).ok());
    BOOST_TEST((extracted(scratch / "x") == npy));
    fs_std::remove(scratch / "x");
  }
}

BOOST_AUTO_TEST_CASE(bytes_become_no_array_by_the_name_of_the_output) {
  const TempDir scratch;
  write_file(scratch / "x.nc", std::string_view("CDF\x01 and more"));
  const ProcessResult refused = b2frame({"create", scratch / "x.nc", "-o", scratch / "x.b2nd"});
  BOOST_TEST(refused.status == 2, refused.description());
  BOOST_TEST(refused.err.find("not an array (.b2nd)") != std::string::npos, refused.err);
  BOOST_TEST(!fs_std::exists(scratch / "x.b2nd"));
  BOOST_TEST(b2frame({"create", "--bytes", scratch / "x.nc", "-o", scratch / "x.b2nd"}).ok());
  BOOST_TEST((extracted(scratch / "x.b2nd") == "CDF\x01 and more"));
  BOOST_TEST(b2frame({"create", scratch / "x.nc", "-o", scratch / "x.b2frame"}).ok());
}

BOOST_AUTO_TEST_CASE(refuses_names_that_promise_another_format) {
  const TempDir scratch;
  write_file(scratch / "a.npy", npy_header("<i4", {2}) + std::string(8, 'x'));
  write_file(scratch / "text.csv.gz", std::string_view("a,b\n"));
  for (const char* input : {"a.npy", "text.csv.gz"})
    for (const char* name : {"x.b2z", "x.B2D", "x.b2e", "x.npy", "x.npz", "x.csv", "x.txt", "x.h5",
                             "x.nc", "x.tif", "x.mat", "x.FITS", "x.parquet", "x.zarr"}) {
      const ProcessResult refused = b2frame({"create", scratch / input, "-o", scratch / name});
      BOOST_TEST(refused.status == 2, name << refused.description());
      BOOST_TEST(!fs_std::exists(scratch / name), name);
    }
  BOOST_TEST(b2frame({"create", scratch / "a.npy", "-o", scratch / "a.b2nd"}).ok());
  for (const char* name : {"x.b2z", "x.npy"})
    BOOST_TEST(b2frame({"convert", scratch / "a.b2nd", "-o", scratch / name}).status == 2, name);
  BOOST_TEST(b2frame({"create", "--flat", scratch / "a.npy", "-o", scratch / "x.b2frame"}).ok());
  BOOST_TEST(b2frame({"convert", scratch / "x.b2frame", "-o", scratch / "x.b2nd"}).status == 2);
}

BOOST_AUTO_TEST_CASE(names_the_outputs_that_make_a_table_or_arrays) {
  const TempDir scratch;
  write_file(scratch / "t.csv", std::string_view("a,b\n1,2\n"));
  write_file(scratch / "run.npz", std::string_view("PK\x05\x06 and more"));
  for (const auto& [input, hint] : {std::pair{"t.csv", "-o OUT.b2z makes a table"},
                                    std::pair{"run.npz", "-o OUT/ or -o OUT.b2z makes arrays"}}) {
    const ProcessResult refused = b2frame({"create", scratch / input, "-o", scratch / "x.b2nd"});
    BOOST_TEST(refused.status == 2);
    BOOST_TEST(refused.err.find(hint) != std::string::npos, refused.err);
    const ProcessResult made = b2frame({"create", scratch / input, "-o", scratch / "x"});
    BOOST_TEST(made.ok(), made.description());
    BOOST_TEST(made.err.find(hint) != std::string::npos, made.err);
    const ProcessResult asked = b2frame({"create", scratch / input, "-o", scratch / "x.b2frame"});
    BOOST_TEST(asked.ok(), asked.description());
    BOOST_TEST(asked.err == "");
  }
}

BOOST_AUTO_TEST_CASE(refuses_elements_of_another_size_when_they_are_read_out_of_order) {
  const TempDir scratch;
  write_file(scratch / "a.npy", npy_header("<i4", {10, 11}) + std::string(400, 'x'));
  const Arguments options{"--chunk-shape", "5,5"};
  const ProcessResult file = b2frame(Arguments{"create"} + options +
                                     Arguments{scratch / "a.npy", "-o", scratch / "a.b2nd"});
  const ProcessResult pipe = create_from_pipe(scratch / "a.npy", options, scratch / "a.b2nd");
  for (const ProcessResult& result : {file, pipe}) {
    BOOST_TEST(result.status == 1);
    BOOST_TEST(result.err.find("400 bytes of elements instead of 440") != std::string::npos,
               result.err);
  }
  BOOST_TEST(file_count(scratch.path()) == 1);
}

BOOST_AUTO_TEST_CASE(goes_by_the_shape_of_arrays) {
  const TempDir scratch;
  const auto npy = scratch / "a.npy", frame = scratch / "a.b2nd";
  for (const auto& [options, dtype, shape] :
       std::vector<std::tuple<Arguments, std::string, std::vector<std::int64_t>>>{
           {{"--codec", "ndlz"}, "|u1", {301, 200}},
           {{"--codec", "ndlz:8", "--chunk-shape", "64,64"}, "<i4", {100, 150}},
           {{"--filters", "ndcell:4,shuffle", "--block-shape", "8,9,10"}, "<f8", {20, 30, 25}},
           {{"--codec", "ndlz", "--filters", "ndcell:2", "--sparse"}, "|b1", {30, 33}}}) {
    std::int64_t size = std::stoi(dtype.substr(2));
    for (const std::int64_t extent : shape) size *= extent;
    const std::string input = npy_header(dtype, shape) +
                              text_of(make_contents("text", 3, static_cast<std::size_t>(size), 1));
    write_file(npy, input);
    const ProcessResult result =
        b2frame(Arguments{"create"} + options + Arguments{npy, "-o", frame});
    BOOST_TEST_REQUIRE(result.ok(), result.description());
    BOOST_TEST((extracted(frame, true) == input));
    BOOST_TEST(!info_of(frame).contains("lossy"));
    check_verified(frame);
    fs_std::remove_all(frame);
  }
}

BOOST_AUTO_TEST_CASE(loses_digits_only_when_told_so) {
  const TempDir scratch;
  const auto npy = scratch / "a.npy", frame = scratch / "a.b2nd";
  const std::string input =
      npy_header("<f8", {60, 70}) + text_of(make_contents("floats", 3, 60 * 70 * 8, 8));
  write_file(npy, input);
  std::vector<Arguments> all = {{"--filters", "ndmean:4"}, {"--filters", "trunc_prec:-20"}};
  if (codec::can_compress(codec::CodecId::zfp_rate))
    for (const char* codec : {"zfp_accuracy:-2", "zfp_precision:20", "zfp_rate:50"})
      all.push_back({"--codec", codec});
  for (const Arguments& options : all) {
    const ProcessResult result =
        b2frame(Arguments{"create"} + options + Arguments{npy, "-o", frame});
    BOOST_TEST_REQUIRE(result.ok(), result.description());
    BOOST_TEST(info_of(frame).at("lossy") == true);
    const std::string shown = extracted(frame, true);
    BOOST_TEST(shown.size() == input.size());
    BOOST_TEST((shown != input));
    check_verified(frame);
  }
}

BOOST_AUTO_TEST_CASE(finds_blocks_that_codecs_by_shape_take) {
  if (!codec::can_compress(codec::CodecId::zfp_rate)) return;
  const TempDir scratch;
  const std::vector<std::vector<std::int64_t>> shapes = {
      {40, 50, 60}, {5, 300, 400}, {4, 4, 4, 4}, {9, 7, 5, 900}, {100'000}};
  for (const auto& shape : shapes) {
    std::size_t size = 4;
    for (const auto extent : shape) size *= static_cast<std::size_t>(extent);
    const std::string input =
        npy_header("<f4", shape) + text_of(make_contents("floats", 3, size, 4));
    write_file(scratch / "a.npy", input);
    for (const Arguments& options :
         {Arguments{}, Arguments{"--block-size", "4K"}, Arguments{"--chunk-size", "64K"}}) {
      const ProcessResult result =
          b2frame(Arguments{"create", "--codec", "zfp_accuracy:-2"} + options +
                  Arguments{scratch / "a.npy", "-o", scratch / "a.b2nd"});
      BOOST_TEST_REQUIRE(result.ok(), result.description());
      BOOST_TEST(extracted(scratch / "a.b2nd", true).size() == input.size());
    }
  }
}

BOOST_AUTO_TEST_CASE(says_what_does_not_go_with_the_shape) {
  const TempDir scratch;
  const auto numbers = scratch / "numbers.npy", items = scratch / "items.npy";
  write_file(numbers, npy_header("<f8", {60, 3}) + std::string(60 * 3 * 8, 'x'));
  write_file(items, npy_header("<i4", {60, 70}) + std::string(60 * 70 * 4, 'x'));
  std::vector<std::tuple<Arguments, fs_std::path, std::string>> cases = {
      {{"--flat", "--codec", "ndlz"}, items, "needs the shape of an array's blocks"},
      {{"--codec", "ndlz:5"}, items, "cells of 4 or 8"},
      {{"--codec", "ndlz:x"}, items, "one of blosclz"},
      {{"--codec", "grok"}, items, "'grok' is not auto or one of blosclz"},
      {{"--chunk-shape", "10"},
       items,
       "--chunk-shape 10: give one number for each dimension of the array, whose shape is 60,70"},
      {{"--block-shape", "1,2,3"}, items, "--block-shape 1,2,3: give one number"},
      {{"--filters", "ndcell"}, items, "a cell of side 0"},
      {{"--filters", "ndcell:100"}, items, "larger than a block"},
      {{"--filters", "ndmean:4"}, items, "float32 or float64"}};
  if (codec::can_compress(codec::CodecId::zfp_rate))
    for (const auto& more : std::vector<decltype(cases)::value_type>{
             {{"--codec", "zfp_rate"}, numbers, "one of blosclz"},
             {{"--codec", "zfp_rate:50"}, items, "float32 or float64"},
             {{"--codec", "zfp_rate:50"}, numbers, "dimension; set them with --block-shape"},
             {{"--codec", "zfp_rate:50", "--filters", "shuffle"}, numbers, "takes no filters"}})
      cases.push_back(more);
  for (const auto& [options, input, word] : cases) {
    const ProcessResult result =
        b2frame(Arguments{"create"} + options + Arguments{input, "-o", scratch / "x"});
    BOOST_TEST(result.status == 2, result.description());
    BOOST_TEST(result.err.find(word) != std::string::npos, result.err);
  }
  BOOST_TEST(file_count(scratch.path()) == 2);
}

BOOST_AUTO_TEST_CASE(names_the_missing_directory_of_the_input) {
  const TempDir scratch;
  const std::string missing = (scratch / "nowhere").string();
  const ProcessResult result = b2frame({"create", missing + "/x.npy", "-o", scratch / "x.b2nd"});
  BOOST_TEST(result.status == 1);
  BOOST_TEST(result.err.ends_with("; correct the name: there is no directory " + missing + "\n"),
             result.err);
}

BOOST_AUTO_TEST_CASE(says_that_the_input_is_a_frame_already) {
  const TempDir scratch;
  write_file(scratch / "a.npy", npy_header("<i4", {10}) + std::string(40, 'x'));
  for (const Arguments& kind : {Arguments{}, Arguments{"--sparse"}}) {
    const std::string frame = (scratch / fmt::format("{}.b2nd", kind.size())).string();
    BOOST_TEST(
        b2frame(Arguments{"create"} + kind + Arguments{scratch / "a.npy", "-o", frame}).ok());
    const ProcessResult result = b2frame({"create", frame, "-o", (scratch / "x.b2nd").string()});
    BOOST_TEST(
        result.err.starts_with("b2frame: " + frame + ": is a frame already; b2frame convert"),
        result.err);
  }
}

BOOST_AUTO_TEST_CASE(stores_metalayers_from_files) {
  const TempDir scratch;
  write_file(scratch / "empty", std::string_view());
  write_file(scratch / "input", noise(1000));
  write_file(scratch / "a.npy", npy_header("<i4", {10, 10}) + std::string(400, 'x'));
  write_file(scratch / "facts.json",
             std::string_view(R"({"unit": "K", "levels": [1, 2.5, null]})"));
  write_file(scratch / "raw", std::string_view("some text"));
  const json facts = {{"unit", "K"}, {"levels", {1, 2.5, nullptr}}};
  for (const char* input : {"empty", "input", "a.npy"})
    for (const Arguments& kind : {Arguments{}, Arguments{"--sparse"}}) {
      const auto of = [&](const char* name, const char* file) {
        return name + ("=" + (scratch / file).string());
      };
      const ProcessResult result =
          b2frame(Arguments{"create", "--meta", of("fixed", "facts.json"), "--vlmeta",
                            of("one", "raw"), "--vlmeta", of("two", "facts.json"), "--checksum"} +
                  kind + Arguments{scratch / input, "-o", scratch / "x"});
      BOOST_TEST_REQUIRE(result.ok(), result.description());
      const json shown = info_of(scratch / "x");
      BOOST_TEST(shown.at("metalayers").at("fixed") == facts);
      BOOST_TEST(shown.at("vlmetalayers").at("one") == "some text");
      BOOST_TEST(shown.at("vlmetalayers").at("two") == facts);
      BOOST_TEST(shown.at("vlmetalayers").contains("bloscfs.xxh3"));
      check_verified(scratch / "x");
    }
}

BOOST_AUTO_TEST_CASE(names_the_metalayer_file_that_is_bad) {
  const TempDir scratch;
  write_file(scratch / "input", noise(10));
  write_file(scratch / "bad.json", std::string_view("{\"a\": }"));
  write_file(scratch / "deep.json", std::string(1000, '[') + std::string(1000, ']'));
  for (const char* name : {"bad.json", "deep.json", "missing"}) {
    const std::string file = scratch / name;
    const ProcessResult result = b2frame(
        {"create", "--vlmeta", "note=" + file, scratch / "input", "-o", scratch / "x.b2frame"});
    BOOST_TEST(result.status == 1);
    BOOST_TEST(is_message_about(result.err, file), result.err);
  }
  BOOST_TEST(file_count(scratch.path()) == 3);
}

BOOST_AUTO_TEST_CASE(keeps_memory_bounded_however_long_the_stream,
                     *boost::unit_test::precondition(needs_plain_build)) {
  const TempDir scratch;
  const std::string output = scratch / "x.b2frame";
  const ProcessResult result =
      run({"sh", "-c",
           std::string("head -c 400M /dev/zero | tr '\\0' x | ") + B2FRAME +
               " create --codec lz4 --threads 2 - -o " + output});
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(info_of(output).at("nbytes") == 400 << 20);
  BOOST_TEST(result.usage.ru_maxrss < 96 << 10);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
