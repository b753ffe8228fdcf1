// Files that are removed, created and left behind in SOURCE, and what programs that have a removed
// file open can still do with it.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <future>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/mount/errno_of.hpp"
#include "tests/mount/naming_cases.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/source_lock.hpp"
#include "tests/support/xattr.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;
using Names = std::vector<std::string>;

Names names_in(const fs_std::path& directory) {
  Names names;
  for (const auto& entry : fs_std::directory_iterator(directory))
    if (!is_lock_file(entry.path())) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

ByteVector read_all(const Fd& file, std::size_t size) {
  ByteVector bytes(size);
  const ssize_t got = pread(file.get(), bytes.data(), bytes.size(), 0);
  if (got < 0) throw_errno("pread");
  bytes.resize(static_cast<std::size_t>(got));
  return bytes;
}

int errno_of_creating(const fs_std::path& path) {
  const Fd file(open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644));
  return file ? 0 : errno;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(removal)

BOOST_AUTO_TEST_CASE(removed_files_stay_for_those_who_have_them_open, *precondition(needs_fuse)) {
  const TempDir source;
  const auto contents = make_contents("noise", 1, 300000, 1);
  write_file(source / "flat.b2frame", flat_frame(contents));
  write_sparse_frame(source / "sparse.b2frame", contents);
  write_file(source / "plain", contents);
  Mount mount(source.path());
  for (const char* name : {"flat", "sparse", "plain"}) {
    const Fd file(open((mount / name).c_str(), O_RDONLY | O_CLOEXEC));
    BOOST_TEST(errno_of(unlink((mount / name).c_str())) == 0);
    BOOST_TEST(errno_of(access((mount / name).c_str(), F_OK)) == ENOENT);
    struct stat st {};
    BOOST_TEST(errno_of(fstat(file.get(), &st)) == 0);
    BOOST_TEST(st.st_size == static_cast<off_t>(contents.size()));
    BOOST_TEST(errno_of(fchmod(file.get(), 0600)) == 0);
    const timespec times[2] = {{1'000'000'000, 0}, {1'100'000'000, 0}};
    BOOST_TEST(errno_of(futimens(file.get(), times)) == 0);
    BOOST_TEST(errno_of(fstat(file.get(), &st)) == 0);
    BOOST_TEST(st.st_mtime == 1'100'000'000);
    BOOST_CHECK(read_all(file, contents.size()) == contents);
  }
  BOOST_CHECK(comes_true([&] { return names_in(source.path()).empty(); }));
}

BOOST_AUTO_TEST_CASE(a_file_without_a_name_is_written_to, *precondition(needs_fuse)) {
  const TempDir source;
  Maker(source.path()).plain("plain");
  Maker(source.path()).flat("flat.b2frame");
  Mount mount(source.path());
  for (const char* name : {"new", "plain", "flat"}) {
    const Fd file(open((mount / name).c_str(), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600));
    BOOST_TEST(errno_of(unlink((mount / name).c_str())) == 0);
    const auto bytes = make_contents("text", 1, 100000, 1);
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(pwrite(file.get(), bytes.data(), bytes.size(), 0) == 100000);
      struct stat st {};
      BOOST_TEST(errno_of(fstat(file.get(), &st)) == 0);
      BOOST_TEST(st.st_size == 100000);
      BOOST_TEST(st.st_nlink == 0u);
      BOOST_CHECK(read_all(file, 200000) == bytes);
      BOOST_TEST(errno_of(ftruncate(file.get(), 500)) == 0);
      struct statx asked {};
      BOOST_TEST(errno_of(statx(file.get(), "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_SIZE,
                                &asked)) == 0);
      BOOST_TEST(asked.stx_size == 500u);
      BOOST_TEST(errno_of(fsync(file.get())) == 0);
    }
  }
  BOOST_CHECK(comes_true([&] { return names_in(source.path()).empty(); }));
}

BOOST_AUTO_TEST_CASE(lock_sidecars_follow_their_frames, *precondition(needs_fuse)) {
  const TempDir source;
  fs_std::create_directory(source / "d");
  for (const char* name : {"a.b2frame", "b.b2frame"}) {
    write_file(source / name, flat_frame(std::string(name)));
    write_file(source / (std::string(name) + ".b2lock"), std::string(16, name[0]));
  }
  Mount mount(source.path());
  const auto locked_by = [&](const char* path) {
    const auto bytes = read_file(source / path);
    return bytes.empty() ? ' ' : static_cast<char>(bytes[0]);
  };
  BOOST_TEST(errno_of(rename((mount / "a").c_str(), (mount / "d/c").c_str())) == 0);
  BOOST_TEST(names_in(source / "d") == (Names{"c.b2frame", "c.b2frame.b2lock"}));
  BOOST_TEST(names_in(source.path()) == (Names{"b.b2frame", "b.b2frame.b2lock", "d"}));
  BOOST_TEST(errno_of(renameat2(AT_FDCWD, (mount / "b").c_str(), AT_FDCWD, (mount / "d/c").c_str(),
                                RENAME_EXCHANGE)) == 0);
  BOOST_TEST(locked_by("b.b2frame.b2lock") == 'a');
  BOOST_TEST(locked_by("d/c.b2frame.b2lock") == 'b');
  BOOST_TEST(errno_of(rename((mount / "b").c_str(), (mount / "d/c").c_str())) == 0);
  BOOST_TEST(locked_by("d/c.b2frame.b2lock") == 'a');
  BOOST_TEST(names_in(source.path()) == (Names{"d"}));
  BOOST_TEST(errno_of(unlink((mount / "d/c").c_str())) == 0);
  BOOST_TEST(errno_of(rmdir((mount / "d").c_str())) == 0);
}

BOOST_AUTO_TEST_CASE(names_that_could_not_be_shown_are_refused, *precondition(needs_fuse)) {
  const TempDir source;
  const Maker maker(source.path());
  maker.plain("p.b2frame");
  maker.flat("m.b2frame");
  maker.flat("m.blp");
  maker.array("t.b2nd");
  maker.plain("x");
  maker.sparse("s");
  fs_std::rename(source / "s/chunks.b2frame", source / "index");
  fs_std::remove_all(source / "s");
  maker.directory("d");
  Mount mount(source.path());
  BOOST_TEST(errno_of_creating(mount / "p") == EEXIST);
  BOOST_TEST(errno_of_creating(mount / "m") == EEXIST);
  BOOST_TEST(errno_of(mkdir((mount / "m.b2frame.b2lock").c_str(), 0700)) == EEXIST);
  BOOST_TEST(errno_of(mkdir((mount / ".bloscfs-0123456789abcdef.tmp").c_str(), 0700)) == EEXIST);
  BOOST_TEST(errno_of(rename((mount / "x").c_str(), (mount / "t.b2nd").c_str())) == EEXIST);
  BOOST_TEST(errno_of(rename((mount / "index").c_str(), (mount / "d/chunks.b2frame").c_str())) ==
             EEXIST);
  BOOST_TEST(errno_of(rename((mount / "x").c_str(), (mount / "d/chunks.b2frame").c_str())) == 0);
  BOOST_TEST(errno_of(rename((mount / "d/chunks.b2frame").c_str(), (mount / "x").c_str())) == 0);
  BOOST_TEST(errno_of(rmdir((mount / "d").c_str())) == 0);
  BOOST_TEST(errno_of(unlink((mount / "index").c_str())) == 0);
  BOOST_TEST(errno_of_creating(mount / "t.b2nd") == 0);
  BOOST_TEST(errno_of_creating(mount / std::string(256, 'x')) == ENAMETOOLONG);
  BOOST_TEST(errno_of_creating(mount / std::string(255, 'x')) == 0);
  BOOST_TEST(names_in(mount.path()) == (Names{"m.b2frame", "m.blp", "p.b2frame", "t.b2nd", "t.npy",
                                              "x", std::string(255, 'x')}));
}

BOOST_AUTO_TEST_CASE(a_name_that_was_given_way_for_comes_back, *precondition(needs_fuse)) {
  const TempDir source;
  const Maker maker(source.path());
  maker.plain("a");
  maker.flat("a.b2");
  Mount mount(source.path());
  BOOST_TEST(names_in(mount.path()) == (Names{"a", "a.b2"}));
  BOOST_TEST(fs_std::exists(mount / "a.b2"));
  BOOST_TEST(errno_of(unlink((mount / "a").c_str())) == 0);
  BOOST_TEST(!fs_std::exists(mount / "a.b2"));
  BOOST_TEST((read_file(mount / "a") == bytes_of(flat_text())));
}

BOOST_AUTO_TEST_CASE(the_root_of_a_single_frame_takes_no_other_names, *precondition(needs_fuse)) {
  const TempDir source;
  Maker(source.path()).flat("a.b2frame");
  Mount mount(source / "a.b2frame");
  BOOST_TEST(errno_of_creating(mount / "b") == EPERM);
  BOOST_TEST(errno_of(mkdir((mount / "d").c_str(), 0700)) == EPERM);
  BOOST_TEST(errno_of(symlink("a", (mount / "l").c_str())) == EPERM);
  BOOST_TEST(errno_of(mkfifo((mount / "f").c_str(), 0600)) == EPERM);
  BOOST_TEST(errno_of(rename((mount / "a").c_str(), (mount / "b").c_str())) == EPERM);
  BOOST_TEST(errno_of(link((mount / "a").c_str(), (mount / "b").c_str())) == EPERM);
  BOOST_TEST(errno_of(chmod((mount / "a").c_str(), 0600)) == 0);
  BOOST_TEST(names_in(source.path()) == (Names{"a.b2frame"}));
}

BOOST_AUTO_TEST_CASE(read_only_mounts_clear_nothing, *precondition(needs_fuse)) {
  const TempDir source;
  Maker(source.path()).plain(".bloscfs-0123456789abcdef.tmp");
  MountSettings settings;
  settings.options = {"ro"};
  Mount mount(source.path(), settings);
  BOOST_TEST(names_in(mount.path()).empty());
  BOOST_TEST(names_in(source.path()).size() == 1u);
}

BOOST_AUTO_TEST_CASE(new_files_move_with_their_directories, *precondition(needs_fuse)) {
  const TempDir source;
  Mount mount(source.path());
  fs_std::create_directory(mount / "d");
  write_file(mount / "d/new", "text");
  BOOST_TEST(errno_of(rename((mount / "d").c_str(), (mount / "e").c_str())) == 0);
  BOOST_TEST(errno_of(rmdir((mount / "e").c_str())) == ENOTEMPTY);
  BOOST_TEST((read_file(mount / "e/new") == bytes_of("text")));
  const Fd directory(open((mount / "e").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  BOOST_TEST(errno_of(fsync(directory.get())) == 0);
  BOOST_TEST(names_in(source / "e") == (Names{"new.b2frame"}));
  BOOST_TEST(errno_of(mknod((mount / "e/node").c_str(), S_IFREG | 0600, 0)) == 0);
  BOOST_TEST(errno_of(fsync(directory.get())) == 0);
  BOOST_TEST(names_in(source / "e") == (Names{"new.b2frame", "node.b2frame"}));
}

// The mount knows a hard link once a program has looked it up.
BOOST_AUTO_TEST_CASE(a_file_goes_on_by_the_name_that_another_program_leaves,
                     *precondition(needs_fuse)) {
  const TempDir source;
  Mount mount(source.path());
  const auto append = [&](const fs_std::path& path, std::string_view text) {
    const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    BOOST_TEST(::write(file.get(), text.data(), text.size()) == std::ssize(text));
  };
  append(mount / "first", "one");
  fs_std::create_hard_link(mount / "first", mount / "second");
  append(mount / "second", " two");
  {
    const Fd file(::open((mount / "first").c_str(), O_WRONLY | O_CLOEXEC));
    BOOST_TEST(::fsync(file.get()) == 0);
  }
  fs_std::remove(source / "first.b2frame");
  // The kernel trusts its cached names for a while.
  BOOST_TEST(comes_true([&] { return !fs_std::exists(mount / "first"); }));
  BOOST_TEST(errno_of(::chmod((mount / "second").c_str(), 0600)) == 0);
  const ProcessResult ended = mount.unmount();
  BOOST_TEST(ended.ok(), ended.description());
  BOOST_TEST(std::distance(fs_std::directory_iterator(source.path()), {}) == 1);
  const Mount again(source.path());
  BOOST_CHECK(read_file(again / "second") == bytes_of("one two"));
}

BOOST_AUTO_TEST_CASE(what_was_written_by_a_name_that_goes_is_there_by_others,
                     *precondition(needs_fuse)) {
  const TempDir source;
  const ByteVector before = make_contents("text", 1, 30000, 1), behind(30000, 'x');
  ByteVector last = behind;
  for (const std::string name : {"removed", "replaced", "open"}) {
    write_file(source / (name + ".b2frame"), flat_frame(before));
    fs_std::create_hard_link(source / (name + ".b2frame"), source / (name + "-link.b2frame"));
  }
  write_file(source / "other.b2frame", flat_frame(before));
  Mount mount(source.path());
  const auto overwrite = [&](const std::string& name) {
    Fd file(::open((mount / name).c_str(), O_WRONLY | O_CLOEXEC));
    BOOST_TEST(::pwrite(file.get(), behind.data(), behind.size(), 0) == std::ssize(behind));
    return file;
  };
  overwrite("removed");
  fs_std::remove(mount / "removed");
  BOOST_CHECK(read_file(mount / "removed-link") == behind);
  overwrite("replaced");
  fs_std::rename(mount / "other", mount / "replaced");
  BOOST_CHECK(read_file(mount / "replaced-link") == behind);
  {
    const Fd file = overwrite("open");
    fs_std::remove(mount / "open");
    BOOST_CHECK(read_file(mount / "open-link") == behind);
    // The file is still one file under all its names.
    BOOST_TEST(::pwrite(file.get(), "last", 4, 0) == 4);
    std::copy_n("last", 4, last.begin());
    BOOST_CHECK(read_file(mount / "open-link") == last);
  }
  BOOST_TEST(mount.unmount().ok());
  Mount again(source.path());
  BOOST_CHECK(read_file(again / "open-link") == last);
  BOOST_CHECK(read_file(again / "removed-link") == behind);
  BOOST_CHECK(read_file(again / "replaced-link") == behind);
}

BOOST_AUTO_TEST_CASE(a_frame_with_links_that_was_empty_before_is_emptied,
                     *precondition(needs_fuse)) {
  const TempDir source;
  MountSettings settings;
  settings.options = {"checksum"};
  const auto resize = [&](off_t size, bool has_link) {
    Mount mount(source.path(), settings);
    const Fd file(open((mount / "a").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
    if (has_link) BOOST_TEST(errno_of(link((mount / "a").c_str(), (mount / "b").c_str())) == 0);
    BOOST_TEST(errno_of(ftruncate(file.get(), size)) == 0);
    BOOST_TEST(errno_of(fsync(file.get())) == 0);
  };
  resize(0, false);
  resize(5000, false);
  resize(0, true);
}

BOOST_AUTO_TEST_CASE(frames_with_links_and_metalayers_are_emptied, *precondition(needs_fuse)) {
  const TempDir source;
  {
    Mount mount(source.path());
    write_file(mount / "a", make_contents("noise", 1, 500000, 1));
    BOOST_TEST(errno_of_set_xattr(mount / "a", "user.blosc2.json.v", "1") == 0);
    BOOST_TEST(errno_of(link((mount / "a").c_str(), (mount / "b").c_str())) == 0);
    for (const char* name : {"a", "b"}) {
      const Fd file(open((mount / name).c_str(), O_RDWR | O_TRUNC | O_CLOEXEC));
      BOOST_TEST(errno_of(fsync(file.get())) == 0);
      BOOST_TEST(read_file(mount / "b").empty());
      BOOST_TEST(fs_std::file_size(source / "a.b2frame") < 10000u);
      BOOST_TEST(write(file.get(), "new", 3) == 3);
      BOOST_TEST(errno_of(fsync(file.get())) == 0);
      BOOST_TEST(read_file(mount / "b").size() == 3u);
      BOOST_TEST(errno_of(ftruncate(file.get(), 0)) == 0);
      BOOST_TEST(errno_of_set_xattr(mount / "a", "user.blosc2.json.v", "22222") == 0);
      BOOST_TEST(errno_of(fsync(file.get())) == 0);
      BOOST_TEST(write(file.get(), "more", 4) == 4);
    }
    fs_std::remove(mount / "b");
    const auto result = mount.unmount();
    BOOST_TEST(result.ok(), result.description());
  }
  BOOST_TEST(fs_std::file_size(source / "a.b2frame") < 10000u);
  Mount mount(source.path());
  BOOST_TEST(read_file(mount / "a").size() == 7u);  // the write began at offset 3
  BOOST_TEST(get_xattr(mount / "a", "user.blosc2.json.v").value_or("") == "22222");
}

BOOST_AUTO_TEST_CASE(arrays_with_links_stay_arrays, *precondition(needs_fuse)) {
  const TempDir source;
  const Maker maker(source.path());
  maker.array("a.b2nd");
  maker.array("x.b2nd");
  {
    Mount mount(source.path());
    BOOST_TEST(errno_of(link((mount / "a.npy").c_str(), (mount / "b.npy").c_str())) == 0);
    BOOST_TEST(errno_of(rename((mount / "b.npy").c_str(), (mount / "b").c_str())) == EOPNOTSUPP);
    BOOST_TEST(errno_of(link((mount / "b.npy").c_str(), (mount / "c").c_str())) == EOPNOTSUPP);
    const Fd file(open((mount / "a.npy").c_str(), O_RDWR | O_CLOEXEC));
    BOOST_TEST(pwrite(file.get(), "item", 4, 128) == 4);
    BOOST_TEST(errno_of(fsync(file.get())) == 0);
    BOOST_CHECK(read_file(mount / "b.npy") == read_all(file, 10000));
    BOOST_TEST(errno_of(ftruncate(file.get(), 5)) == 0);
    BOOST_TEST(errno_of(fsync(file.get())) == EOPNOTSUPP);
    // A file without hard links becomes a flat frame first.
    BOOST_TEST(errno_of(link((mount / "x.npy").c_str(), (mount / "y").c_str())) == 0);
    BOOST_CHECK(read_file(mount / "y") == read_file(mount / "x.npy"));
  }
  Names stored = names_in(source.path());
  const auto is_kept = [](const std::string& name) { return name.starts_with(".bloscfs-"); };
  BOOST_TEST(std::erase_if(stored, is_kept) == 1u);  // what was not committed
  BOOST_TEST(fs_std::exists(lock_file_in(source.path())));
  BOOST_TEST(stored == (Names{"a.b2nd", "b.b2nd", "x.npy.b2frame", "y.b2frame"}));
  MountSettings settings;
  settings.options = {"ro"};
  Mount mount(source.path(), settings);
  const ByteVector bytes = read_file(mount / "a.npy");
  BOOST_CHECK(read_file(mount / "b.npy") == bytes);
  BOOST_CHECK(std::equal(bytes.begin() + 128, bytes.begin() + 132, "item"));
}

BOOST_AUTO_TEST_CASE(plain_files_stay_plain_unless_they_become_frames, *precondition(needs_fuse)) {
  const TempDir source;
  const Maker maker(source.path());
  maker.plain("p");
  maker.plain("q");
  const ByteVector frame = flat_frame(std::string("inner"));
  {
    Mount mount(source.path());
    for (const char* name : {"p", "q"}) {
      const Fd file(open((mount / name).c_str(), O_RDWR | O_TRUNC | O_CLOEXEC));
      const ByteVector bytes = name[0] == 'p' ? bytes_of("other text") : frame;
      BOOST_TEST(pwrite(file.get(), bytes.data(), bytes.size(), 0) ==
                 static_cast<ssize_t>(bytes.size()));
      BOOST_CHECK(read_all(file, 1000) == bytes);
    }
    BOOST_CHECK(comes_true([&] { return read_file(source / "q") != frame; }));
    BOOST_CHECK(read_file(mount / "q") == frame);
    BOOST_TEST(mount.unmount().ok(), mount.log());
  }
  BOOST_TEST((read_file(source / "p") == bytes_of("other text")));
  Mount again(source.path());
  BOOST_CHECK(read_file(again / "q") == frame);
}

BOOST_AUTO_TEST_CASE(mapped_pages_of_a_plain_file_stay_in_place_when_it_is_appended_to,
                     *precondition(needs_fuse)) {
  const TempDir source;
  ByteVector expected = make_contents("text", 5, 10000, 1);
  write_file(source / "plain", expected);
  Mount mount(source.path());
  {
    const Fd fd(open((mount / "plain").c_str(), O_RDWR | O_APPEND | O_CLOEXEC));
    BOOST_REQUIRE(fd);
    void* const mapped =
        mmap(nullptr, expected.size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    BOOST_REQUIRE(mapped != MAP_FAILED);
    expected[5000] = static_cast<std::uint8_t*>(mapped)[5000] = 0xee;
    BOOST_TEST(write(fd.get(), "end", 3) == 3);
    BOOST_TEST(msync(mapped, expected.size(), MS_SYNC) == 0);
    munmap(mapped, expected.size());
  }
  for (const char byte : {'e', 'n', 'd'}) expected.push_back(static_cast<std::uint8_t>(byte));
  BOOST_CHECK(read_file(source / "plain") == expected);
  BOOST_CHECK(read_file(mount / "plain") == expected);
}

BOOST_AUTO_TEST_CASE(a_second_writable_mount_waits_and_is_refused, *precondition(needs_fuse)) {
  const TempDir source;
  Maker(source.path()).plain("p");
  Mount mount(source.path());
  MountSettings read_only;
  read_only.options = {"ro"};
  {
    Mount beside(source.path(), read_only);
    BOOST_TEST(fs_std::exists(beside / "p"));
  }
  DaemonTime time;
  MountSettings patient;
  patient.limit = Seconds(60);
  auto second = std::async(std::launch::async, [&] {
    try {
      const Mount mounted(source.path(), time.of(patient));
      return ProcessResult();
    } catch (const MountRefused& refused) {
      return refused.result;
    }
  });
  const auto has_ended = [&] {
    return second.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  BOOST_TEST(time.passes_until(has_ended));
  const ProcessResult refused = second.get();
  BOOST_TEST(refused.status == 1);
  BOOST_TEST(
      refused.err.find(", or was before a remount; unmount that first: bloscfs --unmount ") !=
          std::string::npos,
      refused.err);
}

BOOST_AUTO_TEST_CASE(a_second_writable_mount_says_at_once_whom_it_waits_for,
                     *precondition(needs_fuse)) {
  const TempDir source, home;
  const fs_std::path point = home / "mnt";
  fs_std::create_directory(point);
  Maker(source.path()).plain("p");
  Mount mount(source.path());
  Child second({bloscfs_program(), "-f", source.path(), point}, home / "log");
  const std::string expected = source.path().string() + ": is mounted for writing at " +
                               mount.path().string() + "; waiting up to 30 s for its end\n";
  BOOST_TEST(comes_true([&] {
    const ByteVector log = read_file(home / "log");
    return std::string(log.begin(), log.end()).ends_with(expected);
  }));
  BOOST_TEST(!is_mounted(point));
  BOOST_TEST(mount.unmount().ok(), mount.log());
  BOOST_TEST(comes_true([&] { return is_mounted(point); }));
  BOOST_TEST(force_unmount(point));
  BOOST_TEST(second.wait(Seconds(20)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
