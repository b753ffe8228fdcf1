// What `b2frame create` does with the file that its output replaces, and with the output's
// directory.

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/tools/program.hpp"

namespace bloscfs::test {
namespace {

constexpr Seconds kLimit{20};

mode_t mode_of(const fs_std::path& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0) throw_errno(path);
  return st.st_mode & mode_t{07777};
}

std::vector<std::string> names_in(const fs_std::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs_std::directory_iterator(directory))
    names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

/// A `b2frame create` that reads from an endless stream.
class EndlessCreation {
 public:
  explicit EndlessCreation(const Arguments& options = {}) {
    fs_std::create_directory(directory());
    if (::mkfifo(fifo().c_str(), 0600) != 0) throw_errno(fifo());
    child_ = Child(Arguments{B2FRAME, "create", "--chunk-size", "64K"} + options +
                       Arguments{fifo(), "-o", output()},
                   scratch_ / "log");
  }

  fs_std::path directory() const { return scratch_ / "d"; }
  fs_std::path output() const { return scratch_ / "d/out.b2frame"; }

  /// Sends some chunks, waits for the temporary file, and ends the program with the signal.
  const ProcessResult& end_by(int signal) {
    const Fd writer(::open(fifo().c_str(), O_WRONLY | O_CLOEXEC));
    const ByteVector contents = make_contents("noise", 1, 1 << 20, 1);
    for (std::size_t done = 0; done < contents.size();) {
      const ssize_t put = ::write(writer.get(), contents.data() + done, contents.size() - done);
      if (put < 0) throw_errno("fifo");
      done += static_cast<std::size_t>(put);
    }
    const auto begun = [this] {
      for (const std::string& name : names_in(directory()))
        if (name.starts_with(".bloscfs-")) return true;
      return false;
    };
    comes_true(begun);
    BOOST_TEST_REQUIRE(begun());
    child_.signal(signal);
    BOOST_TEST_REQUIRE(child_.wait(kLimit));
    return child_.result();
  }

 private:
  std::string fifo() const { return scratch_ / "fifo"; }

  TempDir scratch_;
  Child child_;
};

class Scratch {
 public:
  Scratch() {
    write_file(input(), std::string_view("contents"));
    fs_std::create_directory(directory());
  }
  fs_std::path input() const { return scratch_ / "input"; }
  fs_std::path directory() const { return scratch_ / "d"; }
  fs_std::path output() const { return scratch_ / "d/out"; }
  ProcessResult create(const Arguments& options = {}) const {
    return b2frame(Arguments{"create"} + options + Arguments{input(), "-o", output()});
  }

