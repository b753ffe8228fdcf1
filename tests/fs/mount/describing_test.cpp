// Extended attributes of containers, of metalayers, and of source files.

#include <cerrno>

#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <sys/xattr.h>

#include "tests/fs/mount/in_process.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/xattr.hpp"

namespace bloscfs::test {
namespace {

constexpr const char* kLayer = "user.blosc2.vlmeta.note";
constexpr const char* kJsonLayer = "user.blosc2.json.note";

}  // namespace

BOOST_AUTO_TEST_SUITE(describing_in_process)

BOOST_AUTO_TEST_CASE(metalayers_are_read_set_and_removed) {
  const TempDir source;
  Cut cut;
  cut.vlmetalayers = {{"old", bytes_of("value")}};
  cut.metalayers = {{"fixed", bytes_of("abc")}};
  write_file(source / "a.b2frame", flat_frame("contents", cut));
  InProcess mount(source.path());
  BOOST_TEST(mount.attribute("a", "user.blosc2.vlmeta.old") == "value");
  BOOST_TEST(mount.attribute("a", "user.blosc2.meta.fixed") == "abc");
  BOOST_TEST(error_of([&] { mount.attribute("a", kLayer); }) == ENODATA);
  mount.set_attribute("a", kLayer, "text");
  BOOST_TEST(mount.attribute("a", kLayer) == "text");
  BOOST_TEST(error_of([&] { mount.set_attribute("a", kLayer, "x", XATTR_CREATE); }) == EEXIST);
  BOOST_TEST(error_of([&] {
               mount.set_attribute("a", "user.blosc2.vlmeta.none", "x", XATTR_REPLACE);
             }) == ENODATA);
  mount.remove_attribute("a", "user.blosc2.vlmeta.old");
  BOOST_TEST(error_of([&] { mount.attribute("a", "user.blosc2.vlmeta.old"); }) == ENODATA);
  mount->commit_written();
  BOOST_TEST(mount.attribute("a", kLayer) == "text");
  mount.set_attribute("a", "user.blosc2.meta.fixed", "longer than before");
  mount.end();
  InProcess again(source.path());
  BOOST_TEST(again.attribute("a", kLayer) == "text");
  BOOST_TEST(again.attribute("a", "user.blosc2.meta.fixed") == "longer than before");
  BOOST_TEST(error_of([&] { again.attribute("a", "user.blosc2.vlmeta.old"); }) == ENODATA);
  BOOST_CHECK(again.read("a") == bytes_of("contents"));
  const Names names = again.attributes("a");
  BOOST_TEST(std::count(names.begin(), names.end(), kLayer) == 1);
}

BOOST_AUTO_TEST_CASE(values_are_json_by_another_name) {
  const TempDir source;
  InProcess mount(source.path());
  mount.write("a", bytes_of("contents"));
  const std::string name = kJsonLayer;
  const int error = error_of([&] { mount.set_attribute("a", name, R"({"x":[1,2]})"); });
  BOOST_REQUIRE(error == 0);
  BOOST_CHECK(nlohmann::json::parse(mount.attribute("a", name)) ==
              nlohmann::json::parse(R"({"x":[1,2]})"));
  BOOST_TEST(error_of([&] { mount.set_attribute("a", name, "{no json"); }) == EINVAL);
}

BOOST_AUTO_TEST_CASE(computed_values_are_told_and_not_set) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame("contents"));
  InProcess mount(source.path());
  for (const std::string& name : mount.attributes("a")) BOOST_TEST_CONTEXT(name) {
      const std::string value = mount.attribute("a", name);
      BOOST_TEST(!value.empty());
      BOOST_TEST(error_of([&] { mount.set_attribute("a", name, value); }) == 0);
      BOOST_TEST(error_of([&] { mount.set_attribute("a", name, "another"); }) == EPERM);
      BOOST_TEST(error_of([&] { mount.remove_attribute("a", name); }) == EPERM);
    }
  for (const char* name : {"user.blosc2.nonsense", "user.blosc2."})
    BOOST_TEST(error_of([&] { mount.set_attribute("a", name, "x"); }) == EINVAL, name);
  BOOST_TEST(error_of([&] { mount.remove_attribute("a", "user.blosc2.nonsense"); }) == ENODATA);
  BOOST_TEST(error_of([&] { mount.set_attribute("", "user.bloscfs.stats", "x"); }) == EPERM);
  BOOST_TEST(error_of([&] { mount.attribute("a", "security.x"); }) == EOPNOTSUPP);
}

// The settings are known before the frame exists.
BOOST_AUTO_TEST_CASE(file_that_was_never_committed_tells_what_it_will_be) {
  const TempDir source;
  InProcess mount(source.path(), "codec=lz4,clevel=3");
  const InProcess::File file = mount.create("a");
  file.write(0, make_contents("text", 1, 100000, 1));
  BOOST_TEST(mount.attribute("a", "user.blosc2.codec") == "lz4");
  BOOST_TEST(mount.attribute("a", "user.blosc2.nbytes") == "100000");
}

BOOST_AUTO_TEST_CASE(attributes_of_source_files_pass_through) {
  const TempDir source;
  write_file(source / "a.b2frame", flat_frame("contents"));
  write_file(source / "plain", bytes_of("text"));
  InProcess mount(source.path());
  for (const auto& [shown, stored] : {std::pair("a", "a.b2frame"), std::pair("plain", "plain")}) {
    mount.set_attribute(shown, "user.note", "text");
    BOOST_TEST(get_xattr(source / stored, "user.note").value_or("") == "text");
    BOOST_TEST(mount.attribute(shown, "user.note") == "text");
    mount.remove_attribute(shown, "user.note");
    BOOST_TEST(error_of([&, &name = shown] { mount.attribute(name, "user.note"); }) == ENODATA);
  }
}

BOOST_AUTO_TEST_CASE(root_tells_the_counters) {
  const TempDir source;
  InProcess mount(source.path());
  mount.write("a", bytes_of("one"));
  mount->commit_written();
  const auto stats = nlohmann::json::parse(mount.attribute("", "user.bloscfs.stats"));
  BOOST_TEST(stats.at("commits") == 1);
  BOOST_TEST(stats.at("dirty_bytes") == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
