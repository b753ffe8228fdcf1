// Common programs write into a mount, and find their data there, also after a remount.

#include <algorithm>
#include <memory>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/manifest.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/source_dir.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

/// A writable mount of an empty SOURCE.
class Disk {
 public:
  Disk() { remount(); }

  void remount() {
    if (mount_) {
      const auto& result = mount_->unmount();
      BOOST_TEST(result.ok(), result.description() << mount_->log());
    }
    mount_ = std::make_unique<Mount>(source_.path());
  }

  fs_std::path operator/(const std::string& name) const { return *mount_ / name; }
  std::string at(const std::string& name) const { return (*mount_ / name).string(); }

  /// Verifies every frame in SOURCE.
  void verify() const {
    Arguments command = {b2frame_program(), "verify"};
    for (const auto& entry : fs_std::recursive_directory_iterator(source_.path())) {
      const auto suffix = entry.path().extension();
      if (suffix == ".b2frame" || suffix == ".b2nd") command.push_back(entry.path().string());
    }
    BOOST_REQUIRE(command.size() > 2);
    const auto result = run(command);
    BOOST_TEST(result.ok(), result.description());
  }

 private:
  const SourceDir source_;
  std::unique_ptr<Mount> mount_;
};

/// Runs a program that must succeed. Returns what it printed.
std::string output_of(const Arguments& command, const std::string& input = {}) {
  ProcessSettings settings;
  settings.limit = Seconds(120);
  settings.input = input;
  settings.environment = {"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
                          "GIT_AUTHOR_NAME=a",           "GIT_AUTHOR_EMAIL=a@example.org",
                          "GIT_COMMITTER_NAME=a",        "GIT_COMMITTER_EMAIL=a@example.org"};
  const auto result = run(command, settings);
  BOOST_TEST(result.ok(), command[0] << ": " << result.description());
  return result.out;
}

/// A tree with every kind of object that archives can store.
class Original {
 public:
  Original() {
    fs_std::create_directories(home_ / "tree/sub/deep");
    ByteVector sparse(900000);
    sparse[400000] = 1;
    write("text", make_contents("text", 1, 700000, 1));
    write("noise", make_contents("noise", 2, 300000, 1));
    write("sub/sparse", sparse);
    write("sub/empty", {});
    write("sub/deep/array.npy", npy_file());
    write("sub/program", bytes_of("#!/bin/sh\nexit 0\n"));
    fs_std::permissions(path() / "sub/program", fs_std::perms(0755));
    fs_std::permissions(path() / "sub/deep", fs_std::perms(0750));
    fs_std::create_symlink("../text", path() / "sub/link");
    fs_std::create_symlink("nowhere", path() / "dangling");
    fs_std::create_hard_link(path() / "noise", path() / "sub/second");
    mkfifo((path() / "fifo").c_str(), 0600);
    for (const char* name : {"text", "sub/sparse", "sub/empty", "sub/deep/array.npy", "sub/deep"})
      set_old_time(path() / name);
  }

  fs_std::path path() const { return home_ / "tree"; }

  /// Checks that the copy has the same names, contents, modes, owners, times and hard links.
  void check_copy(const fs_std::path& copy) const {
    Arguments command = {"rsync", "-aHnic", "--delete"};
    // A commit restores the mtime of its directory. Some filesystems cannot set an mtime alone.
    if (!kNeedsSingleTimes.holds())
      command.insert(command.end(), {"--omit-dir-times", "--omit-link-times"});
    command.insert(command.end(), {path().string() + "/", copy.string() + "/"});
    const auto seen = output_of(command);
    BOOST_TEST(seen == "");
  }

 private:
  void write(const std::string& name, const ByteVector& bytes) const {
    write_file(path() / name, bytes);
  }

  static ByteVector npy_file() {
    ByteVector file = bytes_of(npy_header("<f8", {100, 200}));
    const ByteVector items = make_contents("floats", 3, 100 * 200 * 8, 8);
    file.insert(file.end(), items.begin(), items.end());
    return file;
  }

