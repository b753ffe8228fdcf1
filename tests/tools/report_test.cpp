// Contents of the pages that `b2frame report` writes, for valid, damaged and hostile frames.

#include <algorithm>
#include <cmath>
#include <sstream>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>
#include <png.h>

#include "frame/header/msgpack_json.hpp"
#include "frame/open/open.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/npy.hpp"
#include "tests/tools/program.hpp"
#include "tests/tools/report_page.hpp"

namespace {

using namespace bloscfs::test;
using bloscfs::frame::json_to_msgpack;

const fs_std::path kData = BLOSCFS_TEST_SOURCE_ROOT "/tests/data";
/// The largest size of a section, whatever its frame claims.
constexpr std::uintmax_t kMostPage = 2 << 20;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

ByteVector msgpack(const std::string& text) { return json_to_msgpack(bytes_of(text)); }

/// Writes the report of a frame. The command must end with `status`.
ReportPage report_of(const fs_std::path& frame, const fs_std::path& out, int status = 0) {
  const ProcessResult result = b2frame({"report", frame.string(), "-o", out.string()});
  BOOST_TEST_REQUIRE(result.status == status, result.description());
  return read_report(out);
}

/// Returns the frames in one directory of the test data, sorted.
std::vector<fs_std::path> frames_in(const fs_std::path& folder, const std::string& suffix = "") {
  std::vector<fs_std::path> found;
  for (const auto& entry : fs_std::directory_iterator(folder))
    if (entry.path().filename() != "manifest.json" && entry.path().filename() != "damaged" &&
        entry.path().string().ends_with(suffix))
      found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

/// Returns an NPY file of rows * columns floats: 0, 1, 2 and so on.
std::string counting_npy(std::int64_t rows, std::int64_t columns) {
  std::string file = npy_header("<f4", {rows, columns});
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    const auto value = static_cast<float>(i);
    file.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return file;
}

/// A picture of the page, with four bytes for a pixel: red, green, blue and opacity.
struct Picture {
  explicit Picture(const std::string& uri) {
    const ByteVector file = decoded(uri.substr(uri.find(',') + 1));
    png_image image{};
    image.version = PNG_IMAGE_VERSION;
    BOOST_REQUIRE(png_image_begin_read_from_memory(&image, file.data(), file.size()) != 0);
    image.format = PNG_FORMAT_RGBA;
    width = image.width;
    pixels.resize(PNG_IMAGE_SIZE(image));
    BOOST_REQUIRE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr) != 0);
  }
  ByteVector at(std::size_t x, std::size_t y) const {
    const auto pixel = pixels.begin() + static_cast<std::ptrdiff_t>((y * width + x) * 4);
    return {pixel, pixel + 4};
  }

  std::size_t width = 0;
  ByteVector pixels;

 private:
  static ByteVector decoded(const std::string& base64) {
    const std::string letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    ByteVector bytes;
    std::uint32_t bits = 0;
    int count = 0;
    for (const char letter : base64.substr(0, base64.find('='))) {
      bits = bits << 6 | static_cast<std::uint32_t>(letters.find(letter));
      count += 6;
      if (count < 8) continue;
      count -= 8;
      bytes.push_back(static_cast<std::uint8_t>(bits >> count));
    }
    return bytes;
  }
};

struct Files {
  TempDir dir;
  fs_std::path out = dir / "out.html";

  fs_std::path array(const std::string& name, const std::string& npy, const Arguments& options) {
    write_file(dir / (name + ".npy"), npy);
    const fs_std::path frame = dir / (name + ".b2nd");
    const ProcessResult result = b2frame(
        Arguments{"create", (dir / (name + ".npy")).string(), "-o", frame.string()} + options);
    if (!result.ok()) throw std::runtime_error(result.description());
    return frame;
  }
  fs_std::path frame(const std::string& name, const ByteVector& bytes) {
    write_file(dir / name, bytes);
    return dir / name;
  }
};

