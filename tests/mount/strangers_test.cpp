// A mount for all users, in directories of users who do not trust each other and who also change
// SOURCE directly.

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/mount/foreign_changes.hpp"
#include "tests/mount/shared_source.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/source_dir.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

}  // namespace

BOOST_AUTO_TEST_SUITE(strangers)

BOOST_TEST_DECORATOR(*precondition(needs_mounter))
BOOST_AUTO_TEST_CASE_TEMPLATE(directory_that_another_has_taken_the_name_of_is_not_entered, By,
                              Mounters) {
  Shared shared(By::user());
  const fs_std::path p = shared.source / "p";
  make_directory(p / "x", kStranger, 0777);
  make_directory(p / "v", shared.victim(), 0700);
  make_file(p / "v" / "secret", bytes_of("treasure"), shared.victim(), 0666);
  make_file(p / "v" / "hoard.b2frame", flat_frame(std::string("treasure")), shared.victim(), 0666);
  const auto result = shared.run_stranger(
      "p/x",
      "ls >/dev/null; mv $S/x $S/y; mv $S/v $S/x; ls; cat secret hoard; echo mine >secret; "
      "echo mine >hoard; rm -f secret hoard; mkdir new; mv secret stolen; chmod 777 .; true");
  BOOST_TEST(result.out.find("treasure") == std::string::npos, result.out);
  BOOST_TEST(result.out.find("secret") == std::string::npos, result.out);
  BOOST_TEST(shared.mount->unmount().ok());
  BOOST_TEST(lstat_of(p / "x").st_mode == (S_IFDIR | 0700u));
  BOOST_TEST(std::distance(fs_std::directory_iterator(p / "x"), {}) == 2);
  BOOST_CHECK(read_file(p / "x" / "secret") == bytes_of("treasure"));
  BOOST_CHECK(stored_contents(p / "x" / "hoard.b2frame") == bytes_of("treasure"));
}

// When a plain file is removed, the frame with the same stem gets the shown name.
BOOST_TEST_DECORATOR(*precondition(needs_mounter))
BOOST_AUTO_TEST_CASE_TEMPLATE(sticky_directory_keeps_what_a_freed_name_falls_to, By, Mounters) {
  Shared shared(By::user());
  const fs_std::path p = shared.source / "p";
  give(p, shared.mounter, 01777);
  for (const char* name : {"f", "g"}) {
    make_file(p / name, bytes_of("mine"), kStranger, 0644);
    make_file(p / (name + std::string(".b2frame")), flat_frame(std::string("theirs")), kVictim,
              0644);
  }
  shared.run_stranger("p", "cat f g; rm $S/f $S/g; rm -f f; mv g h; true");
  BOOST_TEST(shared.mount->unmount().ok());
  for (const char* name : {"f.b2frame", "g.b2frame"})
    BOOST_CHECK(stored_contents(p / name) == bytes_of("theirs"));
}

BOOST_TEST_DECORATOR(*precondition(needs_mounter))
BOOST_AUTO_TEST_CASE_TEMPLATE(lock_sidecar_of_another_stays_in_a_sticky_directory, By, Mounters) {
  Shared shared(By::user());
  const fs_std::path p = shared.source / "p";
  give(p, shared.mounter, 01777);
  for (const char* name : {"f", "g", "h"}) {
    const std::string stored = name + std::string(".b2frame");
    make_file(p / stored, flat_frame(std::string(name)), kStranger, 0644);
    make_file(p / (stored + ".b2lock"), ByteVector(), kVictim, 0666);
  }
  const auto result = shared.run_stranger("p", "mv f x && rm g && mv h x && cat x && rm x");
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(result.out == "h");
  BOOST_TEST(shared.mount->unmount().ok());
  for (const char* name : {"f.b2frame", "g.b2frame", "h.b2frame"}) {
    BOOST_TEST(!fs_std::exists(p / name));
    BOOST_TEST(fs_std::exists(p / (name + std::string(".b2lock"))));
  }
}

