// Runs the built b2frame on reference files and on wrong command lines.

#include <algorithm>
#include <sstream>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/digest.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/manifest.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/sanitizers.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/tools/program.hpp"

namespace {

using namespace bloscfs::test;
using nlohmann::json;

/// The most memory that b2frame may use for a damaged file, or for one whose header claims too
/// much.
constexpr long kMaxResidentKib = 128 << 10;
constexpr Seconds kDamagedLimit{kSanitized ? 20 : 5};

bool is_chunk(const CorpusEntry& entry) { return entry.text("container") == "chunk"; }

/// Returns the arguments of a subcommand for the entry, with --chunk if it is a bare chunk.
Arguments command(const char* name, const CorpusEntry& entry) {
  Arguments arguments{name};
  if (is_chunk(entry)) arguments.push_back("--chunk");
  arguments.push_back(entry.file.string());
  return arguments;
}

std::string sha256_of(const std::string& text) {
  return sha256({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

/// Returns all entries of the corpus, or of tests/data if the corpus is missing.
std::vector<CorpusEntry> all_entries() {
  const auto roots = corpus_root().empty() ? data_roots() : std::vector{corpus_root()};
  std::vector<CorpusEntry> entries;
  for (const fs_std::path& root : roots)
    for (auto& some : {containers_in(root), chunks_in(root)})
      entries.insert(entries.end(), some.begin(), some.end());
  return entries;
}

std::vector<CorpusEntry> expected(const char* expect) {
  std::vector<CorpusEntry> entries = all_entries();
  std::erase_if(entries, [&](const CorpusEntry& entry) { return !entry.is(expect); });
  return entries;
}

/// Splits entries into groups that one process can work on: all containers, or all bare chunks.
std::vector<std::vector<CorpusEntry>> grouped(const std::vector<CorpusEntry>& entries) {
  constexpr std::size_t kGroupSize = 40;
  std::vector<std::vector<CorpusEntry>> groups;
  for (const CorpusEntry& entry : entries) {
    if (groups.empty() || groups.back().size() == kGroupSize ||
        is_chunk(groups.back().front()) != is_chunk(entry))
      groups.emplace_back();
    groups.back().push_back(entry);
  }
  return groups;
}

Arguments command(const char* name, const std::vector<CorpusEntry>& group) {
  Arguments arguments = command(name, group.front());
  for (std::size_t i = 1; i < group.size(); i++) arguments.push_back(group[i].file.string());
  return arguments;
}

std::string sample(const char* name) {
  return std::string(BLOSCFS_TEST_SOURCE_ROOT "/tests/data/samples/") + name;
}

std::string python_file(const char* name) {
  return std::string(BLOSCFS_TEST_SOURCE_ROOT "/tests/data/python/") + name;
}

void check_survived(const ProcessResult& result) {
  BOOST_TEST(!result.timed_out);
  BOOST_TEST((result.status == 0 || result.status == 1), result.description());
  if (!kSanitized) BOOST_TEST(result.usage.ru_maxrss < kMaxResidentKib);
}

/// Compares the output of `info --json` for a valid file with the manifest.
void check_description(const CorpusEntry& entry, const json& shown) {
  BOOST_TEST(shown.at("kind").get<std::string>() == entry.text("container"));
  for (const char* field : {"typesize", "nchunks", "shape", "chunkshape", "blockshape"})
    if (entry.facts.contains(field) && entry.facts.at(field) != -1 && shown.contains(field))
      BOOST_TEST(shown.at(field) == entry.facts.at(field), field << " " << shown.at(field));
  if (!entry.facts.contains("metalayers")) return;
  for (const auto& item : entry.facts.at("metalayers").items())
    BOOST_TEST(shown.at("metalayers").contains(item.key()), item.key());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(b2frame_on_reference_files)

BOOST_AUTO_TEST_CASE(extracts_the_contents_of_every_sound_file) {
  for (const CorpusEntry& entry : expected("ok")) {
    if (entry.text("sha256").empty()) continue;
    BOOST_TEST_CONTEXT(entry.name()) {
      const ProcessResult result = b2frame(command("extract", entry) + Arguments{"-o", "-"});
      BOOST_TEST(result.ok(), result.description());
      BOOST_TEST(sha256_of(result.out) == entry.text("sha256"));
    }
  }
}

BOOST_AUTO_TEST_CASE(extracts_every_array_as_numpy_would_save_it) {
  const TempDir scratch;
  for (const CorpusEntry& entry : expected("ok")) {
    if (entry.text("npy_sha256").empty()) continue;
    BOOST_TEST_CONTEXT(entry.name()) {
      const auto out = scratch / "array.npy";
      const ProcessResult named = b2frame({"extract", entry.file.string(), "-o", out.string()});
      BOOST_TEST(named.ok(), named.description());
      BOOST_TEST(sha256(read_file(out)) == entry.text("npy_sha256"));
    }
  }
}

BOOST_AUTO_TEST_CASE(extracts_ranges_of_huge_contents_at_once) {
  for (const CorpusEntry& entry : expected("valid-lazy")) {
    for (const json& probe : entry.facts.at("probe")) {
      BOOST_TEST_CONTEXT(entry.name() << " at " << probe.at("offset")) {
        const ProcessResult result = b2frame(
            command("extract", entry) + Arguments{"--offset", probe.at("offset").dump(), "--length",
                                                  probe.at("length").dump(), "-o", "-"},
            kDamagedLimit);
        BOOST_TEST(result.ok(), result.description());
        BOOST_TEST(sha256_of(result.out) == probe.at("sha256").get<std::string>());
        check_survived(result);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(verifies_every_sound_file_in_silence) {
  for (const auto& group : grouped(expected("ok"))) {
    const ProcessResult result = b2frame(command("verify", group));
    BOOST_TEST(result.ok(), result.description());
    BOOST_TEST(result.err.empty(), result.err);
    BOOST_TEST(result.out.empty());
  }
}

BOOST_AUTO_TEST_CASE(verify_complains_about_every_damaged_file) {
  for (const auto& group : grouped(expected("error"))) {
    const ProcessResult result = b2frame(command("verify", group), kDamagedLimit);
    check_survived(result);
    BOOST_TEST(result.status == 1);
    for (const CorpusEntry& entry : group)
      BOOST_TEST(result.err.find("b2frame: " + entry.file.string() + ": ") != std::string::npos,
                 entry.name());
  }
}

BOOST_AUTO_TEST_CASE(extract_refuses_every_damaged_file) {
  for (const CorpusEntry& entry : expected("error")) {
    BOOST_TEST_CONTEXT(entry.name()) {
      const ProcessResult result =
          b2frame(command("extract", entry) + Arguments{"-o", "-"}, kDamagedLimit);
      check_survived(result);
      BOOST_TEST(result.status == 1);
      BOOST_TEST(is_message_about(result.err, entry.file.string()), result.err);
    }
  }
}

BOOST_AUTO_TEST_CASE(survives_every_odd_file) {
  for (const CorpusEntry& entry : expected("any")) BOOST_TEST_CONTEXT(entry.name())
  check_survived(b2frame(command("extract", entry) + Arguments{"--length", "4000000", "-o", "-"},
                         kDamagedLimit));
  for (const auto& group : grouped(expected("any")))
    check_survived(b2frame(command("verify", group), kDamagedLimit));
}

BOOST_AUTO_TEST_CASE(describes_every_sound_file) {
  for (const char* expectation : {"ok", "valid-lazy"}) {
    for (const auto& group : grouped(expected(expectation))) {
      const ProcessResult result =
          b2frame(command("info", group) + Arguments{"--json"}, kDamagedLimit);
      check_survived(result);
      BOOST_TEST_REQUIRE(result.ok(), result.description());
      std::istringstream lines(result.out);
      for (const CorpusEntry& entry : group) {
        std::string line;
        BOOST_TEST_REQUIRE(!std::getline(lines, line).fail());
        BOOST_TEST_CONTEXT(entry.name()) check_description(entry, json::parse(line));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(info_survives_every_damaged_file) {
  for (const char* expectation : {"error", "any"})
    for (const auto& group : grouped(expected(expectation)))
      check_survived(b2frame(command("info", group) + Arguments{"--json"}, kDamagedLimit));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(b2frame_info)

BOOST_AUTO_TEST_CASE(fields_of_arrays_have_names) {
  const std::string samples = BLOSCFS_TEST_SOURCE_ROOT "/tests/data/";
  const json fields = {{"version", 0},     {"ndim", 2},        {"shape", {20, 1}},
                       {"chunks", {5, 1}}, {"blocks", {2, 1}}, {"dtype_format", 0},
                       {"dtype", "<i2"}};
  BOOST_TEST(info_of(samples + "python_arrays/a1.b2nd").at("metalayers").at("b2nd") == fields);
  const json many = info_of(samples + "frame/b2nd/16d.b2nd").at("metalayers").at("b2nd");
  BOOST_TEST(many.at("ndim") == 16);
  BOOST_TEST(many.at("shape").size() == 16);
  const ProcessResult shown = b2frame({"info", samples + "python_arrays/a1.b2nd"});
  BOOST_TEST(shown.out.find(R"("shape":[20,1],"chunks":[5,1],"blocks":[2,1])") != std::string::npos,
             shown.out);
}

BOOST_AUTO_TEST_CASE(shows_header_chunks_and_decoded_metalayers) {
  const ProcessResult result = b2frame({"info", "--json", sample("station.log.b2frame")});
  BOOST_TEST_REQUIRE(result.ok(), result.description());
  const json shown = json::parse(result.out);
  BOOST_TEST(shown.at("codec") == "zstd");
  BOOST_TEST(shown.at("nbytes") == 900000);
  BOOST_TEST(shown.at("nchunks") == 7);
  BOOST_TEST(shown.at("chunks").at("stored") == 7);
  BOOST_TEST(shown.at("chunks").at("dead_space") == 0);
  BOOST_TEST(shown.at("metalayers").at("origin").at("network") == "north");
  BOOST_TEST(shown.at("vlmetalayers").at("notes").at("quality") == "synthetic");
  const json& ratio = shown.at("chunks").at("ratio");
  BOOST_TEST(ratio.at("min") > 1.0);
  BOOST_TEST(ratio.at("min") <= ratio.at("median"));
  BOOST_TEST(ratio.at("median") <= ratio.at("max"));
}

BOOST_AUTO_TEST_CASE(counts_bytes_behind_the_end_as_dead_unless_they_are_another_frame) {
  const TempDir scratch;
  const ByteVector frame = read_file(sample("station.log.b2frame"));
  const ByteVector other = read_file(sample("temperature.b2nd"));
  const auto dead_space = [&](const ByteVector& behind) -> json {
    ByteVector file = frame;
    file.insert(file.end(), behind.begin(), behind.end());
    write_file(scratch / "f", file);
    const ProcessResult result = b2frame({"info", "--json", scratch / "f"});
    BOOST_TEST_REQUIRE(result.ok(), result.description());
    return json::parse(result.out).at("chunks").at("dead_space");
  };
  BOOST_TEST(dead_space(ByteVector(1000)) == 1000);
  BOOST_TEST(dead_space(other) == 0);
}

BOOST_AUTO_TEST_CASE(counts_special_chunks) {
  const ProcessResult result = b2frame({"info", "--json", sample("counts.b2frame")});
  BOOST_TEST_REQUIRE(result.ok(), result.description());
  const json shown = json::parse(result.out);
  BOOST_TEST(shown.at("kind") == "sframe");
  BOOST_TEST(shown.at("chunks").at("stored") == 4);
  BOOST_TEST(shown.at("chunks").at("special").at("zero") == 9);
}

BOOST_AUTO_TEST_CASE(goes_on_after_a_file_that_is_bad) {
  const TempDir scratch;
  write_file(scratch / "text", std::string_view("no frame"));
  const std::string bad = (scratch / "text").string();
  const ProcessResult result = b2frame({"info", bad, sample("temperature.b2nd")});
  BOOST_TEST(result.status == 1);
  BOOST_TEST(is_message_about(result.err, bad), result.err);
  BOOST_TEST(result.out.find("<f4") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(b2frame_verify)

BOOST_AUTO_TEST_CASE(names_each_bad_chunk_and_no_other) {
  const TempDir scratch;
  const auto copy = scratch / "counts.b2frame";
  std::filesystem::copy(sample("counts.b2frame"), copy);
  for (const char* name : {"00000001.chunk", "00000003.chunk"}) {
    ByteVector bytes = read_file(copy / name);
    // The blosc2 header and the block starts stay. The bytes behind them no longer decode.
    std::fill(bytes.begin() + 48, bytes.end(), std::uint8_t{0x7f});
    write_file(copy / name, bytes);
  }
  const ProcessResult result = b2frame({"verify", copy.string()});
  BOOST_TEST(result.status == 1);
  const std::string prefix = "b2frame: " + copy.string() + ": chunk ";
  BOOST_TEST(std::count(result.err.begin(), result.err.end(), '\n') == 2);
  BOOST_TEST(result.err.find(prefix + "4: ") != std::string::npos, result.err);
  BOOST_TEST(result.err.find(prefix + "6: ") != std::string::npos, result.err);
}

BOOST_AUTO_TEST_CASE(says_that_a_file_is_missing) {
  const ProcessResult result = b2frame({"verify", "/nonexistent/frame"});
  BOOST_TEST(result.status == 1);
  BOOST_TEST(
      result.err ==
      "b2frame: /nonexistent/frame: No such file or directory; correct the name: there is no "
      "directory /nonexistent\n");
  const TempDir scratch;
  const std::string missing = (scratch / "no/x").string();
  const ProcessResult tree = b2frame({"create", "-r", missing, "-o", (scratch / "out").string()});
  BOOST_TEST(tree.err == "b2frame: " + missing +
                             ": No such file or directory; correct the name: there is no "
                             "directory " +
                             (scratch / "no").string() + "\n");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(b2frame_extract)

BOOST_AUTO_TEST_CASE(cuts_a_range_out_of_the_contents) {
  const std::string whole = b2frame({"extract", sample("station.log.b2frame"), "-o", "-"}).out;
  BOOST_TEST_REQUIRE(whole.size() == 900000U);
  const ProcessResult middle = b2frame({"extract", "--offset", "131000", "--length", "5000",
                                        sample("station.log.b2frame"), "-o", "-"});
  BOOST_TEST((middle.out == whole.substr(131000, 5000)));
  const ProcessResult end = b2frame({"extract", "--offset", "899990", "--length", "5000",
                                     sample("station.log.b2frame"), "-o", "-"});
  BOOST_TEST((end.out == whole.substr(899990)));
}

BOOST_AUTO_TEST_CASE(leaves_zero_chunks_as_holes_in_the_file) {
  const TempDir scratch;
  const auto out = scratch / "counts";
  BOOST_TEST(b2frame({"extract", sample("counts.b2frame"), "-o", out.string()}).ok());
  BOOST_TEST(read_file(out).size() == 800000U);
  const ProcessResult piped = b2frame({"extract", sample("counts.b2frame"), "-o", "-"});
  BOOST_TEST(sha256(read_file(out)) == sha256_of(piped.out));
}

BOOST_AUTO_TEST_CASE(leaves_nothing_behind_when_a_chunk_is_bad) {
  const TempDir scratch;
  const auto copy = scratch / "counts.b2frame";
  std::filesystem::copy(sample("counts.b2frame"), copy);
  ByteVector bytes = read_file(copy / "00000002.chunk");
  bytes.resize(bytes.size() / 2);
  write_file(copy / "00000002.chunk", bytes);
  std::filesystem::create_directory(scratch / "out");
  write_file(scratch / "out/old", std::string_view("kept"));
  for (const char* name : {"out/new", "out/old"}) {
    const ProcessResult result =
        b2frame({"extract", copy.string(), "-o", (scratch / name).string()});
    BOOST_TEST(result.status == 1);
    BOOST_TEST(is_message_about(result.err, copy.string()), result.err);
  }
  const auto left = std::filesystem::directory_iterator(scratch / "out");
  BOOST_TEST(std::distance(begin(left), end(left)) == 1);
  BOOST_TEST(read_file(scratch / "out/old").size() == 4U);
}

BOOST_AUTO_TEST_CASE(writes_npy_when_told_so_or_by_the_name) {
  const TempDir scratch;
  const std::string npy = b2frame({"extract", "--npy", sample("temperature.b2nd"), "-o", "-"}).out;
  const std::string raw = b2frame({"extract", sample("temperature.b2nd"), "-o", "-"}).out;
  BOOST_TEST(npy.substr(0, 6) == "\x93NUMPY");
  BOOST_TEST((npy.substr(128) == raw));
  const auto out = scratch / "array.npy";
  BOOST_TEST(b2frame({"extract", sample("temperature.b2nd"), "-o", out.string()}).ok());
  BOOST_TEST(sha256(read_file(out)) == sha256_of(npy));
}

BOOST_AUTO_TEST_CASE(refuses_npy_for_what_is_no_array) {
  const ProcessResult result =
      b2frame({"extract", "--npy", sample("station.log.b2frame"), "-o", "-"});
  BOOST_TEST(result.status != 0);
  BOOST_TEST(result.out.empty());
  BOOST_TEST(is_message_about(result.err, sample("station.log.b2frame")), result.err);
}

BOOST_AUTO_TEST_CASE(a_name_that_promises_a_format_gets_it_or_an_error) {
  const TempDir scratch;
  const auto path = [&](const char* name) { return (scratch / name).string(); };
  const auto extract = [&](const char* from, const char* to, const Arguments& options = {}) {
    return b2frame(Arguments{"extract"} + options + Arguments{path(from), "-o", path(to)});
  };
  ByteVector items;
  for (std::uint8_t item = 1; item <= 6; item++) items.insert(items.end(), {item, 0});
  write_file(scratch / "a.b2nd", array_frame(items, {2, 3}, "<i2", 2));
  write_file(scratch / "text.b2frame", flat_frame("x,y\n"));
  write_file(scratch / "bytes.b2frame", flat_frame(items));
  for (const auto& [name, contents] :
       {std::pair{"a.csv", "1,2,3\n4,5,6\n"}, std::pair{"a.txt", "1 2 3\n4 5 6\n"}}) {
    BOOST_TEST(extract("a.b2nd", name).ok());
    BOOST_TEST((read_file(scratch / name) == bytes_of(contents)), name);
  }
  for (const char* name : {"a.tsv", "a.json", "a.jsonl", "a.npz", "a.b2frame", "a.b2z", "a.H5",
                           "a.nc", "a.mat", "a.tif"}) {
    const ProcessResult refused = extract("a.b2nd", name);
    BOOST_TEST(refused.status == 2, name << refused.description());
    BOOST_TEST(refused.err.find("--raw") != std::string::npos, refused.err);
    BOOST_TEST(!fs_std::exists(scratch / name));
  }
  // The name asks for text, which has no byte ranges. b2frame must refuse the option, not ignore
  // it.
  for (const Arguments& options : {Arguments{"--offset", "2"}, {"--length", "4"}})
    BOOST_TEST(extract("a.b2nd", "part.txt", options).status == 2);
  BOOST_TEST(extract("a.b2nd", "n.NPY").ok());
  BOOST_TEST((read_file(scratch / "n.NPY").at(0)) == 0x93);
  for (const char* name : {"npy.txt", "npy.csv", "npy.b2nd"})
    BOOST_TEST(extract("a.b2nd", name, {"--npy"}).status == 2, name);
  BOOST_TEST(b2frame({"extract", path("a.b2nd") + "[0]", "-o", path("s.b2nd")}).status == 2);
  BOOST_TEST(extract("a.b2nd", "n.npy", {"-n", "2"}).status == 2);
  for (const char* name : {"b.csv", "b.txt", "b.json", "b.npy", "b.npz", "b.b2nd", "b.b2d"}) {
    BOOST_TEST(extract("bytes.b2frame", name).status == 2, name);
    BOOST_TEST(!fs_std::exists(scratch / name));
  }
  for (const char* name : {"t.csv", "t.tsv", "t.txt", "t.bin", "t.nc"}) {
    BOOST_TEST(extract("text.b2frame", name).ok(), name);
    BOOST_TEST((read_file(scratch / name) == bytes_of("x,y\n")), name);
  }
  BOOST_TEST(extract("text.b2frame", "t.json").status == 2);
  write_file(scratch / "json.b2frame", flat_frame(" [1]\n"));
  BOOST_TEST(extract("json.b2frame", "t.json").ok());
  write_file(scratch / "inner.b2frame", flat_frame(read_file(scratch / "a.b2nd")));
  BOOST_TEST(extract("inner.b2frame", "inner.b2nd").ok());
  for (const char* from : {"a.b2nd", "bytes.b2frame"})
    for (const char* name : {"r.csv", "r.npy", "r.npz"}) {
      BOOST_TEST(extract(from, name, {"--raw"}).ok(), name);
      BOOST_TEST((read_file(scratch / name) == items), name);
    }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(b2frame_ls_names)

BOOST_AUTO_TEST_CASE(shows_what_a_mount_would_show) {
  const TempDir scratch;
  fs_std::create_directories(scratch / "b/deep");
  fs_std::copy(sample("temperature.b2nd"), scratch / "b/deep/x.npy.b2nd");
  fs_std::copy(sample("station.log.b2frame"), scratch / "a.b2");
  fs_std::copy(sample("station.log.b2frame"), scratch / "a.b2frame");
  fs_std::copy(sample("counts.b2frame"), scratch / "counts.b2frame");
  write_file(scratch / "text.b2frame", std::string_view("no frame"));
  write_file(scratch / "counts.b2frame.b2lock", std::string_view());
  const ProcessResult result = b2frame({"ls", "-R", "--json", scratch.path().string()});
  BOOST_TEST(result.status == 1, result.description());
  std::string names;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) {
    const json found = json::parse(line);
    const bool is_sound = found.at("status") == "ok";
    names += found.at(is_sound ? "shown" : "file")
                 .get<std::string>()
                 .substr(scratch.path().native().size()) +
             "\n";
    if (!is_sound)
      BOOST_TEST(found.at("reason") ==
                 "has the suffix of a frame but no frame header; b2frame repair may save it");
  }
  BOOST_TEST(names == "/a.b2\n/a.b2frame\n/b/deep/x.npy\n/counts\n/text.b2frame\n");
  const std::string text = b2frame({"ls", scratch.path().string()}).out;
  for (const char* name : {"/counts.b2frame -> counts\n", "/b/\n"})
    BOOST_TEST(text.find(scratch.path().string() + name) != std::string::npos, text);
}

BOOST_AUTO_TEST_CASE(shows_the_only_name_of_a_single_frame) {
  const auto ends = [](const char* file, const std::string& name) {
    return b2frame({"ls", sample(file)}).out.ends_with(" -> " + name + "\n");
  };
  BOOST_TEST(ends("temperature.b2nd", "temperature.npy"));
  BOOST_TEST(ends("counts.b2frame", "counts"));
}

BOOST_AUTO_TEST_CASE(names_what_a_mount_shows_but_cannot_read) {
  const ProcessResult result = b2frame({"ls", python_file("")});
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(result.out.find("lazyexpr.b2nd -> lazyexpr.npy\n") != std::string::npos);
  for (const char* line :
       {"lazyexpr.b2nd: a lazy expression, whose contents are not stored\n",
        "lazyudf.b2nd: a lazy user-defined function (UDF), whose contents are not stored\n",
        "proxy0.b2nd: a proxy that lacks 1 of 1 chunks\n"})
    BOOST_TEST(result.err.find(line) != std::string::npos, result.err);
}

BOOST_AUTO_TEST_CASE(tells_contents_that_are_not_stored_from_zeros) {
  for (const char* name : {"lazyexpr.b2nd", "lazyudf.b2nd", "proxy0.b2nd", "proxy_blocks.b2nd"}) {
    const std::string file = python_file(name);
    const std::string contents = info_of(file).at("contents");
    BOOST_TEST(contents.starts_with("a "));
    const TempDir scratch;
    const ProcessResult extract = b2frame({"extract", file, "-o", (scratch / "out").string()});
    BOOST_TEST(extract.status == 1);
    BOOST_TEST(extract.err == "b2frame: " + file + ": " + contents + "\n");
    BOOST_TEST(!fs_std::exists(scratch / "out"));
    const ProcessResult verify = b2frame({"verify", file});
    BOOST_TEST(verify.status == 1);
    BOOST_TEST(verify.err == "b2frame: " + file + ": contents: " + contents + "\n");
  }
  for (const char* name : {"idx.b2nd", "proxy1.b2nd"}) {
    BOOST_TEST(!info_of(python_file(name)).contains("contents"));
    BOOST_TEST(b2frame({"verify", python_file(name)}).ok());
    BOOST_TEST(!extracted(python_file(name)).empty());
  }
}

BOOST_AUTO_TEST_CASE(files_that_lost_their_frame_header_are_reported) {
  const TempDir scratch;
  write_file(scratch / "text.b2nd", std::string_view("no frame"));
  write_file(scratch / "empty.b2frame", std::string_view());
  write_file(scratch / "plain.txt", std::string_view("no frame"));
  const std::string path = scratch.path().string();
  for (const Arguments& command :
       std::vector<Arguments>{{"ls", path}, {"verify", "-r", path}, {"info", "-r", path}}) {
    const ProcessResult result = b2frame(command);
    BOOST_TEST(result.status == 1, result.description());
    for (const auto& [name, cure] :
         {std::pair("text.b2nd", "b2frame repair may save it"),
          std::pair("empty.b2frame", "it is empty: restore it from a copy")})
      BOOST_TEST(
          result.err.find(path + "/" + name + ": has the suffix of a frame but no frame header; " +
                          cure + "\n") != std::string::npos,
          result.err);
    BOOST_TEST(result.err.find("plain.txt") == std::string::npos, result.err);
  }
}

BOOST_AUTO_TEST_CASE(ls_lists_damaged_files_once) {
  const TempDir scratch;
  const ByteVector whole = read_file(sample("temperature.b2nd"));
  write_file(scratch / "cut.b2nd", ByteVector(whole.begin(), whole.begin() + 1000));
  write_file(scratch / "empty.b2nd", std::string_view());
  const std::string path = scratch.path().string();
  const ProcessResult listed = b2frame({"ls", path});
  BOOST_TEST(listed.status == 1);
  for (const std::string name : {"/cut.b2nd", "/empty.b2nd"}) {
    BOOST_TEST(listed.out.find(" " + path + name + "\n") != std::string::npos, listed.out);
    BOOST_TEST(listed.err.find("b2frame: " + path + name + ": ") != std::string::npos, listed.err);
  }
  BOOST_TEST(listed.out.find("  damaged  ") != std::string::npos, listed.out);
  BOOST_TEST(std::ranges::count(listed.out, '\n') == 3, listed.out);
  BOOST_TEST(std::ranges::count(listed.err, '\n') == 2, listed.err);
}

BOOST_AUTO_TEST_CASE(says_how_an_array_file_becomes_a_frame) {
  const TempDir scratch;
  const std::string npy = scratch / "a.npy";
  write_file(npy, std::string_view("no frame"));
  const ProcessResult told = b2frame({"info", npy});
  const std::string command = "create " + npy + " -o " + (scratch / "a.b2nd").string();
  BOOST_TEST(told.err.ends_with("; make one: b2frame " + command + "\n"), told.err);
}

BOOST_AUTO_TEST_CASE(says_that_a_directory_is_missing) {
  const ProcessResult result = b2frame({"ls", "/nonexistent"});
  BOOST_TEST(result.status == 1);
  BOOST_TEST(result.err == "b2frame: /nonexistent: No such file or directory\n");
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(b2frame_command_line)

BOOST_AUTO_TEST_CASE(answers_bad_usage_with_status_2) {
  const std::string frame = sample("station.log.b2frame");
  const TempDir scratch;
  const std::string array = scratch / "a.npy";
  write_file(array, npy_header("<f8", {10, 10}) + std::string(800, '\0'));
  const std::vector<Arguments> bad = {
      {},
      {"explode"},
      {"info"},
      {"info", "--frob", frame},
      {"verify"},
      {"list", frame},
      {"extract", frame},
      {"extract", "-o", "-"},
      {"extract", frame, frame, "-o", "-"},
      {"extract", "--offset", "12x", frame, "-o", "-"},
      {"extract", "--offset", "-1", frame, "-o", "-"},
      {"extract", "--length", "0x10", frame, "-o", "-"},
      {"extract", "--length", "9223372036854775808", frame, "-o", "-"},
      {"extract", "--offset", "900001", frame, "-o", "-"},
      {"extract", "--json", frame, "-o", "-"},
      {"extract", "--json", "--npy", frame, "-o", "-"},
      {"extract", "--json", "--length", "3", frame, "-o", "-"},
      {"cat"},
      {"cat", frame, frame},
      {"cat", "--json", frame},
      {"verify", "-r", "--chunk", frame},
      {"create", frame},
      {"create", "-o", "/nonexistent/x"},
      {"create", frame, frame, "-o", "/nonexistent/x"},
      {"create", frame, "-o", "-"},
      {"create", frame, "-o", "/nonexistent/"},
      {"create", "--codec", "snappy", frame, "-o", "/nonexistent/x"},
      {"create", "--clevel", "10", frame, "-o", "/nonexistent/x"},
      {"create", "--filters", "shuffle,sharpen", frame, "-o", "/nonexistent/x"},
      {"create", "--filters", "shuffle,,delta", frame, "-o", "/nonexistent/x"},
      {"create", "--filters", "trunc_prec:256", frame, "-o", "/nonexistent/x"},
      {"create", "--filters", "shuffle,delta", frame, "-o", "/nonexistent/x"},
      {"create", "--typesize", "0", frame, "-o", "/nonexistent/x"},
      {"create", "--typesize", "4", array, "-o", "/nonexistent/x"},
      {"create", "--chunk-size", "1T", frame, "-o", "/nonexistent/x"},
      {"create", "--chunk-size", "4G", frame, "-o", "/nonexistent/x"},
      {"create", "--block-size", "K", frame, "-o", "/nonexistent/x"},
      {"create", "--chunk-shape", "5,5", frame, "-o", "/nonexistent/x"},
      {"create", "--chunk-shape", "5", array, "-o", "/nonexistent/x"},
      {"create", "--chunk-shape", "5,x", array, "-o", "/nonexistent/x"},
      {"create", "--chunk-shape", "5,5", "--block-shape", "6,5", array, "-o", "/nonexistent/x"},
      {"create", "--chunk-shape", "5,5", "--chunk-size", "1K", array, "-o", "/nonexistent/x"},
      {"create", "--codec", "zlib", "--dict", frame, "-o", "/nonexistent/x"},
      {"create", "--threads", "0", frame, "-o", "/nonexistent/x"},
      {"create", "--meta", "x", frame, "-o", "/nonexistent/x"},
      {"create", "--meta", "=" + frame, frame, "-o", "/nonexistent/x"},
      {"create", "--meta", "b2nd=" + frame, frame, "-o", "/nonexistent/x"},
      {"create", "--vlmeta", "a=" + frame, "--vlmeta", "a=" + frame, frame, "-o", "/nonexistent/x"},
      {"compact"},
      {"set-meta"},
      {"set-meta", frame},
      {"set-meta", frame, "note"},
      {"set-meta", frame, std::string(32, 'n') + "=" + frame},
  };
  for (const Arguments& arguments : bad) {
    const ProcessResult result = b2frame(arguments);
    const json shown(arguments);
    BOOST_TEST(result.status == 2, shown << ": " << result.description());
    BOOST_TEST(result.err.starts_with("b2frame: "), result.err);
    BOOST_TEST(result.out.empty());
  }
}

BOOST_AUTO_TEST_CASE(errors_name_the_file_the_reason_and_the_remedy) {
  const std::string frame = sample("station.log.b2frame");
  const TempDir scratch;
  const std::string missing = scratch / "no/x", present = scratch / "present",
                    folder = scratch / "folder", cut = scratch / "cut.b2frame",
                    two = scratch / "two.b2frame";
  ByteVector bytes = read_file(frame);
  write_file(present, "present");
  fs_std::create_directory(folder);
  write_file(cut, ByteVector(bytes.begin(), bytes.begin() + 300));
  bytes.insert(bytes.end(), bytes.begin(), bytes.end());
  write_file(two, bytes);
  const std::string no_directory = missing + ": No such file or directory; make the directory " +
                                   (scratch / "no").string() + ", or correct the name",
                    no_space = ": No space left on device; free space, or choose another place";
  const std::vector<std::pair<Arguments, std::string>> mistakes = {
      {{"extract", frame, "-o", missing}, no_directory},
      {{"create", frame, "-o", missing}, no_directory},
      {{"extract", frame, "-o", "/dev/full"}, "/dev/full" + no_space},
      {{"extract", frame, "-o", folder}, folder + ": is a directory; name the file to be written"},
      {{"repair", frame, "-o", present},
       present + ": exists; --force replaces it, or choose another name for OUT"},
      {{"convert", frame, "-d", present},
       present + ": is not a directory; choose another name for OUTDIR"},
      {{"set-meta", two, "a:=1"},
       two + ": another frame follows in the same file: Read-only file system"}};
  for (const auto& [arguments, what] : mistakes) {
    const ProcessResult result = b2frame(arguments);
    BOOST_TEST(result.status == 1, result.description());
    BOOST_TEST(result.err == "b2frame: " + what + "\n");
  }
  BOOST_TEST(b2frame({"info", cut}).err.ends_with("; b2frame repair may save it\n"));
  write_file(scratch / "overwritten.b2frame", std::string(300, 'x'));
  for (const char* command : {"info", "cat", "ls"}) {
    const ProcessResult result = b2frame({command, (scratch / "overwritten.b2frame").string()});
    BOOST_TEST(result.err.ends_with("; b2frame repair may save it\n"), result.err);
  }
  for (const std::string& arguments : {"info '" + frame + "'", std::string("--version")}) {
    const ProcessResult full = run({"bash", "-c", B2FRAME " " + arguments + " > /dev/full"});
    BOOST_TEST(full.status == 1);
    BOOST_TEST(full.err.starts_with("b2frame: stdout: "), full.err);
  }
}

BOOST_AUTO_TEST_CASE(explains_itself) {
  for (const Arguments& arguments :
       {Arguments{"--help"}, Arguments{"info", "--help"}, Arguments{"create", "--help"},
        Arguments{"compact", "--help"}, Arguments{"set-meta", "--help"}, Arguments{"--version"}}) {
    const ProcessResult result = b2frame(arguments);
    BOOST_TEST(result.ok(), result.description());
    BOOST_TEST(!result.out.empty());
    BOOST_TEST(result.err.empty());
  }
}

BOOST_AUTO_TEST_SUITE_END()