/// Overwrites the middle of a chunk's stored bytes with zeros.
void damage_chunk(const fs_std::path& path, std::int64_t chunk) {
  ByteVector bytes = read_file(path);
  const auto snapshot = bloscfs::frame::open_path(path, {});
  bloscfs::codec::BlockDecoder decoder;
  const auto page = snapshot->read_page(snapshot->page_of_chunk(chunk, nullptr), nullptr, decoder);
  const auto place = page->place(chunk);
  const auto size = snapshot->open_chunk(place, 1 << 24).chunk.header().cbytes;
  const auto middle = bytes.begin() + static_cast<std::ptrdiff_t>(place.stored_offset) + size / 2;
  std::fill(middle, middle + size / 4, std::uint8_t{0xaa});
  write_file(path, bytes);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(report)

BOOST_AUTO_TEST_CASE(each_kind_of_frame_has_a_section) {
  const Files files;
  Arguments named;
  for (const auto& [folder, suffix] : {std::pair("frame/cframe", ""),
                                       {"frame/b2nd", ""},
                                       {"frame/sframe", ""},
                                       {"frame/b2nd-sframe", ""},
                                       {"bloscpack", ".blp"},
                                       {"plugins", ".b2nd"},
                                       {"python", ".b2nd"},
                                       {"python_arrays", ".b2nd"}})
    for (const auto& path : frames_in(kData / folder, suffix)) named.push_back(path.string());
  const ProcessResult result =
      b2frame(Arguments{"report"} + named + Arguments{"-o", files.out.string()});
  // Status 1 is possible, because some of these frames have no contents.
  BOOST_TEST_REQUIRE((result.status == 0 || result.status == 1), result.description());
  const ReportPage page = read_report(files.out);
  BOOST_TEST(page.texts("//section/header/h2") == named, boost::test_tools::per_element());
  BOOST_TEST(page.texts("//nav//a") == named, boost::test_tools::per_element());
  BOOST_TEST(page.count("//section/dl[@class='facts']") == named.size());
  BOOST_TEST(page.count("//h3[.='Reading it']") == named.size());
  BOOST_TEST(page.count("//*[@class='badge bad']") == 0u, result.err);
}

BOOST_AUTO_TEST_CASE(a_page_or_picture_replaces_only_another) {
  const TempDir home;
  const std::string array = home / "a.npy", page = home / "page", frame = home / "f.b2frame";
  write_file(array, counting_npy(100, 100));
  write_file(frame, flat_frame(make_contents("text", 1, 5000, 1)));
  const ByteVector before = read_file(array);
  for (const Arguments& command :
       {Arguments{"report", frame, "-o", array}, Arguments{"advise", array, "--picture", array}}) {
    const ProcessResult result = b2frame(command);
    BOOST_TEST(result.status == 1, result.description());
    BOOST_TEST(contains(result.err, "exists, and is neither a page nor a picture"), result.err);
  }
  BOOST_TEST(read_file(array) == before);
  for (int i = 0; i < 2; i++) BOOST_TEST(b2frame({"report", frame, "-o", page}).ok());
}

BOOST_AUTO_TEST_CASE(the_facts_are_those_of_the_frame) {
  Files files;
  const auto frame = files.array("grid", counting_npy(40, 30),
                                 {"--chunk-shape", "20,30", "--block-shape", "10,30", "--codec",
                                  "lz4", "--filters", "bitshuffle"});
  const ReportPage page = report_of(frame, files.out);
  const auto fact = [&](const std::string& name) {
    return page.text("//dl[@class='facts']/div[dt='" + name + "']/dd");
  };
  BOOST_TEST(fact("Shape") == "40 \u00d7 30");
  BOOST_TEST(fact("Type of elements") == "float32 (<f4)");
  BOOST_TEST(fact("Number of chunks") == "2");
  BOOST_TEST(fact("Chunk") == "20 \u00d7 30 elements, 2.3\u00a0KiB (2\u202f400 bytes)");
  BOOST_TEST(contains(fact("Codec"), "[lz4]"));
  BOOST_TEST(contains(fact("Filters"), "bitshuffle: "));
  BOOST_TEST(page.count("//figure[@class='chunks narrow']/svg/rect") == 2u);
  BOOST_TEST(contains(page.text("//figure[@class='slice']/figcaption"), "values from 0 to 1199"));
  BOOST_TEST(page.text("//footer").starts_with("Made on "));
}

BOOST_AUTO_TEST_CASE(pictures_are_for_numbers_alone) {
  Files files;
  const auto line =
      files.frame("line.b2nd", array_frame(make_contents("floats", 1, 8000, 8), {1000}, "<f8", 8));
  BOOST_TEST(report_of(line, files.out).count("//path[@class='mean']") == 1u);
  const auto cube = files.frame(
      "cube.b2nd", array_frame(make_contents("noise", 1, 24000, 1), {20, 30, 40}, "|u1", 1));
  BOOST_TEST(report_of(cube, files.out).count("//figure[@class='slice']//image") == 3u);
  const auto five = files.frame(
      "five.b2nd", array_frame(make_contents("noise", 1, 7200, 1), {2, 3, 10, 12, 10}, "|i1", 1));
  const ReportPage page = report_of(five, files.out);
  BOOST_TEST(contains(page.texts("//figure[@class='slice']/figcaption").front(),
                      "axis 0 at 1, axis 1 at 1, axis 2 at 5"));
  const auto texts =
      files.frame("texts.b2nd", array_frame(make_contents("text", 1, 400, 4), {100}, "|S4", 4));
  BOOST_TEST(contains(report_of(texts, files.out).text("//section/p[contains(., 'No picture')]"),
                      "|S4 are not numbers"));
  Cut items;
  items.typesize = 4;
  const auto flat =
      files.frame("flat.b2frame", flat_frame(make_contents("noise", 1, 4000, 4), items));
  const ReportPage none = report_of(flat, files.out);
  BOOST_TEST(none.count("//image") == 0u);
  BOOST_TEST(none.count("//h3[.='The array']") == 0u);
}

BOOST_AUTO_TEST_CASE(pictures_in_colour_have_their_colours) {
  Files files;
  const auto picture_of = [&](const std::string& dtype, const std::vector<std::int64_t>& shape,
                              const std::string& contents) {
    const auto frame = files.array("picture", npy_header(dtype, shape) + contents, {});
    return Picture(report_of(frame, files.out).text("//image/@href"));
  };
  const std::string red("\xff\0\0", 3), blue("\0\0\xff", 3), grey("\x80\x80\x80", 3);
  const Picture rgb = picture_of("|u1", {2, 2, 3}, red + blue + grey + red);
  BOOST_TEST(rgb.pixels.size() == 16u);
  BOOST_TEST(rgb.at(0, 0) == (ByteVector{255, 0, 0, 255}));
  BOOST_TEST(rgb.at(1, 0) == (ByteVector{0, 0, 255, 255}));
  BOOST_TEST(rgb.at(0, 1) == (ByteVector{128, 128, 128, 255}));
  // Of three pictures, the page shows the second one.
  const Picture middle = picture_of("|u1", {3, 1, 1, 3}, red + blue + grey);
  BOOST_TEST(middle.at(0, 0) == (ByteVector{0, 0, 255, 255}));
  const Picture clear = picture_of("|u1", {1, 2, 4}, red + "\x40" + blue + "\xff");
  BOOST_TEST(clear.at(0, 0)[3] == 64);
  BOOST_TEST(clear.at(1, 0)[3] == 255);
  // The largest value becomes full brightness. A fourth channel of zeros does not hide the picture.
  const std::string twelve_bits("\xf0\x0f\0\0\0\0\0\0\0\0\xf8\x07\0\0\0\0", 16);
  const Picture wide = picture_of("<u2", {1, 2, 4}, twelve_bits);
  BOOST_TEST(wide.at(0, 0) == (ByteVector{255, 0, 0, 255}));
  BOOST_TEST(wide.at(1, 0) == (ByteVector{0, 128, 0, 255}));
}

BOOST_AUTO_TEST_CASE(what_stands_in_files_is_text) {
  Files files;
  const std::string evil = "<script>document.title=1";
  Cut cut;
  cut.metalayers = {{"</title><b>", msgpack(R"(["</dd></dl><img src=x onerror=alert(1)>"])")}};
  cut.vlmetalayers = {
      {evil, encode_copied_chunk(
                 msgpack(R"({"\"><svg onload=alert(1)>": {"&lt;": "\u0000\u202e"}})"), 1)},
      {"bytes", encode_copied_chunk({0xff, 0xfe, '<', 0x00, '>'}, 1)}};
  const auto frame =
      files.frame("a \"<i>&amp;'.b2frame", flat_frame(make_contents("text", 3, 5000, 1), cut));
  const ReportPage page = report_of(frame, files.out);
  BOOST_TEST(page.count("//script") == 1u);
  BOOST_TEST(page.count("//img") == 0u);
  BOOST_TEST(page.count("//@onload | //@onerror") == 0u);
  BOOST_TEST(page.text("/html/head/title") == frame.string());
  BOOST_TEST(page.text("//section/header/h2") == frame.string());
  BOOST_TEST(page.count("//dl[@class='layers']/dt/code[.='" + evil + "']") == 1u);
  BOOST_TEST(page.count("//dl[@class='layers']//code[contains(., '<img src=x')]") == 1u);
}

BOOST_AUTO_TEST_CASE(texts_show_their_first_lines) {
  Files files;
  const auto text_of = [&](const std::string& contents) {
    const ReportPage page = report_of(files.frame("x.b2frame", flat_frame(contents)), files.out);
    return page.count("//pre[@class='scroll text']") == 0
               ? ""
               : page.text("//pre[@class='scroll text']");
  };
  BOOST_TEST(text_of("<b>17 \u00b5m</b>\r\n\tand\n") == "<b>17 \u00b5m</b>\n\tand\n");
  std::string many;
  for (int i = 0; i < 1000; i++) many += fmt::format("line {}\n", i);
  const std::string shown = text_of(many);
  BOOST_TEST(shown.starts_with("line 0\nline 1\n"));
  BOOST_TEST(shown.ends_with("line 29\n\u2026"));
  // The preview ends within a character.
  std::string umlauts = "x";
  for (int i = 0; i < 4000; i++) umlauts += "\u00e4";
  BOOST_TEST(text_of(umlauts).ends_with("\u00e4\n\u2026"));
  BOOST_TEST(text_of("") == "");
  BOOST_TEST(text_of("almost \x01 text") == "");
  BOOST_TEST(text_of("no UTF-8: \xff") == "");
}

BOOST_AUTO_TEST_CASE(fields_of_arrays_have_names) {
  Files files;
  const auto frame = files.array("grid", counting_npy(40, 30),
                                 {"--chunk-shape", "20,30", "--block-shape", "10,30"});
  const ReportPage page = report_of(frame, files.out);
  const auto field = [&](const std::string& name) {
    return page.text("//dl[@class='layers']//li[b='" + name + "']/code");
  };
  BOOST_TEST(field("shape") == "[40, 30]");
  BOOST_TEST(field("chunks") == "[20, 30]");
  BOOST_TEST(field("blocks") == "[10, 30]");
  BOOST_TEST(field("dtype") == "\u201c<f4\u201d");
}

BOOST_AUTO_TEST_CASE(metalayers_take_bounded_room) {
  Files files;
  std::string deep = "1", wide;
  for (int i = 0; i < 30; ++i) deep = "[[" + deep + "],{}]";
  for (int i = 0; i < 20000; ++i) wide += fmt::format("{}{{\"{}\":[[]]}}", i == 0 ? "" : ",", i);
  Cut cut;
  for (int i = 0; i < 300; ++i)
    cut.vlmetalayers.emplace_back(fmt::format("m{}", i), encode_copied_chunk(msgpack("[1]"), 1));
  cut.metalayers = {{"deep", msgpack(deep)},
                    {"wide", msgpack("[" + wide + "]")},
                    {"long", msgpack("\"" + std::string(500000, 'x') + "\"")},
                    {"many", ByteVector(3 << 20, 'y')}};
  const auto frame =
      files.frame("large.b2frame", flat_frame(make_contents("text", 3, 5000, 1), cut));
  const ReportPage page = report_of(frame, files.out);
  BOOST_TEST(fs_std::file_size(files.out) < kMostPage);
  BOOST_TEST(page.count("//*[@class='left-out'][contains(., 'nested too deeply')]") == 1u);
  BOOST_TEST(page.count("//li[@class='left-out'][contains(., 'more')]") > 0u);
  BOOST_TEST(page.count("//*[@class='left-out'][contains(., 'too large for this page')]") == 1u);
  BOOST_TEST(page.count("//p[@class='left-out'][contains(., '200 metalayers more')]") == 1u);
}

BOOST_AUTO_TEST_CASE(damaged_chunks_are_named_and_marked) {
  Files files;
  const auto frame = files.array("grid", counting_npy(400, 100),
                                 {"--chunk-shape", "40,100", "--block-shape", "20,100"});
  damage_chunk(frame, 3);
  const ProcessResult result = b2frame({"report", frame.string(), "-o", files.out.string()});
  BOOST_TEST(result.status == 1);
  BOOST_TEST(result.err == "b2frame: " + frame.string() + ": 1 damaged chunk\n");
  const ReportPage page = read_report(files.out);
  BOOST_TEST(page.text("//ul[@class='findings']/li/b") == "chunk 3");
  // The finding is the message of verify.
  const std::string reason = b2frame({"verify", frame.string()}).err;
  BOOST_TEST(contains(reason, page.text("//ul[@class='findings']/li")), reason);
  BOOST_TEST(page.count("//svg[@class='map']/use[@href='#shape-damage']") == 1u);
  BOOST_TEST(page.count("//details//tr[th='Chunk 3']/td[.='damaged']") == 1u);
  BOOST_TEST(contains(page.text("//figure[@class='slice']/figcaption"),
                      "elements that cannot be decoded"));
  BOOST_TEST(page.count("//*[@class='badge bad']") == 1u);
  BOOST_TEST(contains(page.texts("//pre").back(), "b2frame repair "));
}

BOOST_AUTO_TEST_CASE(a_frame_without_a_header_has_what_repair_knows) {
  Files files;
  const auto frame = files.array("grid", counting_npy(400, 100),
                                 {"--chunk-shape", "40,100", "--block-shape", "20,100"});
  ByteVector bytes = read_file(frame);
  std::fill(bytes.begin() + 20, bytes.begin() + 50, std::uint8_t{0xff});
  write_file(frame, bytes);
  const ReportPage page = report_of(frame, files.out, 1);
  BOOST_TEST(page.count("//h3[.='It cannot be opened']") == 1u);
  BOOST_TEST(contains(page.text("//div[h3='What is left']/p"), "156\u00a0KiB of 156\u00a0KiB"));
  BOOST_TEST(page.count("//svg[@class='map']/rect") == 10u);
  BOOST_TEST(page.text("//dl[@class='facts']/div[dt='Shape']/dd") == "400 \u00d7 100");
}

BOOST_AUTO_TEST_CASE(one_number_is_no_histogram) {
  Files files;
  const auto one = files.frame("one.b2frame", flat_frame(make_contents("text", 1, 50'000, 1)));
  const ReportPage page = report_of(one, files.out);
  BOOST_TEST(page.count("//figure") == 0u);
  BOOST_TEST(page.count("//p[starts-with(., 'Chunk 0: ')][contains(., ' in ')]") == 1u);
  std::string contents;
  for (int i = 0; i < 4; i++) contents += std::string(65'536, static_cast<char>('a' + i));
  const ReportPage equal = report_of(files.frame("equal.b2frame", flat_frame(contents)), files.out);
  BOOST_TEST(equal.count("//figure[@class='histogram']") == 0u);
  BOOST_TEST(equal.count("//svg[@class='map']/rect") == 4u);
  BOOST_TEST(contains(equal.text("//p[b='Compression.']"), "4 chunks are stored, "));
}

BOOST_AUTO_TEST_CASE(a_million_chunks_are_binned) {
  Files files;
  constexpr std::int64_t kChunks = 1'000'000;
  const ByteVector chunk = encode_chunk(make_contents("ramp", 1, 1000, 1), 1, 500);
  FramePlan plan;
  plan.chunksize = 1000;
  plan.blocksize = 500;
  plan.nbytes = kChunks * 1000;
  std::vector<std::int64_t> entries(kChunks, kZeroChunk);
  for (std::size_t i = 500'000; i < 600'000; ++i) entries[i] = 0;
  const auto frame = files.frame("large.b2frame", encode_frame(plan, chunk, entries));
  const ReportPage page = report_of(frame, files.out);
  BOOST_TEST(fs_std::file_size(files.out) < kMostPage);
  const std::size_t cells = page.count("//svg[@class='map']/rect");
  BOOST_TEST(cells > 900u);
  BOOST_TEST(cells <= 2048u);
  BOOST_TEST(page.count("//figure[1]//tbody/tr") >= cells);
  const auto stored = static_cast<double>(page.count("//svg[@class='map']/rect[@fill]"));
  BOOST_TEST(std::abs(stored / static_cast<double>(cells) - 0.1) < 0.01);
  BOOST_TEST(contains(page.texts("//figcaption").front(), "were read, evenly spread"));
  BOOST_TEST(contains(page.text("//p[@class='note good']"), "A sample of the 1\u202f000\u202f000"));
}

BOOST_AUTO_TEST_CASE(its_commands_read_the_frame) {
  Files files;
  const auto frame = files.array("a b'c", counting_npy(4, 3), {});
  const ReportPage page = report_of(frame, files.out);
  const std::string lines = page.texts("//pre").front();
  const std::string extract = lines.substr(0, lines.find('\n'));
  BOOST_TEST_REQUIRE(extract.starts_with("b2frame extract "));
  const fs_std::path work = files.dir / "work";
  fs_std::create_directory(work);
  const std::string folder = fs_std::path(B2FRAME).parent_path().string();
  const ProcessResult result =
      run({"sh", "-c", "PATH=" + folder + ":$PATH; cd \"$1\" && " + extract, "sh", work.string()});
  BOOST_TEST_REQUIRE(result.ok(), result.description());
  const ByteVector read = read_file(work / "a b'c.npy");
  BOOST_TEST(std::string(read.begin(), read.end()) == counting_npy(4, 3));
}

BOOST_AUTO_TEST_CASE(stores_have_a_section_for_each_frame) {
  const Files files;
  const std::string store = (kData / "stores/tree0.b2z").string();
  const ProcessResult listed = b2frame({"ls", "--json", store});
  const ReportPage page = report_of(store, files.out);
  const auto names = page.texts("//section/header/h2");
  BOOST_TEST(names.size() > 1u);
  for (const std::string& name : names) {
    BOOST_TEST_REQUIRE(name.starts_with(store + ":/"));
    BOOST_TEST(contains(listed.out, "\"" + name + "\""), name);
  }
  const ReportPage one = report_of(names.front(), files.out);
  BOOST_TEST(one.text("//section/header/h2") == names.front());
}

BOOST_AUTO_TEST_CASE(tables_are_shown_as_tables) {
  const Files files;
  const std::string store = (kData / "stores/ct1.b2d").string();
  const ProcessResult written =
      b2frame({"extract", store + ":/", "-o", (files.dir / "t.csv").string()});
  BOOST_TEST_REQUIRE(written.ok(), written.description());
  const ByteVector csv = read_file(files.dir / "t.csv");
  std::istringstream lines(std::string(csv.begin(), csv.end()));
  const ReportPage page = report_of(store, files.out);
  BOOST_TEST(page.texts("//section/header/h2").front() == store + ":/");
  BOOST_TEST(page.text("//section[1]/p[@class='lead']") == "A table of 566 rows and 3 columns.");
  std::string line;
  std::getline(lines, line);
  BOOST_TEST(page.texts("//table[@class='rows']//th/text()") == (Arguments{"id", "x", "s"}),
             boost::test_tools::per_element());
  BOOST_TEST(
      page.texts("//table[@class='rows']//th/span") == (Arguments{"int64", "float64", "string"}),
      boost::test_tools::per_element());
  const std::size_t rows = page.count("//table[@class='rows']/tbody/tr");
  BOOST_TEST(rows == 20u);
  for (std::size_t i = 1; i <= rows; i++) {
    std::string cells;
    for (const std::string& cell :
         page.texts(fmt::format("//table[@class='rows']/tbody/tr[{}]/td", i)))
      cells += (cells.empty() ? "" : ",") + cell;
    std::getline(lines, line);
    BOOST_TEST(cells == line);
  }
}

BOOST_AUTO_TEST_CASE(a_table_of_another_kind_says_which_column_it_is) {
  const Files files;
  const std::string table = files.dir / "t.b2d";
  fs_std::copy(kData / "stores/ct1.b2d", table, fs_std::copy_options::recursive);
  const ProcessResult set =
      b2frame({"set-meta", table + "/_meta.b2f",
               R"(schema:="{\"version\":1,\"columns\":[{\"name\":\"<x>\",\"kind\":\"novel\"}]}")"});
  BOOST_TEST_REQUIRE(set.ok(), set.description());
  const ReportPage page = report_of(table, files.out, 1);
  BOOST_TEST(contains(page.text("//section[1]/div[@class='note warn']/p"), "column <x>: "));
  BOOST_TEST(page.count("//table[@class='rows']") == 0u);
  BOOST_TEST(page.count("//section") > 4u);
}

BOOST_AUTO_TEST_CASE(a_page_replaces_another_only_when_it_has_something_to_tell) {
  Files files;
  const auto frame = files.frame("x.b2frame", flat_frame(std::string(5000, 'x')));
  write_file(files.out, "<old>");
  write_file(files.dir / "none", "no frame");
  for (const char* name : {"missing", "none"}) {
    const std::string path = (files.dir / name).string();
    const ProcessResult result = b2frame({"report", path, "-o", files.out.string()});
    BOOST_TEST(result.status == 1);
    BOOST_TEST(is_message_about(result.err, path), result.err);
    BOOST_TEST(read_file(files.out) == bytes_of("<old>"));
  }
  const ProcessResult both = b2frame(
      {"report", (files.dir / "missing").string(), frame.string(), "-o", files.out.string()});
  BOOST_TEST(both.status == 1);
  BOOST_TEST(read_report(files.out).count("//section") == 2u);
  const ProcessResult printed = b2frame({"report", frame.string(), "-o", "-"});
  BOOST_TEST(ReportPage(printed.out).count("//section") == 1u);
  const ByteVector before = read_file(frame);
  BOOST_TEST(b2frame({"report", frame.string(), "-o", frame.string()}).status == 2);
  BOOST_TEST(read_file(frame) == before);
}

BOOST_AUTO_TEST_SUITE_END()
