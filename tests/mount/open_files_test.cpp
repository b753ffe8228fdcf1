// Files that stay open are committed too. While data waits for its commit, stat reports blocks for
// it, so that programs do not take it for a hole.

#include <string>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/source_dir.hpp"
#include "tests/support/source_lock.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

std::string file_text(const fs_std::path& path) {
  const ByteVector bytes = read_file(path);
  return {bytes.begin(), bytes.end()};
}

std::int64_t stored_bytes(const fs_std::path& path) {
  struct stat st {};
  BOOST_REQUIRE(::stat(path.c_str(), &st) == 0);
  return st.st_blocks * 512;
}

void append(const Fd& file, const std::string& text) {
  BOOST_REQUIRE(::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(open_files)

// A log file that its program keeps open and never syncs again.
BOOST_AUTO_TEST_CASE(are_committed_half_a_minute_after_a_write, *precondition(needs_fuse)) {
  const SourceDir source;
  DaemonTime time;
  Mount mount(source.path(), time.of());
  const Fd log(::open((mount / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  append(log, "first\n");
  BOOST_REQUIRE(::fsync(log.get()) == 0);
  append(log, "second\n");
  const std::uint64_t before = mount.counter("commits");
  // Neither an earlier commit nor further writes delay the commit.
  for (int i = 0; i < 10; i++) {
    append(log, "more\n");
    time.move(std::chrono::seconds(3));
  }
  BOOST_TEST(comes_true([&] { return mount.counter("commits") > before; }));
  mount.signal(SIGKILL);
  mount.wait(Seconds(20));
  force_unmount(mount.path());
  Mount again(source.path());
  BOOST_TEST(file_text(again / "log").starts_with("first\nsecond\nmore\n"));
}

BOOST_AUTO_TEST_CASE(have_blocks_for_all_their_data, *precondition(needs_fuse)) {
  const SourceDir source;
  write_file(source / "old.b2frame", flat_frame(std::string(100000, 'a')));
  const Mount mount(source.path());
  const std::string text(300000, 'b');
  const Fd made(::open((mount / "new").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  BOOST_TEST(stored_bytes(mount / "new") == 0);
  append(made, text);
  BOOST_TEST(stored_bytes(mount / "new") >= 300000);
  const Fd changed(::open((mount / "old").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  append(changed, "more");
  BOOST_TEST(stored_bytes(mount / "old") >= 100004);
  // Growing the file adds no data.
  BOOST_REQUIRE(::ftruncate(made.get(), off_t{1} << 40) == 0);
  BOOST_TEST(stored_bytes(mount / "new") >= 300000);
  BOOST_TEST(stored_bytes(mount / "new") < 2000000);
  // The kernel got the attributes a moment ago, but must not use them after the commit.
  BOOST_REQUIRE(::fsync(changed.get()) == 0);
  BOOST_TEST(comes_true([&] { return stored_bytes(mount / "old") < 100004; }));
  BOOST_TEST(stored_bytes(mount / "old") > 0);
}

BOOST_AUTO_TEST_CASE(are_archived_whole_by_tar, *precondition(needs_programs("tar cmp"))) {
  const SourceDir source;
  const TempDir home;
  const Mount mount(source.path());
  const auto is_whole = [&] {
    return run({"tar", "-C", mount.path().string(), "-S", "-cf", home / "a.tar", "log"}).ok() &&
           run({"tar", "-C", home.path().string(), "-xf", home / "a.tar"}).ok() &&
           run({"cmp", (mount / "log").string(), home / "log"}).ok();
  };
  const Fd log(::open((mount / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  append(log, std::string(100000, 'a'));
  BOOST_TEST(is_whole());
  BOOST_REQUIRE(::fsync(log.get()) == 0);
  BOOST_TEST(is_whole());
  append(log, "more");
  BOOST_TEST(is_whole());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
