// What a mount cannot commit before it ends is kept in SOURCE and reported. `b2frame recover` gives
// it a name.

#include <cerrno>
#include <optional>
#include <regex>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/mount/errno_of.hpp"
#include "tests/mount/foreign_changes.hpp"
#include "tests/mount/naming_cases.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/source_dir.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

constexpr const char* kJournal = ".bloscfs-lock";
constexpr const char* kSomeTemporary = ".bloscfs-0123456789abcdef.tmp";

ByteVector other_bytes() { return make_contents("noise", 5, 30000, 1); }

std::vector<std::string> temporaries_in(const fs_std::path& directory) {
  const std::regex name("\\.bloscfs-[0-9a-f]{16}\\.tmp");
  std::vector<std::string> found;
  for (const auto& entry : fs_std::directory_iterator(directory))
    if (std::regex_match(entry.path().filename().string(), name))
      found.push_back(entry.path().filename());
  return found;
}

ProcessResult recover(const fs_std::path& source) {
  return run({b2frame_program(), "recover", source.string()});
}

/// A SOURCE with an array that has two names. A mount has overwritten it with other bytes, but
/// could not commit them, since an array with hard links must stay an array.
struct LostOverwrite {
  /// `stored` is the array's path below SOURCE. `mounted` is the path that is mounted, empty for
  /// SOURCE.
  explicit LostOverwrite(const std::string& stored = "t.b2nd", const std::string& mounted = {}) {
    const fs_std::path array = source / stored;
    fs_std::create_directories(array.parent_path());
    Maker(source.path()).array(stored);
    fs_std::create_hard_link(array, source / "u.b2nd");
    mount.emplace(source / mounted);
    const fs_std::path shown = mounted.empty() ? fs_std::path(stored) : array.filename();
    write_file((mount->path() / shown).replace_extension(".npy"), other_bytes());
    result = mount->unmount();
    const fs_std::path place = source / mounted;
    const auto names = temporaries_in(fs_std::is_directory(place) ? place : place.parent_path());
    if (names.size() != 1) throw std::runtime_error("not one temporary: " + mount->log());
    temporary = names.front();
  }

