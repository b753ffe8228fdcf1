// Lists of Python objects, printed as JSON.

#include <fstream>
#include <sstream>

#include <boost/test/unit_test.hpp>

#include "tests/support/frame_writer.hpp"
#include "tests/tools/program.hpp"

namespace {

using namespace bloscfs::test;
using nlohmann::json;

fs_std::path python_data() { return BLOSCFS_TEST_SOURCE_ROOT "/tests/data/python"; }

json lines_of(const std::string& text) {
  json values = json::array();
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) values.push_back(json::parse(line));
  return values;
}

/// Returns the metalayer of a list with this serializer.
Metalayers described(const char* layer, const char* serializer) {
  return {{layer, json::to_msgpack({{"version", 1}, {"serializer", serializer}})}};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(b2frame_objects)

BOOST_AUTO_TEST_CASE(python_lists_give_the_objects_that_were_put_into_them) {
  std::ifstream file(python_data() / "manifest.json");
  const TempDir scratch;
  int lists = 0;
  for (const json& entry : json::parse(file)) {
    if (entry.at("kind") != "objects") continue;
    BOOST_TEST_CONTEXT(entry.at("path")) {
      const std::string frame = python_data() / entry.at("path").get<std::string>();
      const ProcessResult shown = b2frame({"cat", "--json", frame});
      BOOST_TEST(shown.ok(), shown.description());
      BOOST_TEST((lines_of(shown.out) == entry.at("items")), shown.out);
      const auto out = scratch / "out.json";
      BOOST_TEST(b2frame({"extract", "--json", frame, "-o", out.string()}).ok());
      const ByteVector bytes = read_file(out);
      BOOST_TEST((std::string(bytes.begin(), bytes.end()) == shown.out));
    }
    lists++;
  }
  BOOST_TEST(lists == 2);
}

BOOST_AUTO_TEST_CASE(cat_writes_contents) {
  const TempDir scratch;
  write_file(scratch / "a.b2frame", flat_frame("contents"));
  const ProcessResult result = b2frame({"cat", (scratch / "a.b2frame").string()});
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(result.out == "contents");
}

BOOST_AUTO_TEST_CASE(lists_of_other_serializers_and_bad_documents_are_named) {
  const TempDir scratch;
  Cut cut;
  cut.metalayers = described("batcharray", "pickle");
  const std::string frame = scratch / "a.b2frame";
  write_file(frame, flat_frame("contents", cut));
  ProcessResult result = b2frame({"cat", "--json", frame});
  BOOST_TEST(result.status == 1);
  BOOST_TEST(result.err == "b2frame: " + frame + ": objects of the serializer pickle\n");
  cut.metalayers = described("vlarray", "msgpack");
  write_file(frame, flat_frame("contents", cut));
  const std::string out = scratch / "out";
  result = b2frame({"extract", "--json", frame, "-o", out});
  BOOST_TEST(result.status == 1);
  BOOST_TEST(result.err.starts_with("b2frame: " + frame + ": chunk 0: "), result.err);
  BOOST_TEST(!fs_std::exists(out));
  cut.metalayers = described("batcharray", "json");
  write_file(frame, flat_frame("[1, {\"a\": [2.5]}]", cut));
  BOOST_TEST(b2frame({"cat", "--json", frame}).out == "1\n{\"a\":[2.5]}\n");
}

BOOST_AUTO_TEST_SUITE_END()