// The owner of a sparse frame may have put any files into its directory.
BOOST_AUTO_TEST_CASE(attributes_of_a_sparse_frame_are_those_of_its_own_chunks,
                     *precondition(needs_fuse_as_root)) {
  Shared shared(0, with_set_ids());
  const fs_std::path frame = shared.source / "p" / "s.b2frame";
  Cut cut;
  cut.chunksize = 20000;
  write_sparse_frame(frame, make_contents("noise", 1, 40000, 1), cut);
  write_file(shared.source / "root's", "root");
  give(shared.source / "root's", 0, 0600);
  fs_std::remove(frame / "00000001.chunk");
  fs_std::create_hard_link(shared.source / "root's", frame / "00000001.chunk");
  write_file(frame / "no chunk", "root");
  give(frame / "no chunk", 0, 0600);
  give(frame, kStranger, 0755);
  for (const char* name : {"chunks.b2frame", "00000000.chunk"}) give(frame / name, kStranger, 0644);
  const auto result = shared.run_stranger("p", "chmod 6755 s");
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(::chown((shared.mounted() / "p" / "s").c_str(), kVictim, kVictim) == 0);
  for (const char* name : {"00000001.chunk", "no chunk"}) {
    BOOST_TEST(lstat_of(frame / name).st_mode == (S_IFREG | 0600u));
    BOOST_TEST(lstat_of(frame / name).st_uid == 0u);
  }
  BOOST_TEST(lstat_of(frame / "00000000.chunk").st_mode == (S_IFREG | 0755u));
  BOOST_TEST(lstat_of(frame / "00000000.chunk").st_uid == kVictim);
  BOOST_TEST(lstat_of(frame / "chunks.b2frame").st_uid == kVictim);
  BOOST_TEST(shared.mount->unmount().ok());
}

/// Checks the temporaries of a directory continuously while it lives.
class TemporaryWatch {
 public:
  explicit TemporaryWatch(fs_std::path directory)
      : thread_([this, directory = std::move(directory)] {
          while (!is_done_)
            for (const auto& entry : fs_std::directory_iterator(directory)) {
              struct stat st {};
              if (!entry.path().filename().string().starts_with(".bloscfs-") ||
                  ::lstat(entry.path().c_str(), &st) != 0)
                continue;
              seen_++;
              if (st.st_uid == 0 && (st.st_mode & 077) != 0) open_++;
            }
        }) {}
  ~TemporaryWatch() { end(); }
  TemporaryWatch(const TemporaryWatch&) = delete;
  TemporaryWatch& operator=(const TemporaryWatch&) = delete;
  void end() {
    is_done_ = true;
    if (thread_.joinable()) thread_.join();
  }
  int seen() const { return seen_; }
  int open_to_others() const { return open_; }

 private:
  std::atomic<bool> is_done_{false};
  std::atomic<int> seen_{0}, open_{0};
  std::jthread thread_;
};

BOOST_AUTO_TEST_CASE(temporaries_of_commits_are_nobody_elses,
                     *precondition(needs_fuse_as_root) * precondition(kNeedsOwners)) {
  Shared shared;
  const fs_std::path p = shared.source / "p";
  const ByteVector contents = make_contents("noise", 2, std::size_t{1} << 20, 1);
  write_file(p / "a.b2nd", array_frame(contents, {1 << 17}, "<f8", 8));
  give(p / "a.b2nd", kStranger, 04640);
  TemporaryWatch watch(p);
  // Each round converts the file to another kind of frame. On a busy machine the watch may miss
  // some temporaries.
  for (int i = 0; i < 20 || (watch.seen() == 0 && i < 200); i++) {
    const auto result = shared.run_stranger(
        "p", i % 2 == 0 ? "truncate -s 1M a.npy; sync a.npy" : "cp a.npy b; sync b; cat b >a.npy");
    BOOST_TEST(result.ok(), result.description());
  }
  BOOST_TEST(shared.mount->unmount().ok());
  watch.end();
  BOOST_TEST(watch.seen() > 0);
  BOOST_TEST(watch.open_to_others() == 0);
}

/// Lists what a script has made in a directory, with modes, owners and access lists.
std::string listed(const fs_std::path& directory) {
  const auto result =
      run({"sh", "-c",
           "cd '" + directory.string() +
               "' && find . -printf '%p %m %U %G\\n' | sort; find . | sort | getfacl -n - | "
               "grep -v '^# owner\\|^# group' || true"});
  return result.out;
}