 private:
  TempDir scratch_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(b2frame_create_output)

BOOST_AUTO_TEST_CASE(leaves_nothing_behind_when_interrupted) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    for (const Arguments& options : {Arguments{}, Arguments{"--sparse"}}) {
      EndlessCreation creation(options);
      BOOST_TEST(creation.end_by(signal).signal == signal);
      BOOST_TEST(names_in(creation.directory()).empty());
    }
}

BOOST_AUTO_TEST_CASE(leaves_the_old_frame_alone_when_interrupted) {
  for (const int signal : {SIGTERM, SIGKILL}) {
    EndlessCreation creation;
    write_file(creation.output(), flat_frame("old"));
    creation.end_by(signal);
    BOOST_TEST(extracted(creation.output()) == "old");
  }
}

BOOST_AUTO_TEST_CASE(shows_no_name_when_killed) {
  EndlessCreation creation;
  BOOST_TEST(creation.end_by(SIGKILL).signal == SIGKILL);
  BOOST_TEST(!fs_std::exists(creation.output()));
}

BOOST_AUTO_TEST_CASE(leaves_nothing_behind_when_there_is_no_room) {
  for (const std::string options : {"", "--sparse --chunk-size 4M"}) {
    const TempDir scratch;
    write_file(scratch / "input", make_contents("noise", 1, 4 << 20, 1));
    fs_std::create_directory(scratch / "d");
    const std::string output = scratch / "d/out";
    const ProcessResult result = run({"sh", "-c",
                                      "ulimit -f 1000; exec " B2FRAME " create " + options + " " +
                                          (scratch / "input").string() + " -o " + output});
    BOOST_TEST(result.status == 1, result.description());
    BOOST_TEST(result.err == "b2frame: " + output + ": File too large\n");
    BOOST_TEST(names_in(scratch / "d").empty());
  }
}

/// Worker threads read the mapped file, so reading beyond its new end raises SIGBUS.
BOOST_AUTO_TEST_CASE(leaves_nothing_behind_when_the_input_is_cut) {
  const ByteVector contents = make_contents("floats", 1, 48 << 20, 4);
  for (const Arguments& options : {Arguments{}, Arguments{"--sparse"}}) {
    const TempDir scratch;
    write_file(scratch / "input", contents);
    fs_std::create_directory(scratch / "d");
    Child child(Arguments{B2FRAME, "create", "--codec", "zstd", "--clevel", "9", "--filters",
                          "shuffle", "--typesize", "4", "--chunk-size", "4M"} +
                    options + Arguments{scratch / "input", "-o", scratch / "d/out"},
                scratch / "log");
    comes_true([&] { return !names_in(scratch / "d").empty(); });
    fs_std::resize_file(scratch / "input", 10000);
    BOOST_TEST_REQUIRE(child.wait(Seconds(60)));
    BOOST_TEST(child.result().status == 1, child.result().description());
    const ByteVector log = read_file(scratch / "log");
    const std::string said(log.begin(), log.end());
    BOOST_TEST(said.find("became shorter while it was read") != std::string::npos, said);
    BOOST_TEST(names_in(scratch / "d").empty());
  }
}

BOOST_AUTO_TEST_CASE(replaces_a_file_and_keeps_its_mode) {
  const Scratch scratch;
  write_file(scratch.output(), flat_frame("old"));
  ::chmod(scratch.output().c_str(), 0640);
  BOOST_TEST(scratch.create().ok());
  BOOST_TEST(mode_of(scratch.output()) == 0640U);
  BOOST_TEST(extracted(scratch.output()) == "contents");
  BOOST_TEST(names_in(scratch.directory()).size() == 1U);
}

BOOST_AUTO_TEST_CASE(gives_new_frames_the_usual_mode) {
  const mode_t old = ::umask(027);
  const Scratch scratch;
  const bool ok = scratch.create().ok();
  ::umask(old);
  BOOST_TEST(ok);
  BOOST_TEST(mode_of(scratch.output()) == 0640U);
}

BOOST_AUTO_TEST_CASE(replaces_frames_of_one_kind_by_the_other) {
  const Scratch scratch;
  for (const Arguments& options :
       {Arguments{}, Arguments{"--sparse"}, Arguments{"--sparse"}, Arguments{}}) {
    BOOST_TEST(scratch.create(options).ok());
    BOOST_TEST(fs_std::is_directory(scratch.output()) == !options.empty());
    BOOST_TEST(extracted(scratch.output()) == "contents");
    BOOST_TEST(names_in(scratch.directory()).size() == 1U);
  }
}

BOOST_AUTO_TEST_CASE(follows_a_symlink) {
  const Scratch scratch;
  write_file(scratch.directory() / "real", flat_frame("old"));
  fs_std::create_symlink("real", scratch.output());
  BOOST_TEST(scratch.create().ok());
  BOOST_TEST(fs_std::is_symlink(scratch.output()));
  BOOST_TEST(extracted(scratch.directory() / "real") == "contents");
}

BOOST_AUTO_TEST_CASE(refuses_what_is_no_frame_to_replace) {
  const Scratch scratch;
  const auto refused = [&] {
    const ProcessResult result = scratch.create();
    BOOST_TEST(result.status == 1, result.description());
    BOOST_TEST(is_message_about(result.err, scratch.output()), result.err);
    BOOST_TEST(names_in(scratch.directory()).size() == 1U);
  };
  fs_std::create_directory(scratch.output());
  refused();
  fs_std::remove(scratch.output());
  BOOST_TEST(scratch.create({"--sparse"}).ok());
  write_file(scratch.output() / "diary", std::string_view("mine"));
  refused();
  BOOST_TEST(fs_std::exists(scratch.output() / "diary"));
  fs_std::remove_all(scratch.output());
  BOOST_TEST(::mkfifo(scratch.output().c_str(), 0600) == 0);
  refused();
}

BOOST_AUTO_TEST_CASE(replaces_no_file_that_is_no_frame) {
  const Scratch scratch;
  const fs_std::path stores = BLOSCFS_TEST_SOURCE_ROOT "/tests/data/stores";
  for (const ByteVector& other : {read_file(stores / "tree0.b2z"), read_file(stores / "embed0.b2e"),
                                  bytes_of("a text"), bytes_of("\x93NUMPY")}) {
    write_file(scratch.output(), other);
    write_file(scratch.directory() / "frame", flat_frame("old"));
    for (const ProcessResult& refused :
         {scratch.create(), scratch.create({"--flat"}), scratch.create({"--sparse"}),
          b2frame({"convert", scratch.directory() / "frame", "-o", scratch.output()})}) {
      BOOST_TEST(refused.status == 1, refused.description());
      BOOST_TEST(is_message_about(refused.err, scratch.output()), refused.err);
      BOOST_TEST(refused.err.find("exists, and is") != std::string::npos, refused.err);
      BOOST_TEST((read_file(scratch.output()) == other));
    }
  }
  // An empty file, as mktemp makes one.
  write_file(scratch.output(), std::string_view());
  BOOST_TEST(scratch.create().ok());
}

BOOST_AUTO_TEST_CASE(refuses_to_replace_its_input) {
  const Scratch scratch;
  const ProcessResult result = b2frame({"create", scratch.input(), "-o", scratch.input()});
  BOOST_TEST(result.status == 2);
  BOOST_TEST(read_file(scratch.input()).size() == 8U);
}

BOOST_AUTO_TEST_CASE(says_which_file_is_missing) {
  const Scratch scratch;
  const ProcessResult input = b2frame({"create", "/nonexistent/a", "-o", scratch.output()});
  BOOST_TEST(input.status == 1);
  BOOST_TEST(input.err ==
             "b2frame: /nonexistent/a: No such file or directory; correct the name: there is no "
             "directory /nonexistent\n");
  const ProcessResult output = b2frame({"create", scratch.input(), "-o", "/nonexistent/b"});
  BOOST_TEST(output.status == 1);
  BOOST_TEST(output.err ==
             "b2frame: /nonexistent/b: No such file or directory; make the directory /nonexistent, "
             "or correct the name\n");
  const ProcessResult directory = b2frame({"create", "/", "-o", scratch.output()});
  BOOST_TEST(directory.status == 1);
  BOOST_TEST(directory.err ==
             "b2frame: /: is a directory; -r makes a tree of frames of its files\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
