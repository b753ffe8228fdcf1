// A user who may make files in a directory of SOURCE replaces the files that the daemon uses there.
// The daemon's rights must not help that user.

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/mount/foreign_changes.hpp"
#include "tests/mount/shared_source.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/source_dir.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

/// A file outside of `p` that only the daemon's user may read.
struct PrivateFile {
  PrivateFile(const Shared& shared, const ByteVector& contents)
      : path(shared.source / "private"), user(shared.mounter), bytes(contents) {
    make_file(path, bytes, user, 0600);
  }
  void check_untouched() const {
    BOOST_CHECK(read_file(path) == bytes);
    BOOST_TEST(lstat_of(path).st_mode == (S_IFREG | 0600u));
    BOOST_TEST(lstat_of(path).st_uid == user);
  }
  fs_std::path path;
  uid_t user;
  ByteVector bytes;
};

/// While it lives, replaces each temporary in a directory by a hard link or a symlink to `file`, in
/// alternation.
class TemporarySwapper {
 public:
  TemporarySwapper(fs_std::path directory, fs_std::path file)
      : thread_([this, directory = std::move(directory), file = std::move(file)] {
          while (!is_done_)
            for (const auto& entry : fs_std::directory_iterator(directory)) swap(entry, file);
        }) {}
  ~TemporarySwapper() { end(); }
  TemporarySwapper(const TemporarySwapper&) = delete;
  TemporarySwapper& operator=(const TemporarySwapper&) = delete;
  void end() {
    is_done_ = true;
    if (thread_.joinable()) thread_.join();
  }
  int swapped() const { return swapped_; }

 private:
  void swap(const fs_std::path& name, const fs_std::path& file) {
    if (!name.filename().string().starts_with(".bloscfs-")) return;
    const std::string moved = name.parent_path() / ("moved" + std::to_string(swapped_));
    if (::rename(name.c_str(), moved.c_str()) != 0) return;
    const auto make = swapped_ % 2 == 0 ? ::link : ::symlink;
    make(file.c_str(), name.c_str());
    swapped_++;
  }