// Objects that are made, and errors, must be the same as without the mount.
BOOST_AUTO_TEST_CASE(kernel_decides_as_in_source, *precondition(needs_programs("setpriv setfacl")) *
                                                      precondition(needs_fuse_as_root) *
                                                      precondition(kNeedsAccessLists)) {
  const std::string prepare =
      "mkdir inherits shared theirs acl sticky && chown 70001:70010 inherits shared && "
      "chmod 2777 inherits && chmod 770 shared && chown 70001 theirs && chmod 700 theirs && "
      "chmod 777 acl && setfacl -d -m u:70001:rwx,g::r,o::- acl && chmod 1777 sticky && "
      "touch sticky/f theirs/f && chown 70001 sticky/f theirs/f";
  const std::string script =
      "umask 027; for d in inherits shared acl sticky theirs; do echo $d; "
      "touch $d/a && mkdir $d/b && ln -s x $d/c && mkfifo $d/e && ln $d/a $d/l; "
      "chmod 6775 $d/a; chgrp 70010 $d/a; chgrp 70001 $d/l; mv $d/a $d/m; "
      "touch -d 2001-01-01 $d/m; rm -f $d/f; mv $d/f $d/g; mkdir $d/h && rmdir $d/h; done 2>&1 | "
      "sed 's/:.*: /: /'; true";
  Shared shared(0, with_set_ids());
  const TempDir plain;
  give(plain.path(), 0, 0755);
  make_directory(plain / "p", kStranger, 0755);
  shared.mounted();
  std::string said[2], made[2];
  int which = 0;
  for (const fs_std::path& in : {plain / "p", shared.mounted() / "p"}) {
    const fs_std::path stored = which == 0 ? in : shared.source / "p";
    const auto prepared = run({"sh", "-c", "cd '" + stored.string() + "' && " + prepare});
    BOOST_REQUIRE_MESSAGE(prepared.ok(), prepared.description());
    const auto result = run({"setpriv", "--reuid=70002", "--regid=70002", "--groups=70010", "sh",
                             "-c", "cd '" + in.string() + "' && " + script});
    said[which] = result.out;
    made[which] = listed(in);
    which++;
  }
  BOOST_TEST(said[0] == said[1]);
  BOOST_TEST(made[0] == made[1]);
  BOOST_TEST(shared.mount->unmount().ok());
}

BOOST_TEST_DECORATOR(*precondition(needs_programs("setfacl")) * precondition(needs_mounter) *
                     precondition(kNeedsOwners))
BOOST_AUTO_TEST_CASE_TEMPLATE(access_lists_are_enforced_and_kept, By, Mounters) {
  Shared shared(By::user());
  const fs_std::path p = shared.source / "p";
  for (const char* name : {"closed.b2frame", "opened.b2frame"})
    make_file(p / name, flat_frame(std::string(100, 'x')), shared.victim(), 0644);
  const auto set = run({"sh", "-c",
                        "cd '" + (shared.mounted() / "p").string() +
                            "' && setfacl -m u:70002:--- closed && chmod 600 opened && "
                            "setfacl -m u:70002:rw opened"});
  BOOST_REQUIRE_MESSAGE(set.ok(), set.description());
  const auto result =
      shared.run_stranger("p",
                          "cat closed && echo read; cat opened >/dev/null && "
                          "printf y | dd of=opened conv=notrunc,fsync 2>/dev/null && "
                          "echo written");
  BOOST_TEST(result.out == "written\n");
  // A file that replaces the old one must keep its access list too.
  const auto other =
      shared.run_user(shared.victim(), "p", "setfattr -n user.blosc2.meta.m -v 1 opened");
  BOOST_TEST(other.ok(), other.description());
  BOOST_TEST(shared.mount->unmount().ok());
  const auto list = run({"getfacl", "-cn", (p / "opened.b2frame").string()});
  BOOST_TEST(list.out.find("user:70002:rw-") != std::string::npos, list.out);
}

// Quotas and reserved blocks must apply to the user for whom the daemon acts.
BOOST_AUTO_TEST_CASE(daemon_has_no_right_to_reserves, *precondition(needs_fuse_as_root)) {
  Shared shared;
  std::ifstream status("/proc/" + std::to_string(shared.mounted().pid()) + "/status");
  std::string line, effective;
  while (std::getline(status, line))
    if (line.starts_with("CapEff:")) effective = line.substr(7);
  constexpr std::uint64_t kResources = std::uint64_t{1} << 24;
  BOOST_REQUIRE(!effective.empty());
  BOOST_TEST((std::stoull(effective, nullptr, 16) & kResources) == 0u);
}