  static void set_old_time(const fs_std::path& path) {
    const timespec times[2] = {{1'500'000'000, 5}, {1'400'000'000, 123'456'789}};
    utimensat(AT_FDCWD, path.c_str(), times, 0);
  }

  const TempDir home_;
};

/// Checks that `t` has the even numbers below 4000, each with 160 letters.
void check_database(const std::string& file) {
  BOOST_TEST(output_of({"sqlite3", file, "PRAGMA integrity_check"}) == "ok\n");
  BOOST_TEST(output_of({"sqlite3", file, "SELECT count(*), sum(n), sum(length(word)) FROM t"}) ==
             "2000|3998000|320000\n");
}

void use_sqlite(const std::string& journal_mode) {
  Disk disk;
  const std::string file = disk.at("a.db");
  std::string work =
      "PRAGMA journal_mode=" + journal_mode + "; CREATE TABLE t(n INTEGER PRIMARY KEY, word TEXT);";
  for (int part = 0; part < 20; ++part)
    work +=
        "WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 199) "
        "INSERT INTO t SELECT i * 20 + " +
        std::to_string(part) + ", hex(randomblob(40)) FROM c;";
  output_of({"sqlite3", file}, work);
  output_of({"sqlite3", file},
            "BEGIN; DELETE FROM t WHERE n % 4 > 1; ROLLBACK;"
            "DELETE FROM t WHERE n % 2 = 1; UPDATE t SET word = word || word;");
  check_database(file);
  disk.remount();
  check_database(disk.at("a.db"));
  output_of({"sqlite3", disk.at("a.db"), "VACUUM"});
  check_database(disk.at("a.db"));
  disk.verify();
}