  std::atomic<bool> is_done_{false};
  std::atomic<int> swapped_{0};
  std::jthread thread_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(strangers)

BOOST_TEST_DECORATOR(*precondition(needs_mounter))
BOOST_AUTO_TEST_CASE_TEMPLATE(file_that_takes_a_temporarys_name_is_left_alone, By, Mounters) {
  Shared shared(By::user());
  const fs_std::path p = shared.source / "p";
  give(p, kStranger, 0777);
  const PrivateFile own(shared, flat_frame(std::string(100, 'T')));
  make_file(p / "a.b2nd", array_frame(make_contents("noise", 2, 1 << 16, 1), {1 << 13}, "<f8", 8),
            kStranger, 0666);
  shared.mounted();
  TemporarySwapper swapper(p, own.path);
  std::string seen;
  for (int i = 0; i < 15; i++)
    seen += shared
                .run_stranger("p",
                              "echo mine >f$$; sync f$$; chmod 666 f$$; setfattr -n "
                              "user.blosc2.meta.m -v $$ a.npy; sync a.npy; echo mine >>f$$; "
                              "sync f$$; cat f$$; rm f$$; true")
                .out;
  swapper.end();
  seen += shared.run_stranger("p", "cat *; true").out;
  BOOST_TEST(swapper.swapped() > 0);
  BOOST_TEST(seen.find("TTTT") == std::string::npos);
  shared.mount->unmount();
  own.check_untouched();
}

/// A second name of a temporary must not confuse the mount.
BOOST_TEST_DECORATOR(*precondition(needs_mounter) * precondition(kNeedsOwners))
BOOST_AUTO_TEST_CASE_TEMPLATE(link_to_a_temporary_leads_to_the_waiting_file, By, Mounters) {
  Shared shared(By::user());
  give(shared.source / "p", shared.mounter == 0 ? kStranger : shared.mounter, 0777);
  make_directory(shared.source / "p/q", shared.mounter == 0 ? kStranger : shared.mounter, 0777);
  const std::string link = "ln $S/.bloscfs-*.tmp $S/q/link";
  const uid_t linker = shared.mounter == 0 ? kStranger : shared.mounter;
  const auto result = shared.run_user(
      linker, "p",
      "exec 3>f; echo mine >&3; " + link + "; stat q/link; sync f; ls -la . q; mv f g");
  BOOST_TEST(result.ok(), result.description());
  BOOST_CHECK(read_file(shared.mounted() / "p/g") == bytes_of("mine\n"));
  BOOST_TEST(shared.mount->unmount().ok(), shared.mount->log());
  BOOST_CHECK(stored_contents(shared.source / "p/g.b2frame") == bytes_of("mine\n"));
}

/// Contents of a removed directory get a name only where their writer could create it. Otherwise
/// they get a name only when the administrator runs `b2frame recover`.
BOOST_TEST_DECORATOR(*precondition(needs_mounter) * precondition(kNeedsOwners))
BOOST_AUTO_TEST_CASE_TEMPLATE(conflict_makes_no_name_where_its_writer_could_not, By, Mounters) {
  Shared shared(By::user());
  make_directory(shared.source / "p/q", kStranger, 0777);
  const auto written = shared.run_stranger("p", "echo mine >q/f && rm -r $S/q");
  BOOST_TEST(written.ok(), written.description());
  BOOST_TEST(comes_true([&] { return shared.mount->log().find("kept as") != std::string::npos; }));
  shared.mount->unmount();
  int kept = 0;
  for (const auto& entry : fs_std::directory_iterator(shared.source.path())) {
    const std::string name = entry.path().filename();
    if (name == "p") continue;
    BOOST_TEST(name.starts_with(".bloscfs-"));
    if (!name.ends_with(".tmp")) continue;
    kept++;
    const struct stat st = lstat_of(entry);
    BOOST_TEST(st.st_uid == (shared.mounter == 0 ? kStranger : shared.mounter));
    BOOST_TEST((st.st_mode & 07077) == 0u);
  }
  BOOST_TEST(kept == 1);
  ProcessSettings as_mounter;
  if (shared.mounter != 0) as_mounter.uid = shared.mounter;
  const auto recovered =
      run({b2frame_program(), "recover", shared.source.path().string()}, as_mounter);
  BOOST_TEST(recovered.ok(), recovered.description());
  BOOST_CHECK(stored_contents(shared.source / "f.b2frame") == bytes_of("mine\n"));
}

BOOST_TEST_DECORATOR(*precondition(needs_mounter))
BOOST_AUTO_TEST_CASE_TEMPLATE(file_that_takes_a_sidecars_name_is_left_alone, By, Mounters) {
  Shared shared(By::user());
  const fs_std::path p = shared.source / "p";
  const PrivateFile own(shared, bytes_of("0123456789ab"));
  make_file(p / "f.b2frame", flat_frame(std::string("contents")), kStranger, 0666);
  fs_std::create_hard_link(own.path, p / "f.b2frame.b2lock");
  const auto result =
      shared.run_stranger("p", "printf C | dd of=f conv=notrunc,fsync status=none && cat f");
  BOOST_TEST(result.out == "Contents", result.description());
  BOOST_TEST(shared.mount->unmount().ok(), shared.mount->log());
  own.check_untouched();
}

BOOST_TEST_DECORATOR(*precondition(needs_mounter))
BOOST_AUTO_TEST_CASE_TEMPLATE(private_chunk_file_is_of_its_owners_frames_alone, By, Mounters) {
  Shared shared(By::user());
  const fs_std::path frame = shared.source / "p" / "s.b2frame";
  Cut cut;
  cut.chunksize = 20000;
  write_sparse_frame(frame, ByteVector(40000, 'T'), cut);
  const PrivateFile own(shared, read_file(frame / "00000001.chunk"));
  give(frame, kStranger, 0777);
  for (const char* name : {"chunks.b2frame", "00000000.chunk"}) give(frame / name, kStranger, 0666);
  fs_std::remove(frame / "00000001.chunk");
  fs_std::create_hard_link(own.path, frame / "00000001.chunk");
  const auto result = shared.run_stranger(
      "p", "head -c 1 s; tail -c 1 s; printf C | dd of=s conv=notrunc,fsync seek=30000 bs=1");
  BOOST_TEST(result.out == "T", result.description());
  own.check_untouched();
}

BOOST_TEST_DECORATOR(*precondition(needs_mounter))
BOOST_AUTO_TEST_CASE_TEMPLATE(open_file_does_not_go_on_from_one_that_permits_less, By, Mounters) {
  Shared shared(By::user());
  const fs_std::path p = shared.source / "p";
  give(p, kStranger, 0777);
  const ByteVector treasure = flat_frame(std::string("treasure"));
  for (const char* name : {"a", "b"})
    make_file(p / (name + std::string(".b2frame")), flat_frame(std::string("mine")), kStranger,
              0666);
  for (const char* name : {"v", "w"})
    make_file(p / (name + std::string(".b2frame")), treasure, shared.victim(), 0600);
  const auto result = shared.run_stranger("p", R"(python3 -c "
import os
def attempt(work, *arguments):
  try: print(work(*arguments))
  except OSError as error: print(error)
a, b = os.open('a', os.O_RDWR), os.open('b', os.O_RDWR)
os.pwrite(a, b'X', 0)
os.setxattr('b', 'user.blosc2.vlmeta.added', b'1')
for old, new in ('v', 'a'), ('w', 'b'):
  os.rename('$S/%s.b2frame' % old, '$S/%s.b2frame' % new)
for file in a, b, a, b:
  attempt(os.fsync, file)
  attempt(os.pread, file, 100, 0)
  attempt(os.pwrite, file, b'Y', 0)
  attempt(os.setxattr, file, 'user.blosc2.vlmeta.more', b'1')
  attempt(os.fsync, file)
")");
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(result.out.find("treasure") == std::string::npos, result.out);
  shared.mount->unmount();
  for (const char* name : {"a.b2frame", "b.b2frame"}) {
    BOOST_CHECK(read_file(p / name) == treasure);
    BOOST_TEST(lstat_of(p / name).st_mode == (S_IFREG | 0600u));
  }
}

// A user can have a frame made with contents that look like a journal, and then rename it to the
// lock file's name. The file belongs to the daemon's user.
BOOST_AUTO_TEST_CASE(frame_that_takes_the_lock_files_name_tells_nothing,
                     *precondition(needs_fuse_for_others) * precondition(kNeedsOwners)) {
  MountSettings settings;
  settings.options = {"clevel=0"};
  Shared shared(nobody(), settings);
  give(shared.source.path(), nobody(), 0777);
  const std::string temporary = ".bloscfs-0123456789abcdef.tmp";
  const auto made = shared.run_stranger(".", "umask 077; { printf '\\nkept " + temporary +
                                                 " p/stolen\\n'; head -c 500 /dev/urandom; } >f");
  BOOST_TEST(made.ok(), made.description());
  BOOST_TEST(shared.mount->unmount().ok());
  shared.mount.reset();
  make_file(shared.source / temporary, flat_frame(std::string("forged")), nobody(), 0600);
  fs_std::rename(shared.source / "f.b2frame", shared.source / ".bloscfs-lock");
  const auto recovered =
      run_as(nobody(), b2frame_program() + " recover '" + shared.source.path().string() + "'");
  BOOST_TEST(!fs_std::exists(shared.source / "p" / "stolen.b2frame"), recovered.description());
}

// Only the owner of a file can set its times. That must not keep another user's change from a
// commit.
BOOST_AUTO_TEST_CASE(changes_of_others_files_are_committed,
                     *precondition(needs_fuse_for_others) * precondition(kNeedsPrivilegesDropped)) {
  Shared shared(nobody());
  const fs_std::path p = shared.source / "p";
  const ByteVector frame = flat_frame(std::string("contents"));
  make_file(p / "v.b2frame", frame, kVictim, 0666);
  make_file(p / "u.b2frame", frame, kVictim, 06777);
  make_file(p / "u", bytes_of("contents"), kVictim, 06777);
  const auto result = shared.run_stranger(
      "p",
      "for f in v u.b2frame u; do printf C | dd of=$f conv=notrunc,fsync status=none && "
      "cat $f; done; exec 3<>v; touch v && truncate -s 8 v && ! touch -d 2001-01-01 v");
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(result.out == "ContentsContentsContents");
  BOOST_TEST(shared.mount->unmount().ok(), shared.mount->log());
  for (const char* name : {"v.b2frame", "u.b2frame"})
    BOOST_CHECK(stored_contents(p / name) == bytes_of("Contents"));
  for (const char* name : {"v.b2frame", "u.b2frame", "u"}) {
    BOOST_TEST(lstat_of(p / name).st_uid == kVictim);
    BOOST_TEST((lstat_of(p / name).st_mode & 06000) == 0u);
  }
}

BOOST_AUTO_TEST_CASE(nothing_that_is_made_gives_the_daemons_rights,
                     *precondition(needs_fuse_for_others) * precondition(kNeedsOwners)) {
  Shared shared(nobody(), with_set_ids());
  const auto result = shared.run_stranger(
      "p",
      "python3 -c \"import os; os.umask(0); os.mknod('n', 0o106777); os.mknod('f', 0o16777); "
      "os.write(os.open('c', os.O_CREAT | os.O_RDWR, 0o6777), b'#!/bin/sh')\"; ls -ln; find . "
      "-perm /6000");
  BOOST_TEST(result.out.find("./") == std::string::npos, result.out);
  BOOST_TEST(result.out.find("c") != std::string::npos, result.description());
  BOOST_TEST(run({"find", (shared.source / "p").string(), "-perm", "/6000"}).out == "");
  // The daemon's user may set such bits on a file of that user.
  const auto own = shared.run_user(nobody(), "p", "touch own && chmod 4755 own && stat -c %a own");
  BOOST_TEST(own.out == "4755\n", own.description());
}

// A frame that is written anew belongs to the daemon's user, and so to another group.
BOOST_AUTO_TEST_CASE(group_of_the_daemons_user_gets_nothing_by_a_replacement,
                     *precondition(needs_programs("setfacl")) *
                         precondition(needs_fuse_for_others) * precondition(kNeedsAccessLists)) {
  Shared shared(nobody());
  const fs_std::path p = shared.source / "p";
  for (const char* name : {"listed.b2frame", "open.b2frame"})
    make_file(p / name, flat_frame(std::string("contents")), kVictim, 0666);
  BOOST_REQUIRE(run({"setfacl", "-m", "u:70002:rw,u:" + std::to_string(nobody()) + ":rw,o::-",
                     (p / "listed.b2frame").string()})
                    .ok());
  BOOST_REQUIRE(::chmod((p / "open.b2frame").c_str(), 0676) == 0);
  const auto result = shared.run_stranger(
      "p", "for f in listed open; do setfattr -n user.blosc2.meta.m -v 1 $f && sync $f; done");
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(shared.mount->unmount().ok(), shared.mount->log());
  BOOST_TEST((lstat_of(p / "listed.b2frame").st_mode & 07777) == 0600u);
  BOOST_TEST((lstat_of(p / "open.b2frame").st_mode & 07777) == 0666u);
}

BOOST_AUTO_TEST_CASE(mount_of_a_user_for_others_ends_with_its_daemon,
                     *precondition(needs_fuse_for_others) * precondition(needs_plain_build)) {
  MountSettings settings;
  settings.options = {"sandbox=require"};
  Shared shared(nobody(), settings);
  BOOST_TEST(shared.run_stranger("p", "echo text >f && cat f").out == "text\n");
  shared.mounted().signal(SIGKILL);
  BOOST_TEST(shared.mounted().wait(Seconds(10)));
  BOOST_TEST(comes_true([&] { return !is_mounted(shared.mounted().path()); }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
