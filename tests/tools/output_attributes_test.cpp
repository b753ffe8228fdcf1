// Files that b2frame makes: their owner and mode, and who may read them. Another user who may write
// to the directory tries to interfere while they are made.

#include <atomic>
#include <functional>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/needs.hpp"
#include "tests/tools/program.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

constexpr uid_t kUser = 65534;

struct stat status_of(const fs_std::path& path) {
  struct stat st {};
  if (::lstat(path.c_str(), &st) != 0) throw_errno(path);
  return st;
}

mode_t mode_of(const fs_std::path& path) { return status_of(path).st_mode & mode_t{07777}; }

/// A directory with a file and a frame of its contents, which only their owner may read. commands()
/// make files from them.
struct Maker {
  Maker() {
    write_file(file, make_contents("text", 1, 100'000, 1));
    must({B2FRAME, "create", file, "-o", frame});
    for (const auto& path : {file, frame}) ::chmod(path.c_str(), 0600);
  }

  static void must(const Arguments& command) {
    const ProcessResult result = run(command);
    BOOST_TEST(result.ok(), result.description());
  }
  std::vector<Arguments> commands(const fs_std::path& out) const {
    return {{B2FRAME, "create", file, "-o", out},
            {B2FRAME, "create", "--sparse", file, "-o", out},
            {B2FRAME, "extract", frame, "-o", out},
            {B2FRAME, "convert", "--codec", "zstd", frame, "-o", out},
            {B2FRAME, "repair", "--force", frame, "-o", out}};
  }

  const TempDir home;
  const fs_std::path file = home / "file", frame = home / "frame.b2frame";
};

/// While it lives, calls `work` for every temporary in a directory, repeatedly.
class TemporaryWatch {
 public:
  TemporaryWatch(fs_std::path directory, std::function<void(const fs_std::path&)> work)
      : directory_(std::move(directory)), work_(std::move(work)), thread_([this] { look(); }) {}
  ~TemporaryWatch() {
    ended_ = true;
    thread_.join();
  }

 private:
  void look() {
    while (!ended_) {
      std::error_code ignored;
      for (const auto& entry : fs_std::directory_iterator(directory_, ignored))
        if (entry.path().filename().string().starts_with(".bloscfs-")) work_(entry.path());
    }
  }

  const fs_std::path directory_;
  const std::function<void(const fs_std::path&)> work_;
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(output_attributes)

BOOST_AUTO_TEST_CASE(are_the_owner_and_the_bits_of_what_is_replaced, *precondition(needs_root)) {
  const Maker maker;
  const fs_std::path out = maker.home / "out";
  for (const Arguments& command : maker.commands(out)) {
    fs_std::remove_all(out);
    write_file(out, flat_frame("old"));
    BOOST_TEST(::chown(out.c_str(), kUser, kUser) == 0);
    BOOST_TEST(::chmod(out.c_str(), 04755) == 0);
    Maker::must(command);
    const bool is_sparse = fs_std::is_directory(out);
    const struct stat st = status_of(is_sparse ? out / "chunks.b2frame" : out);
    BOOST_TEST(st.st_uid == kUser);
    BOOST_TEST(st.st_gid == kUser);
    BOOST_TEST((st.st_mode & 07777) == (is_sparse ? 0755u : 04755u));
  }
}

/// A user can make such a link to a program of root's, if the kernel permits it.
BOOST_AUTO_TEST_CASE(have_no_privileges_of_a_file_with_other_names, *precondition(needs_root)) {
  const Maker maker;
  const fs_std::path program = maker.home / "program", out = maker.home / "out";
  write_file(program, std::string_view("old"));
  BOOST_TEST(::chmod(program.c_str(), 04755) == 0);
  fs_std::create_hard_link(program, out);
  Maker::must({B2FRAME, "extract", maker.frame, "-o", out});
  BOOST_TEST(mode_of(out) == 0755u);
  BOOST_TEST(mode_of(program) == 04755u);
}

BOOST_AUTO_TEST_CASE(have_no_privileges_of_another_owner, *precondition(needs_build_for_nobody)) {
  const Maker maker;
  ::chmod(maker.home.path().c_str(), 0777);
  ::chmod(maker.file.c_str(), 0644);
  const fs_std::path out = maker.home / "out";
  write_file(out, flat_frame("old"));
  BOOST_TEST(::chmod(out.c_str(), 06755) == 0);
  ProcessSettings as_user;
  as_user.uid = kUser;
  const ProcessResult result = run({B2FRAME, "create", maker.file, "-o", out}, as_user);
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(status_of(out).st_uid == kUser);
  BOOST_TEST((mode_of(out) & 06000) == 0u);
}

BOOST_AUTO_TEST_CASE(let_nobody_read_what_only_the_owner_of_the_input_may) {
  const Maker maker;
  const fs_std::path out = maker.home / "out";
  for (const Arguments& command : maker.commands(out)) {
    fs_std::remove_all(out);
    mode_t seen = 0;
    {
      const TemporaryWatch watch(maker.home.path(), [&](const fs_std::path& temporary) {
        struct stat st {};
        if (::lstat(temporary.c_str(), &st) == 0) seen |= st.st_mode & 0777;
      });
      Maker::must(command);
    }
    BOOST_TEST((seen & 077) == 0u);
    BOOST_TEST((mode_of(out) & 077) == 0u);
    if (!fs_std::is_directory(out)) continue;
    for (const auto& entry : fs_std::directory_iterator(out))
      BOOST_TEST(mode_of(entry.path()) == 0600u);
  }
}

/// A user who may write to the directory replaces root's temporary by a symlink.
BOOST_AUTO_TEST_CASE(are_never_set_by_a_name, *precondition(needs_root)) {
  const Maker maker;
  const fs_std::path place = maker.home / "place", out = place / "out";
  const fs_std::path victim = maker.home / "victim";
  write_file(victim, std::string_view("secret"));
  ::chmod(victim.c_str(), 0600);
  for (const Arguments& command : maker.commands(out)) {
    fs_std::remove_all(place);
    fs_std::create_directory(place);
    write_file(out, flat_frame("old"));
    BOOST_TEST(::chown(out.c_str(), kUser, kUser) == 0);
    BOOST_TEST(::chmod(out.c_str(), 0777) == 0);
    {
      const TemporaryWatch watch(place, [&](const fs_std::path& temporary) {
        const fs_std::path aside = place / "aside";
        if (fs_std::exists(fs_std::symlink_status(aside))) return;
        ::rename(temporary.c_str(), aside.c_str());
        ::symlink(victim.c_str(), temporary.c_str());
      });
      run(command);
    }
    BOOST_TEST(mode_of(victim) == 0600u);
    BOOST_TEST(status_of(victim).st_uid == 0u);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