  const SourceDir source;
  std::optional<Mount> mount;
  ProcessResult result;
  std::string temporary;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(recovery)

BOOST_AUTO_TEST_CASE(unmount_tells_what_it_could_not_commit_and_keeps_it,
                     *precondition(needs_fuse) * precondition(kNeedsLinkCounts)) {
  const LostOverwrite lost;
  BOOST_TEST(lost.result.status == 1);
  const std::string log = lost.mount->log();
  BOOST_TEST(log.find("t.b2nd: not committed") != std::string::npos, log);
  BOOST_TEST(occurrences(log, "not committed before the end: 1 file\n") == 1, log);
  BOOST_TEST(log.find("kept as " + lost.temporary) != std::string::npos, log);
  struct stat st {};
  BOOST_REQUIRE(stat((lost.source / kJournal).c_str(), &st) == 0);
  BOOST_TEST((st.st_mode & 07777) == 0600u);
  const auto journal = read_file(lost.source / kJournal);
  const std::regex lines("maker [0-9a-f]{32}\nkept " + lost.temporary + " t\\.npy\n");
  BOOST_TEST(std::regex_match(std::string(journal.begin(), journal.end()), lines));
  BOOST_CHECK(stored_contents(lost.source / lost.temporary) == other_bytes());
  BOOST_CHECK(stored_contents(lost.source / "t.b2nd") == bytes_of(element_text()));
}

BOOST_AUTO_TEST_CASE(next_mounts_say_so_and_leave_it,
                     *precondition(needs_fuse) * precondition(kNeedsLinkCounts)) {
  const LostOverwrite lost;
  for (int i = 0; i < 2; ++i) {
    Mount mount(lost.source.path());
    BOOST_TEST(comes_true([&] { return occurrences(mount.log(), "b2frame recover") == 1; }));
    BOOST_TEST(mount.log().find("t.npy") != std::string::npos, mount.log());
    std::vector<std::string> names;
    for (const auto& entry : fs_std::directory_iterator(mount.path()))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    BOOST_TEST(names == (std::vector<std::string>{"t.npy", "u.npy"}),
               boost::test_tools::per_element());
    for (const std::string& name : {std::string(kJournal), lost.temporary})
      BOOST_TEST(!fs_std::exists(mount / name));
    const auto unmounted = run({bloscfs_program(), "--unmount", mount.path().string()});
    BOOST_TEST(unmounted.ok(), mount.log());
    const std::string source = lost.source.path();
    BOOST_TEST(unmounted.err.ends_with(": unmounted; 1 file that earlier mounts could not commit "
                                       "still waits in " +
                                       source + "; run: b2frame recover " + source + "\n"),
               unmounted.err);
    BOOST_TEST(fs_std::exists(lost.source / lost.temporary));
  }
}

BOOST_AUTO_TEST_CASE(a_dry_run_does_not_wait_for_a_mount,
                     *precondition(needs_fuse_as_root) * precondition(kNeedsLinkCounts)) {
  const LostOverwrite lost;
  Mount mount(lost.source.path());
  BOOST_TEST(run({bloscfs_program(), "-o", "remount,ro", mount.path().string()}).ok());
  const auto dry = run({b2frame_program(), "recover", "-n", lost.source.path().string()});
  BOOST_TEST(dry.ok(), dry.description());
  BOOST_TEST(dry.err == "");
  BOOST_TEST(dry.out == "t.npy: can be recovered\n");
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

// A file with such a name is stored under another name.
BOOST_AUTO_TEST_CASE(nothing_that_is_made_through_a_mount_is_a_journal, *precondition(needs_fuse)) {
  for (const std::string name : {kJournal, ".a.b2frame.bloscfs-lock"}) BOOST_TEST_CONTEXT(name) {
      const SourceDir source;
      Mount mount(source.path());
      const std::string path = mount / name;
      BOOST_TEST(mkdir(path.c_str(), 0755) != 0);
      BOOST_TEST(symlink("x", path.c_str()) != 0);
      BOOST_TEST(mkfifo(path.c_str(), 0644) != 0);
      write_file(path, other_bytes());
      BOOST_CHECK(read_file(path) == other_bytes());
      write_file(mount / "a", other_bytes());
      BOOST_TEST(rename((mount / "a").c_str(), path.c_str()) == 0);
      BOOST_TEST(mount.unmount().ok());
      BOOST_TEST(!fs_std::exists(fs_std::symlink_status(source / name)));
      BOOST_CHECK(stored_contents(source / (name + ".b2frame")) == other_bytes());
    }
}

BOOST_AUTO_TEST_CASE(directory_with_kept_contents_is_not_removed,
                     *precondition(needs_fuse) * precondition(kNeedsLinkCounts)) {
  const LostOverwrite lost("d/t.b2nd", "d");
  // A mount of a directory below SOURCE has its journal in that directory.
  BOOST_TEST(fs_std::exists(lost.source / "d" / kJournal));
  const auto kept = temporaries_in(lost.source / "d");
  BOOST_REQUIRE(kept.size() == 1u);
  {
    Mount mount(lost.source.path());
    fs_std::remove(mount / "d/t.npy");
    BOOST_TEST(errno_of(rmdir((mount / "d").c_str())) == ENOTEMPTY);
    BOOST_TEST(mount.unmount().ok());
  }
  BOOST_CHECK(stored_contents(lost.source / "d" / kept.front()) == other_bytes());
  const auto result = recover(lost.source / "d");
  BOOST_TEST(result.ok(), result.description());
  const Mount mount(lost.source.path());
  BOOST_CHECK(read_file(mount / "d/t.npy") == other_bytes());
  fs_std::remove(mount / "d/t.npy");
  // rmdir fails with EBUSY until the mount's sweep has read the journal in the directory.
  BOOST_TEST(comes_true([&] { return errno_of(rmdir((mount / "d").c_str())) == 0; }));
}

BOOST_AUTO_TEST_CASE(recover_puts_it_beside_what_has_its_name,
                     *precondition(needs_fuse) * precondition(kNeedsLinkCounts)) {
  const LostOverwrite lost;
  {
    const Mount mount(lost.source.path());
    BOOST_TEST(mount.counter("rescued_files") == 1u);
  }
  const auto first = recover(lost.source.path());
  BOOST_TEST(first.ok(), first.description());
  const fs_std::path path = conflict_of(lost.source.path(), "t.npy");
  BOOST_TEST(first.out == "t.npy: recovered as " + path.filename().string() + "\n");
  BOOST_CHECK(stored_contents(path) == other_bytes());
  BOOST_TEST(!fs_std::exists(lost.source / lost.temporary));
  const auto second = recover(lost.source.path());
  BOOST_TEST(second.ok(), second.description());
  BOOST_TEST(second.err == "");
  BOOST_TEST(second.out.find(": nothing to recover in it") != std::string::npos, second.out);
  BOOST_TEST(second.out.ends_with("; if it was mounted with rescue=DIR, run again with --rescue "
                                  "DIR\n"),
             second.out);
  BOOST_CHECK(conflict_of(lost.source.path(), "t.npy") == path);
  Mount mount(lost.source.path());
  BOOST_CHECK(read_file(mount / path.stem().string()) == other_bytes());
  BOOST_CHECK(read_file(mount / "t.npy") == bytes_of(npy_text()));
  BOOST_TEST(mount.unmount().ok());
  BOOST_TEST(mount.complaints() == "");
}

BOOST_AUTO_TEST_CASE(recover_says_what_is_gone_and_forgets_it,
                     *precondition(needs_fuse) * precondition(kNeedsLinkCounts)) {
  const LostOverwrite lost;
  fs_std::remove(lost.source / lost.temporary);
  const auto first = recover(lost.source.path());
  BOOST_TEST(first.status == 1);
  BOOST_TEST(first.err.find(lost.temporary) != std::string::npos, first.err);
  const auto second = recover(lost.source.path());
  BOOST_TEST(second.ok(), second.description());
  BOOST_TEST(second.err == "");
  BOOST_TEST(second.out.find(": nothing to recover in it") != std::string::npos, second.out);
}

BOOST_AUTO_TEST_CASE(names_of_any_bytes_come_back,
                     *precondition(needs_fuse) * precondition(kNeedsLinkCounts)) {
  const LostOverwrite lost("a b%\n\xff.b2nd");
  fs_std::remove(lost.source / "a b%\n\xff.b2nd");
  const auto result = recover(lost.source.path());
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(occurrences(result.out, "\n") == 1, result.out);
  BOOST_CHECK(stored_contents(lost.source / "a b%\n\xff.npy.b2frame") == other_bytes());
}

BOOST_AUTO_TEST_CASE(single_frame_is_kept_and_recovered_beside_it,
                     *precondition(needs_fuse) * precondition(kNeedsLinkCounts)) {
  const LostOverwrite lost("t.b2nd", "t.b2nd");
  BOOST_TEST(lost.result.status == 1);
  BOOST_TEST(fs_std::exists(lost.source / ".t.b2nd.bloscfs-lock"));
  {
    // A mount of the directory reads the journal of the single frame too.
    Mount mount(lost.source.path());
    BOOST_TEST(comes_true([&] { return occurrences(mount.log(), "b2frame recover") == 1; }));
    BOOST_TEST(mount.unmount().ok());
  }
  const auto result = recover(lost.source / "t.b2nd");
  BOOST_TEST(result.ok(), result.description());
  BOOST_CHECK(stored_contents(conflict_of(lost.source.path(), "t.npy")) == other_bytes());
}

// A user who may write to SOURCE may have forged the journal.
BOOST_AUTO_TEST_CASE(hostile_journals_do_no_harm,
                     *precondition(needs_fuse) * precondition(kNeedsSpecialFiles)) {
  const std::string kept = std::string("kept ") + kSomeTemporary + " ";
  const std::vector<std::string> journals = {kept + "../outside/stolen\n",
                                             kept + "/tmp/stolen\n",
                                             kept + "a/../../stolen\n",
                                             kept + "%2E%2E/stolen\n",
                                             kept + "a//b\n",
                                             kept + "./b\n",
                                             kept + "%\n",
                                             kept + "%2\n",
                                             kept + "%zz\n",
                                             kept + "%00\n",
                                             kept + "\n",
                                             kept,
                                             "kept\n",
                                             "kept victim.b2frame new\n",
                                             "kept ../outside/file new\n",
                                             "kept .bloscfs-0123456789abcdef.tmp/x new\n",
                                             "kept .bloscfs-0123456789abcdeF.tmp new\n",
                                             "lost " + kept,
                                             std::string(3 << 20, 'k'),
                                             std::string(3 << 20, '\n'),
                                             std::string("\0\xff\x01", 3),
                                             kept + "out/link\n",
                                             kept + ".bloscfs-lock\n",
                                             kept + ".bloscfs-fedcba9876543210.tmp\n",
                                             kept + std::string(5000, 'n') + "\n",
                                             kept + kept + kept};
  for (const std::string& text : journals) BOOST_TEST_CONTEXT(text.substr(0, 80)) {
      const SourceDir home;
      const fs_std::path source = home / "source", outside = home / "outside";
      fs_std::create_directory(source);
      fs_std::create_directory(outside);
      write_file(outside / "file", "outside");
      fs_std::create_symlink(outside, source / "out");
      const ByteVector frame = flat_frame(other_bytes());
      write_file(source / "victim.b2frame", frame);
      write_file(source / kSomeTemporary, frame);
      write_file(source / kJournal, text);
      fs_std::permissions(source / kJournal, fs_std::perms(0600));
      const auto result = recover(source);
      BOOST_TEST((result.status == 0 || result.status == 1), result.description());
      BOOST_CHECK(read_file(source / "victim.b2frame") == frame);
      BOOST_CHECK(read_file(outside / "file") == bytes_of("outside"));
      BOOST_TEST(std::distance(fs_std::directory_iterator(outside), {}) == 1);
      BOOST_TEST(std::distance(fs_std::directory_iterator(home.path()), {}) == 2);
      int frames = 0;
      for (const auto& entry : fs_std::directory_iterator(source))
        if (entry.path().filename() != "victim.b2frame" && entry.is_regular_file())
          frames += read_file(entry) == frame;
      BOOST_TEST(frames == 1);
    }
}

BOOST_AUTO_TEST_CASE(journal_that_is_no_file_is_none,
                     *precondition(needs_fuse) * precondition(kNeedsSpecialFiles)) {
  for (const std::string kind : {"fifo", "directory", "link"}) BOOST_TEST_CONTEXT(kind) {
      const SourceDir source;
      const fs_std::path journal = source / kJournal;
      Maker(source.path()).flat("a.b2frame");
      if (kind == "fifo") BOOST_REQUIRE(mkfifo(journal.c_str(), 0644) == 0);
      if (kind == "directory") fs_std::create_directory(journal);
      if (kind == "link") fs_std::create_symlink("/etc/passwd", journal);
      const auto result = recover(source.path());
      BOOST_TEST((result.status == 0 || result.status == 1), result.description());
      BOOST_TEST(fs_std::exists(fs_std::symlink_status(journal)));
      MountSettings settings;
      settings.options = {"ro"};
      Mount mount(source.path(), settings);
      BOOST_CHECK(read_file(mount / "a") == bytes_of(flat_text()));
      BOOST_TEST(mount.unmount().ok());
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