/// Random reads and writes. fio verifies each block by a checksum in it, also after a remount.
void run_fio(const Arguments& how) {
  Disk disk;
  const auto fio = [&](const std::string& verification) {
    Arguments command = {"fio",
                         "--name=t",
                         "--filename=" + disk.at("data"),
                         "--size=6M",
                         "--bs=4k",
                         "--rw=randrw",
                         "--verify_fatal=1",
                         "--verify_state_save=0",
                         "--randseed=1",
                         "--allow_mounted_write=1",
                         verification};
    command.insert(command.end(), how.begin(), how.end());
    output_of(command);
  };
  fio("--do_verify=1");
  const ByteVector verified = read_file(disk / "data");
  disk.remount();
  BOOST_CHECK(read_file(disk / "data") == verified);
  BOOST_TEST(fs_std::file_size(disk / "data") == 6u << 20);
  fio("--verify_only");
  disk.verify();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(programs)

BOOST_AUTO_TEST_CASE(cp_copies_a_tree_in_and_out, *precondition(needs_programs("cp rsync")) *
                                                      precondition(kNeedsNumbersOfLinks)) {
  const Original original;
  const TempDir back;
  Disk disk;
  output_of({"cp", "-a", original.path().string(), disk.at("copy")});
  original.check_copy(disk / "copy");
  disk.remount();
  original.check_copy(disk / "copy");
  output_of({"cp", "-a", disk.at("copy"), (back / "copy").string()});
  original.check_copy(back / "copy");
  disk.verify();
}

BOOST_AUTO_TEST_CASE(rsync_copies_a_tree_in_and_out,
                     *precondition(needs_programs("rsync")) * precondition(kNeedsNumbersOfLinks)) {
  const Original original;
  const TempDir back;
  Disk disk;
  const auto copy = [&](const fs_std::path& from, const fs_std::path& to, const char* option) {
    output_of({"rsync", "-aH", "--checksum", option, from.string() + "/", to.string()});
  };
  copy(original.path(), disk / "copy", "--whole-file");
  original.check_copy(disk / "copy");
  fs_std::resize_file(disk / "copy/text", 1000);
  copy(original.path(), disk / "copy", "--inplace");
  original.check_copy(disk / "copy");
  disk.remount();
  copy(disk / "copy", back / "copy", "--sparse");
  original.check_copy(back / "copy");
}

BOOST_AUTO_TEST_CASE(tar_unpacks_a_tree, *precondition(needs_programs("tar rsync")) *
                                             precondition(kNeedsNumbersOfLinks) *
                                             precondition(kNeedsSingleTimes)) {
  const Original original;
  const TempDir archive;
  Disk disk;
  const std::string file = (archive / "all.tar").string();
  output_of({"tar", "-cSf", file, "-C", original.path().parent_path().string(), "tree"});
  output_of({"tar", "-xf", file, "-C", disk.at("")});
  original.check_copy(disk / "tree");
  disk.remount();
  original.check_copy(disk / "tree");
}

BOOST_AUTO_TEST_CASE(git_clones_and_checks, *precondition(needs_programs("git"))) {
  const TempDir origin;
  const auto git = [](const fs_std::path& where, Arguments words) {
    words.insert(words.begin(), {"git", "-C", where.string(), "-c", "safe.directory=*"});
    return output_of(words);
  };
  git(origin.path(), {"init", "-q", "-b", "main"});
  for (std::uint64_t i = 0; i < 5; ++i) {
    write_file(origin / ("file" + std::to_string(i)), make_contents("text", i, 50000, 1));
    git(origin.path(), {"add", "."});
    git(origin.path(), {"commit", "-q", "-m", "change " + std::to_string(i)});
  }
  Disk disk;
  output_of({"git", "-c", "safe.directory=*", "clone", "-q", "file://" + origin.path().string(),
             disk.at("clone")});
  git(disk / "clone", {"fsck", "--full", "--strict"});
  write_file(disk / "clone/file1", "changed");
  git(disk / "clone", {"commit", "-q", "-a", "-m", "in the clone"});
  git(disk / "clone", {"gc", "-q", "--aggressive", "--prune=now"});
  disk.remount();
  git(disk / "clone", {"fsck", "--full", "--strict"});
  BOOST_TEST(git(disk / "clone", {"status", "--porcelain"}) == "");
  BOOST_TEST(git(disk / "clone", {"rev-list", "--count", "HEAD"}) == "6\n");
}

BOOST_AUTO_TEST_CASE(sqlite_keeps_its_rollback_journal, *precondition(needs_programs("sqlite3"))) {
  use_sqlite("delete");
}

BOOST_AUTO_TEST_CASE(sqlite_keeps_its_write_ahead_log, *precondition(needs_programs("sqlite3"))) {
  use_sqlite("wal");
}

BOOST_AUTO_TEST_CASE(numpy_saves_and_changes_arrays, *precondition(needs_numpy)) {
  Disk disk;
  const auto python = [&](const std::string& script) {
    output_of(
        {numpy_python(), "-c", "import numpy, sys; p = sys.argv[1]; " + script, disk.at("t.npy")});
  };
  python("numpy.save(p, numpy.arange(120000.).reshape(300, 400))");
  python(
      "m = numpy.memmap(p, dtype='<f8', mode='r+', offset=128, shape=(300, 400));"
      "m[7, :] = -1; m[:, 9] *= 2; m.flush(); m[299, 399] = 5; del m");
  const std::string check =
      "a = numpy.load(p); b = numpy.arange(120000.).reshape(300, 400); b[7, :] = -1;"
      "b[:, 9] *= 2; b[299, 399] = 5; assert (a == b).all();"
      "assert (numpy.load(p, mmap_mode='r')[::7] == b[::7]).all()";
  python(check);
  disk.remount();
  python(check);
  python(
      "a = numpy.lib.format.open_memmap(p, mode='w+', dtype='<i2', shape=(1000, 50));"
      "a[:] = numpy.arange(50); del a");
  disk.remount();
  python("assert (numpy.load(p) == numpy.arange(50)).all()");
  disk.verify();
}

BOOST_AUTO_TEST_CASE(dd_writes_and_syncs, *precondition(needs_programs("dd"))) {
  const TempDir other;
  const ByteVector bytes = make_contents("noise", 1, 2000000, 1);
  write_file(other / "in", bytes);
  Disk disk;
  output_of(
      {"dd", "if=" + (other / "in").string(), "of=" + disk.at("out"), "bs=3000", "conv=fsync"});
  BOOST_CHECK(read_file(disk / "out") == bytes);
  output_of({"dd", "if=/dev/zero", "of=" + disk.at("out"), "bs=1000", "seek=500", "count=700",
             "conv=notrunc,fdatasync"});
  disk.remount();
  ByteVector expected = bytes;
  std::fill(expected.begin() + 500000, expected.begin() + 1200000, std::uint8_t{0});
  BOOST_CHECK(read_file(disk / "out") == expected);
}

BOOST_AUTO_TEST_CASE(fio_verifies_what_it_wrote, *precondition(needs_programs("fio"))) {
  run_fio({"--ioengine=psync", "--fsync=64", "--verify=crc32c"});
}

BOOST_AUTO_TEST_CASE(fio_verifies_what_it_mapped, *precondition(needs_programs("fio"))) {
  run_fio({"--ioengine=mmap", "--fsync=256", "--verify=crc32c"});
}

BOOST_AUTO_TEST_CASE(fio_verifies_what_it_queued, *precondition(needs_programs("fio"))) {
  run_fio({"--ioengine=libaio", "--iodepth=8", "--verify=md5"});
}

BOOST_AUTO_TEST_CASE(fio_verifies_what_it_queued_beside_the_page_cache,
                     *precondition(needs_programs("fio"))) {
  run_fio({"--ioengine=libaio", "--iodepth=8", "--direct=1", "--verify=md5"});
}

BOOST_AUTO_TEST_CASE(b2frame_names_the_frame_that_a_mount_shows) {
  const SourceDir source;
  fs_std::create_directory(source / "d");
  write_file(source / "d/f.b2frame", flat_frame(std::string("text")));
  write_file(source / "plain.csv", std::string("a\n1\n"));
  fs_std::copy_file(BLOSCFS_SOURCE_ROOT "/tests/data/tables/utf8.b2z", source / "t.b2z");
  Mount mount(source.path());
  const auto complaint = [&](const Arguments& command, const fs_std::path& path) {
    Arguments words = {b2frame_program()};
    words.insert(words.end(), command.begin(), command.end());
    const auto result = run(words);
    BOOST_TEST(result.status != 0, result.description());
    const std::string begin = "b2frame: " + path.string() + ": ";
    BOOST_TEST_REQUIRE(result.err.starts_with(begin), result.err);
    return result.err.substr(begin.size(), result.err.size() - begin.size() - 1);
  };
  const std::string shown = "is shown by a mount and no frame itself; name what is stored: ";
  for (const auto& [path, stored] :
       {std::pair{"d/f", "d/f.b2frame"}, {"t", "t.b2z"}, {"t/_cols/id.npy", "t.b2z"}})
    for (const char* command : {"info", "verify", "cat"})
      BOOST_TEST(complaint({command, (mount / path).string()}, mount / path) ==
                 shown + (source / stored).string());
  const std::string hint = "neither a Blosc2 frame nor a Bloscpack file; make one: b2frame create ";
  BOOST_TEST(complaint({"info", (mount / "plain.csv").string()}, mount / "plain.csv") ==
             hint + (source / "plain.csv").string() + " -o " + (source / "plain.b2z").string());
  const fs_std::path table = mount / "d/new.b2z";
  BOOST_TEST(complaint({"create", (mount / "plain.csv").string(), "-o", table.string()}, table) ==
             "is in a mount, which cannot hold a new store; write it to SOURCE: -o " +
                 (source / "d/new.b2z").string());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