// The daemon cannot see the groups of a caller in another PID namespace. It must still serve
// requests that the kernel has allowed, and new objects must belong to the caller.
BOOST_AUTO_TEST_CASE(caller_that_cannot_be_seen_is_served,
                     *precondition(needs_programs("unshare setpriv")) *
                         precondition(needs_fuse_as_root) * precondition(kNeedsGroupsOfCallers) *
                         precondition(kNeedsOwners)) {
  const TempDir programs;
  const fs_std::path program = programs / "bloscfs";
  write_file(program, "#!/bin/sh\nexec unshare --pid --fork --kill-child '" + bloscfs_program() +
                          "' \"$@\"\n");
  fs_std::permissions(program, fs_std::perms(0755));
  MountSettings settings;
  settings.program = program;
  Shared shared(0, settings);
  const fs_std::path p = shared.source / "p";
  BOOST_REQUIRE(::chown(p.c_str(), kVictim, kShared) == 0);
  give(p, kVictim, 0770);
  BOOST_REQUIRE(::chown(p.c_str(), kVictim, kShared) == 0);
  const auto result =
      run({"setpriv", "--reuid=70002", "--regid=70002", "--groups=70010", "sh", "-c",
           "cd '" + (shared.mounted() / "p").string() +
               "' && mkdir d && echo t >f && mv f g && rmdir d"});
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(shared.mount->unmount().ok());
  BOOST_TEST(lstat_of(p / "g.b2frame").st_uid == kStranger);
}

// In such a mount the daemon could wait for itself, or for another daemon that hangs.
BOOST_TEST_DECORATOR(*precondition(needs_programs("mount umount")) * precondition(needs_mounter))
BOOST_AUTO_TEST_CASE_TEMPLATE(what_is_mounted_below_source_is_left_out, By, Mounters) {
  for (const bool crosses : {false, true}) BOOST_TEST_CONTEXT(crosses) {
      MountSettings settings;
      if (crosses) settings.options = {"cross_mounts"};
      Shared shared(By::user(), settings);
      const fs_std::path p = shared.source / "p";
      for (const char* name : {"before", "own", "other", "plain", "stopped"})
        fs_std::create_directory(p / name);
      write_file(p / "plain" / "f", "text");
      write_file(p / "before" / "covered", "text");
      const auto bind = [](const fs_std::path& what, const fs_std::path& where) {
        return run({"mount", "--bind", what.string(), where.string()}).ok();
      };
      const TempDir other;
      give(other.path(), 0, 0755);
      write_file(other / "f", "text");
      // As systemd does: otherwise the daemon would not see later mounts.
      const std::string source = shared.source.path();
      BOOST_REQUIRE(bind(source, source) && run({"mount", "--make-shared", source}).ok());
      BOOST_REQUIRE(bind(other.path(), p / "before"));
      // The daemon serves requests now, so it has its own mount namespace.
      BOOST_REQUIRE(run({"ls", shared.mounted().path()}).ok());
      BOOST_REQUIRE(bind(shared.mounted().path(), p / "own"));
      BOOST_REQUIRE(bind(other.path(), p / "other"));
      const Mount stopped(other.path());
      if (!crosses) {
        BOOST_REQUIRE(bind(stopped.path(), p / "stopped"));
        stopped.signal(SIGSTOP);
      }
      const auto result = run({"sh", "-c",
                               "cd '" + (shared.mounted() / "p").string() +
                                   "' && timeout 10 find . | sort; "
                                   "timeout 10 stat own/p; true"});
      BOOST_TEST(result.out == (crosses ? ".\n./before\n./before/f\n./other\n./other/f\n"
                                          "./plain\n./plain/f\n./stopped\n"
                                        : ".\n./plain\n./plain/f\n"));
      stopped.signal(SIGCONT);
      for (const char* name : {"before", "own", "other", "stopped"})
        run({"umount", "-l", (p / name).string()});
      BOOST_TEST(run({"umount", "-l", source}).ok());
      BOOST_TEST(shared.mount->unmount().ok());
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
