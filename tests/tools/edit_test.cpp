// Tests `b2frame set-meta` and `b2frame compact`.

#include <optional>

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/proc.hpp"
#include "tests/support/source_lock.hpp"
#include "tests/tools/program.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;
using nlohmann::json;

std::string bloscpack_file() {
  return BLOSCFS_TEST_SOURCE_ROOT "/tests/data/bloscpack/v2-crc32.blp";
}

/// A frame with contents, in a directory with files for metalayers.
class Frame {
 public:
  explicit Frame(const Arguments& options = {}) {
    write_file(scratch_ / "input", make_contents("floats", 1, 300'000, 4));
    write_file(scratch_ / "raw", make_contents("noise", 2, 5000, 1));
    write_file(scratch_ / "text", std::string_view("some text"));
    write_file(scratch_ / "facts.json", std::string_view(R"({"a": [1, 2]})"));
    const ProcessResult result = b2frame(Arguments{"create", "--chunk-size", "16K"} + options +
                                         Arguments{scratch_ / "input", "-o", path()});
    BOOST_TEST_REQUIRE(result.ok(), result.description());
  }
  std::string path() const { return scratch_ / "x.b2frame"; }
  std::string directory() const { return scratch_.path(); }
  std::string file(const char* name) const { return scratch_ / name; }
  ProcessResult set_meta(const std::vector<std::pair<std::string, std::string>>& layers) const {
    Arguments arguments{"set-meta", path()};
    for (const auto& [name, file] : layers)
      arguments.push_back(name + "=" + (file.empty() ? "" : (scratch_ / file).string()));
    return b2frame(arguments);
  }
  std::string text_of(const char* name) const {
    const ByteVector bytes = read_file(scratch_ / name);
    return {bytes.begin(), bytes.end()};
  }
  json vlmetalayers() const { return info_of(path()).at("vlmetalayers"); }
  bool is_sound() const {
    const ByteVector contents = read_file(scratch_ / "input");
    return b2frame({"verify", path()}).ok() &&
           extracted(path()) == std::string(contents.begin(), contents.end());
  }

 private:
  TempDir scratch_;
};

/// Starts a command, and returns it once it waits for a lock.
Child waiting_command(const Arguments& command, const Frame& frame) {
  Child child(Arguments{B2FRAME} + command, frame.file("log"));
  BOOST_TEST_REQUIRE(comes_to_call(child.pid(), SYS_clock_nanosleep));
  return child;
}

const std::vector<Arguments> kKinds = {{}, {"--sparse"}, {"--checksum"}};

}  // namespace

BOOST_AUTO_TEST_SUITE(b2frame_set_meta)

BOOST_AUTO_TEST_CASE(sets_replaces_and_removes_vlmetalayers) {
  for (const Arguments& kind : kKinds) {
    const Frame frame(kind);
    BOOST_TEST(frame.set_meta({{"one", "text"}, {"two", "facts.json"}}).ok());
    BOOST_TEST(frame.vlmetalayers().at("one") == "some text");
    BOOST_TEST(frame.vlmetalayers().at("two") == json({{"a", {1, 2}}}));
    BOOST_TEST(frame.set_meta({{"one", "facts.json"}, {"two", ""}, {"three", "raw"}}).ok());
    BOOST_TEST(frame.vlmetalayers().at("one") == json({{"a", {1, 2}}}));
    BOOST_TEST(!frame.vlmetalayers().contains("two"));
    BOOST_TEST(frame.vlmetalayers().contains("three"));
    BOOST_TEST(frame.is_sound());
  }
}

BOOST_AUTO_TEST_CASE(takes_json_from_the_command_line) {
  const Frame frame;
  const ProcessResult result = b2frame(
      {"set-meta", frame.path(), R"(one:={"a": [1, "="]})", "two:=3", "odd=" + frame.file("text")});
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(frame.vlmetalayers() ==
             json({{"one", {{"a", {1, "="}}}}, {"two", 3}, {"odd", "some text"}}));
  for (const char* wrong : {"one:={", "one:=", ":=1", R"(one:={"hex":"00"})",
                            "one:=18446744073709551616", "one:=[-9223372036854775809]"})
    BOOST_TEST(b2frame({"set-meta", frame.path(), wrong}).status == 2, wrong);
  BOOST_TEST(frame.vlmetalayers().at("two") == 3);
  BOOST_TEST(b2frame({"set-meta", frame.path(), "two:=[18446744073709551615, 1e30]"}).ok());
  BOOST_TEST(frame.vlmetalayers().at("two") == json({18446744073709551615U, 1e30}));
}

BOOST_AUTO_TEST_CASE(tells_how_a_text_is_given) {
  const Frame frame;
  const ProcessResult result = b2frame({"set-meta", frame.path(), "units=degC"});
  BOOST_TEST(result.status == 1);
  BOOST_TEST(result.err.find("'units:=\"degC\"' stores the text itself") != std::string::npos,
             result.err);
  // A shell gives these words for units:="K" and units:={.
  const ProcessResult unquoted = b2frame({"set-meta", frame.path(), "units:=K"});
  BOOST_TEST(unquoted.status == 2);
  BOOST_TEST(unquoted.err.find("'units:=\"K\"' stores the text itself") != std::string::npos,
             unquoted.err);
  const ProcessResult open = b2frame({"set-meta", frame.path(), "units:={"});
  BOOST_TEST(open.err.find("stores the text") == std::string::npos, open.err);
}

BOOST_AUTO_TEST_CASE(changes_all_layers_or_none) {
  const Frame frame;
  const ByteVector before = read_file(frame.path());
  const ProcessResult missing = frame.set_meta({{"one", "text"}, {"two", ""}});
  BOOST_TEST(missing.status == 1);
  BOOST_TEST(missing.err == "b2frame: " + frame.path() + ": no vlmetalayer two\n");
  const ProcessResult unreadable = frame.set_meta({{"one", "text"}, {"two", "nothing"}});
  BOOST_TEST(unreadable.status == 1);
  BOOST_TEST(is_message_about(unreadable.err, frame.file("nothing")), unreadable.err);
  BOOST_TEST(frame.vlmetalayers().empty());
}

BOOST_AUTO_TEST_CASE(refuses_what_is_no_frame) {
  const Frame frame;
  for (const std::string& file : {frame.file("text"), bloscpack_file()}) {
    const ProcessResult result = b2frame({"set-meta", file, "one=" + frame.file("text")});
    BOOST_TEST(result.status == 1);
    BOOST_TEST(is_message_about(result.err, file), result.err);
    BOOST_TEST(result.err.find("waiting") == std::string::npos, result.err);
  }
}

BOOST_AUTO_TEST_CASE(refuses_a_file_that_may_not_be_read,
                     *precondition(needs_root) * precondition(has_programs("setpriv"))) {
  const Frame frame;
  BOOST_TEST(::chmod(frame.path().c_str(), 0600) == 0);
  BOOST_TEST(::chmod(frame.directory().c_str(), 0755) == 0);
  const auto error_of_nobody = [](const Arguments& arguments) {
    const ProcessResult result =
        run(Arguments{"setpriv", "--reuid=65534", "--clear-groups", B2FRAME} + arguments);
    BOOST_TEST(result.status == 1);
    return result.err;
  };
  const std::string start = "b2frame: " + frame.path() + ": ", end = "Permission denied\n";
  BOOST_TEST(error_of_nobody({"compact", frame.path()}) == start + end);
  const std::string output = error_of_nobody({"create", frame.file("text"), "-o", frame.path()});
  BOOST_TEST((output.starts_with(start) && output.ends_with(end)), output);
  BOOST_TEST(output.find("waiting") == std::string::npos, output);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(b2frame_beside_mounts)

// The daemon still commits after its mount has ended.
BOOST_AUTO_TEST_CASE(waits_until_a_mount_that_has_ended_is_done) {
  const Frame frame;
  for (const fs_std::path& locked :
       {lock_file_beside(frame.path()), lock_file_in(fs_std::path(frame.path()).parent_path())})
    for (const Arguments& command :
         {Arguments{"info", frame.path()}, Arguments{"verify", frame.path()},
          Arguments{"ls", frame.path()}, Arguments{"extract", frame.path(), "-o", "/dev/null"},
          Arguments{"set-meta", frame.path(), "note=" + frame.file("text")}}) {
      std::optional<SourceLock> lock(std::in_place, locked);
      Child waiting = waiting_command(command, frame);
      lock.reset();
      BOOST_TEST(waiting.wait(Seconds(60)));
      BOOST_TEST(waiting.result().ok(), waiting.result().description());
    }
}

BOOST_AUTO_TEST_CASE(waits_for_what_has_no_name_before_a_mount_is_done) {
  const Frame frame;
  const fs_std::path there = fs_std::path(frame.path()).parent_path() / "new.b2frame";
  std::optional<SourceLock> lock(std::in_place, lock_file_in(there.parent_path()));
  Child waiting = waiting_command({"info", there}, frame);
  fs_std::rename(frame.path(), there);
  lock.reset();
  BOOST_TEST(waiting.wait(Seconds(60)));
  BOOST_TEST(waiting.result().ok(), waiting.result().description());
}

BOOST_AUTO_TEST_CASE(says_that_it_waits_where_that_takes_long) {
  const Frame frame;
  std::optional<SourceLock> held(std::in_place, lock_file_beside(frame.path()));
  Child waiting({B2FRAME, "compact", frame.path()}, frame.file("log"));
  const std::string expected = "b2frame: " + frame.path() +
                               ": is being written to by another bloscfs or b2frame; waiting up "
                               "to 30 s for its end\n";
  BOOST_TEST(comes_true([&] { return frame.text_of("log") == expected; }), frame.text_of("log"));
  held.reset();
  BOOST_TEST(waiting.wait(Seconds(60)));
  BOOST_TEST(waiting.result().ok(), waiting.result().description());
}

BOOST_AUTO_TEST_CASE(says_at_once_which_mount_it_waits_for, *precondition(needs_fuse)) {
  const Frame frame;
  Mount mount(frame.path());
  Child waiting({B2FRAME, "compact", frame.path()}, frame.file("log"));
  const std::string expected = "b2frame: " + frame.path() + ": is mounted for writing at " +
                               mount.path().string() + "; waiting up to 30 s for its end\n";
  BOOST_TEST(comes_true([&] { return frame.text_of("log") == expected; }), frame.text_of("log"));
  BOOST_TEST(mount.unmount().ok(), mount.log());
  BOOST_TEST(waiting.wait(Seconds(20)));
  BOOST_TEST(waiting.result().ok(), waiting.result().description());
}

BOOST_AUTO_TEST_CASE(reads_at_once_what_is_mounted, *precondition(needs_fuse)) {
  const Frame frame;
  Mount mount(frame.path());
  const ProcessResult result = b2frame({"verify", frame.path()});
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(mount.unmount().ok());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(b2frame_compact)

BOOST_AUTO_TEST_CASE(is_not_needed_after_many_edits) {
  const Frame frame;
  const auto before = fs_std::file_size(frame.path());
  for (int i = 0; i < 60; ++i) BOOST_TEST(frame.set_meta({{"raw", "raw"}}).ok());
  BOOST_TEST(fs_std::file_size(frame.path()) <= before + before / 4 + 2 * 16384);
  BOOST_TEST(frame.is_sound());
}

BOOST_AUTO_TEST_CASE(keeps_the_other_names_of_a_file) {
  const Frame frame;
  fs_std::create_hard_link(frame.path(), frame.file("other"));
  for (int i = 0; i < 3; ++i) BOOST_TEST(frame.set_meta({{"raw", "raw"}}).ok());
  const auto before = fs_std::file_size(frame.path());
  const ProcessResult result = b2frame({"compact", frame.path()});
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(fs_std::hard_link_count(frame.path()) == 2u);
  BOOST_TEST(fs_std::file_size(frame.path()) <= before + 200);
  BOOST_TEST(frame.is_sound());
}

BOOST_AUTO_TEST_CASE(gives_back_unused_space) {
  for (const Arguments& kind : kKinds) {
    const Frame frame(kind);
    const auto stored = [&] {
      return fs_std::is_directory(frame.path())
                 ? fs_std::file_size(frame.path() + "/chunks.b2frame")
                 : fs_std::file_size(frame.path());
    };
    const auto before = stored();
    for (int i = 0; i < 10; ++i) BOOST_TEST(frame.set_meta({{"raw", "raw"}}).ok());
    BOOST_TEST(frame.set_meta({{"raw", ""}}).ok());
    const ProcessResult result = b2frame({"compact", frame.path()});
    BOOST_TEST(result.ok(), result.description());
    BOOST_TEST(stored() <= before + 200);
    BOOST_TEST(frame.is_sound());
  }
}

BOOST_AUTO_TEST_CASE(goes_on_after_a_file_that_is_bad) {
  const Frame frame;
  for (int i = 0; i < 3; ++i) BOOST_TEST(frame.set_meta({{"raw", "raw"}}).ok());
  const auto before = fs_std::file_size(frame.path());
  const ProcessResult result = b2frame({"compact", bloscpack_file(), "/nonexistent", frame.path()});
  BOOST_TEST(result.status == 1);
  BOOST_TEST(std::count(result.err.begin(), result.err.end(), '\n') == 2, result.err);
  BOOST_TEST(is_message_about(result.err, bloscpack_file()), result.err);
  BOOST_TEST(result.err.find("b2frame: /nonexistent: No such file") != std::string::npos);
  BOOST_TEST(fs_std::file_size(frame.path()) < before);
  BOOST_TEST(frame.is_sound());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
