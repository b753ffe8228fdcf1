// Records (items of structured types) as text and as CSV, and their first rows.

#include <cstring>

#include <boost/test/unit_test.hpp>

#include "tests/support/frame_writer.hpp"
#include "tests/support/npy.hpp"
#include "tests/tools/program.hpp"

namespace {

using namespace bloscfs::test;

/// The layout of C, with a gap of four bytes.
struct Record {
  std::int32_t id;
  std::int32_t gap;
  double x, y;
  std::int16_t levels[2];
  char name[4];
};
static_assert(sizeof(Record) == 32);

const char* const kDtype =
    "{'names': ['id', 'at', 'levels', 'name'], 'formats': ['<i4', [('x', '<f8'), ('y', '<f8')], "
    "('<i2', (2,)), 'S4'], 'offsets': [0, 8, 24, 28], 'itemsize': 32}";

ByteVector records(int count) {
  ByteVector bytes;
  for (int i = 0; i < count; i++) {
    const Record record{
        i, 77, i + 0.5, -1, {static_cast<std::int16_t>(10 * i), 2}, {'a', ',', 0, 0}};
    const auto* const first = reinterpret_cast<const std::uint8_t*>(&record);
    bytes.insert(bytes.end(), first, first + sizeof record);
  }
  return bytes;
}

std::string succeeded(const Arguments& arguments) {
  const ProcessResult result = b2frame(arguments);
  BOOST_TEST(result.ok(), result.description());
  return result.out;
}

struct RecordPlace {
  TempDir home;
  std::string file;
  explicit RecordPlace(int count) : file((home / "r.b2nd").string()) {
    write_file(file, array_frame(records(count), {count}, kDtype, sizeof(Record)));
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(b2frame_records)

BOOST_AUTO_TEST_CASE(are_lines_of_text) {
  const RecordPlace place(3);
  BOOST_TEST(succeeded({"cat", "--text", place.file}) ==
             "0 0.5 -1.0 0 2 a,\n1 1.5 -1.0 10 2 a,\n2 2.5 -1.0 20 2 a,\n");
  BOOST_TEST(succeeded({"cat", "--text", "-s", "-1", place.file}) == "2 2.5 -1.0 20 2 a,\n");
  BOOST_TEST(succeeded({"cat", "--text", place.file + "[::-2]"}) ==
             "2 2.5 -1.0 20 2 a,\n0 0.5 -1.0 0 2 a,\n");
}

BOOST_AUTO_TEST_CASE(are_rows_of_csv_below_the_names_of_their_fields) {
  const RecordPlace place(2);
  const std::string csv = (place.home / "r.csv").string();
  const std::string head = "id,at.x,at.y,levels[0],levels[1],name\n";
  const auto text = [&] {
    const ByteVector bytes = read_file(csv);
    return std::string(bytes.begin(), bytes.end());
  };
  succeeded({"extract", place.file, "-o", csv});
  BOOST_TEST(text() == head + "0,0.5,-1.0,0,2,\"a,\"\n1,1.5,-1.0,10,2,\"a,\"\n");
  succeeded({"extract", place.file + "[1:]", "-o", csv});
  BOOST_TEST(text() == head + "1,1.5,-1.0,10,2,\"a,\"\n");
}

BOOST_AUTO_TEST_CASE(can_be_chosen_by_field_and_row_and_are_json) {
  const RecordPlace place(4);
  const std::string csv = (place.home / "r.csv").string();
  succeeded({"extract", "--columns", "at.x,id", place.file, "-n", "2", "-o", csv});
  const ByteVector text = read_file(csv);
  BOOST_TEST(std::string(text.begin(), text.end()) == "at.x,id\n0.5,0\n1.5,1\n");
  BOOST_TEST(succeeded({"cat", "--text", "-s", "-1", "--columns", "id,name", place.file}) ==
             "3 a,\n");
  BOOST_TEST(succeeded({"head", "--columns", "id", place.file + "[2:]"}) == "id\n 2\n 3\n");
  BOOST_TEST(succeeded({"cat", "--json", "-n", "1", place.file}) ==
             R"({"id":0,"at.x":0.5,"at.y":-1.0,"levels[0]":0,"levels[1]":2,)"
             R"("name":{"$binary":"YSw="}})"
             "\n");
  const std::string npy = (place.home / "r.npy").string();
  succeeded({"extract", place.file, "-n", "2", "-o", npy});
  const ByteVector part = read_file(npy);
  succeeded({"extract", place.file + "[:2]", "-o", npy});
  BOOST_TEST((part == read_file(npy)));
  const auto told = [&](const Arguments& arguments) {
    const ProcessResult result = b2frame(arguments + Arguments{place.file});
    BOOST_TEST(result.status == 2, result.description());
    return result.err;
  };
  BOOST_TEST(
      told({"cat", "--text", "--columns", "w"}).find("has no column 'w'; the columns are ") !=
      std::string::npos);
  BOOST_TEST(told({"cat", "--columns", "id"}).find("--text and --json") != std::string::npos);
  BOOST_TEST(told({"cat", "--rows", "1:2"}).find("'FILE[10:20]'") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(that_have_no_text_name_the_field) {
  const TempDir home;
  const std::string file = (home / "v.b2nd").string();
  write_file(file, array_frame(ByteVector(24, 1), {2}, "[('a', '<i4'), ('raw', '|V8')]", 12));
  for (const Arguments& arguments : {Arguments{"head", file}, Arguments{"cat", "--text", file}}) {
    const ProcessResult result = b2frame(arguments);
    BOOST_TEST(result.status == 1);
    BOOST_TEST(result.err.find("field raw") != std::string::npos, result.err);
  }
  write_file(file, array_frame(ByteVector(30'000, 1), {1}, "[('a', '|u1', (30000,))]", 30'000));
  BOOST_TEST(b2frame({"head", file}).err.find("more than 4096 fields") != std::string::npos);
  const ByteVector few =
      array_frame(ByteVector(4, 1), {1}, "[('a', '|u1', (1000000000, 0)), ('b', '<i4')]", 4);
  write_file(file, few);
  BOOST_TEST(b2frame({"head", file}, Seconds{10}).status == 1);
}

BOOST_AUTO_TEST_CASE(head_shows_first_rows) {
  const RecordPlace place(30);
  BOOST_TEST(succeeded({"head", "-n", "2", place.file}) ==
             "id  at.x  at.y  levels[0]  levels[1]  name\n"
             " 0   0.5  -1.0          0          2    a,\n"
             " 1   1.5  -1.0         10          2    a,\n");
  const std::string all = succeeded({"head", place.file});
  BOOST_TEST(std::count(all.begin(), all.end(), '\n') == 11);
  const std::string matrix = (place.home / "m.b2nd").string();
  write_file(matrix, array_frame(ByteVector(40, 7), {20, 2}, "|u1", 1));
  BOOST_TEST(succeeded({"head", "-n", "3", matrix}) == "7 7\n7 7\n7 7\n");
  BOOST_TEST(succeeded({"head", "-n", "0", matrix}).empty());
  BOOST_TEST(succeeded({"head", "-n", "2", matrix + "[:, 0]"}) == "7\n7\n");
}

BOOST_AUTO_TEST_CASE(head_of_a_text_gives_lines) {
  const TempDir home;
  const std::string file = (home / "t.b2frame").string();
  std::string text;
  for (int i = 0; i < 50'000; i++) text += "line " + std::to_string(i) + "\n";
  write_file(file, flat_frame(text));
  BOOST_TEST(succeeded({"head", "-n", "2", file}) == "line 0\nline 1\n");
  BOOST_TEST((succeeded({"head", "-n", "100000", file}) == text));
  write_file(file, flat_frame(std::string("no end")));
  BOOST_TEST(succeeded({"head", file}) == "no end");
  write_file(file, flat_frame(std::string("\0\1\2", 3)));
  BOOST_TEST(succeeded({"head", "-n", "2", file}) == "0\n1\n");
}

/// The array keeps the gap, and a mount would show the same bytes.
BOOST_AUTO_TEST_CASE(with_holes_become_arrays) {
  const TempDir home;
  const std::string npy = (home / "r.npy").string(), frame = (home / "r.b2nd").string();
  const std::string descr =
      "[('id', '<i4'), ('', '|V4'), ('at', [('x', '<f8'), ('y', '<f8')]), ('levels', '<i2', (2,)), "
      "('name', '|S4')]";
  std::string header = npy_header("?", {5});
  const std::size_t at = header.find("'?'");
  header.replace(at, 3, descr);
  // numpy.save pads the header to a multiple of 64 bytes.
  header.erase(header.find_last_not_of(" \n") + 1);
  header += std::string(20, ' ');
  header += std::string(64 - (header.size() + 1) % 64, ' ') + "\n";
  header[8] = static_cast<char>((header.size() - 10) & 0xff);
  header[9] = static_cast<char>((header.size() - 10) >> 8);
  const ByteVector contents = records(5);
  const std::string file = header + std::string(contents.begin(), contents.end());
  write_file(npy, file);
  succeeded({"create", npy, "-o", frame});
  BOOST_TEST(info_of(frame).at("dtype").get<std::string>().find("'offsets': [0, 8, 24, 28]") !=
             std::string::npos);
  BOOST_TEST((extracted(frame, true) == file));
  BOOST_TEST(succeeded({"head", "-n", "1", frame}).starts_with("id  at.x"));
}

BOOST_AUTO_TEST_SUITE_END()
