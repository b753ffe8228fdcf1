// Random operations on names in a mount and in a plain directory must have the same results and
// leave the same trees.

#include <cerrno>
#include <map>
#include <random>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/fd.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/sanitizers.hpp"
#include "tests/support/source_lock.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

/// The longest time that the lock on names may be held, in microseconds.
constexpr std::uint64_t kLongestHold = 50'000;

/// Describes each object of a tree by type, mode, owner, links and contents. The keys are paths.
std::map<std::string, std::string> picture(const fs_std::path& root, bool with_links) {
  std::map<std::string, std::string> seen;
  for (const auto& entry : fs_std::recursive_directory_iterator(root)) {
    if (is_lock_file(entry.path())) continue;
    struct stat st {};
    if (lstat(entry.path().c_str(), &st) != 0) throw_errno(entry.path());
    std::string text = std::to_string(st.st_mode) + " " + std::to_string(st.st_uid) + ":" +
                       std::to_string(st.st_gid) + " " + std::to_string(st.st_mtime);
    if (with_links && !S_ISDIR(st.st_mode)) text += " links " + std::to_string(st.st_nlink);
    if (S_ISREG(st.st_mode)) {
      const auto bytes = read_file(entry.path());
      text += " " + std::string(bytes.begin(), bytes.end());
    }
    if (S_ISLNK(st.st_mode)) text += " -> " + fs_std::read_symlink(entry.path()).string();
    seen[entry.path().lexically_relative(root)] = text;
  }
  return seen;
}

/// An operation that can be done below any root.
struct Operation {
  unsigned kind;
  std::string first, second;
  unsigned number;
};

int outcome(int result) { return result == 0 ? 0 : errno; }

int write_text(const std::string& path, int flags, const std::string& text) {
  const Fd file(open(path.c_str(), flags | O_WRONLY | O_CLOEXEC, 0640));
  if (!file) return errno;
  return write(file.get(), text.data(), text.size()) < 0 ? errno : 0;
}

int apply(const fs_std::path& root, const Operation& what) {
  const std::string first = root / what.first;
  const std::string second = root / what.second;
  const auto flag = what.number % 3;  // none, RENAME_NOREPLACE, RENAME_EXCHANGE
  const timespec times[2] = {{static_cast<time_t>(what.number), 0},
                             {static_cast<time_t>(what.number) + 1, 0}};
  switch (what.kind) {
    case 0:
      return outcome(mkdir(first.c_str(), 0750));
    case 1:
      return outcome(rmdir(first.c_str()));
    case 2:
      return outcome(unlink(first.c_str()));
    case 3:
      return outcome(symlink(what.second.c_str(), first.c_str()));
    case 4:
      return outcome(mkfifo(first.c_str(), 0600));
    case 5:
      return outcome(linkat(AT_FDCWD, first.c_str(), AT_FDCWD, second.c_str(), 0));
    case 6:
      return outcome(rename(first.c_str(), second.c_str()));
    case 7:
      return outcome(renameat2(AT_FDCWD, first.c_str(), AT_FDCWD, second.c_str(), flag));
    case 8:
      return outcome(fchmodat(AT_FDCWD, first.c_str(), 0600 + what.number % 64, 0));
    case 9:
      return outcome(truncate(first.c_str(), what.number % 100));
    case 10:
      return write_text(first, O_NONBLOCK, "text " + std::to_string(what.number));
    case 11:
      return write_text(first, O_APPEND | O_NONBLOCK, "+" + std::to_string(what.number));
    case 12:
      return outcome(lchown(first.c_str(), what.number, what.number / 2));
    default:
      return outcome(utimensat(AT_FDCWD, first.c_str(), times, AT_SYMLINK_NOFOLLOW));
  }
}

class Chooser {
 public:
  explicit Chooser(unsigned seed) : random_(seed) {}
  Operation next() {
    const auto kind = random_() % 14;
    return {static_cast<unsigned>(kind), path(), path(), static_cast<unsigned>(random_() % 1000)};
  }

 private:
  std::string path() {
    static const std::vector<std::string> names = {"a", "b", "c", "a.b2", "b.b2frame"};
    std::string path = names[random_() % names.size()];
    if (random_() % 2 == 0) path = names[random_() % 2] + "/" + path;
    if (random_() % 8 == 0) path = names[random_() % 2] + "/" + path;
    return path;
  }
  std::mt19937 random_;
};

void fill(const fs_std::path& root) {
  for (const char* name : {"a", "b"}) fs_std::create_directory(root / name);
  for (const char* name : {"c", "a/c", "b/a", "a/b.b2frame", "b/a.b2", "b/b"})
    write_file(root / name, std::string("text of ") + name);
}

/// Gives all objects the same times. Otherwise times that no operation has set would differ.
void set_times(const fs_std::path& root) {
  const timespec times[2] = {{1, 0}, {1, 0}};
  for (const auto& entry : fs_std::recursive_directory_iterator(root))
    utimensat(AT_FDCWD, entry.path().c_str(), times, AT_SYMLINK_NOFOLLOW);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(namespace_model)

BOOST_AUTO_TEST_CASE(a_mount_of_plain_files_acts_as_a_directory,
                     *precondition(needs_fuse_as_root)) {
  int slow = 0;
  for (unsigned seed = 1; seed <= 4; seed++) {
    const TempDir source, model;
    fill(source.path());
    fill(model.path());
    Mount mount(source.path());
    Chooser chooser(seed);
    for (int step = 0; step < 1500; step++) {
      const Operation what = chooser.next();
      const int expected = apply(model.path(), what);
      const int got = apply(mount.path(), what);
      BOOST_REQUIRE_MESSAGE(got == expected, "seed " << seed << " step " << step << " operation "
                                                     << what.kind << " " << what.first << " "
                                                     << what.second << " number " << what.number
                                                     << ": " << got << " and not " << expected);
      if (step % 50 != 49) continue;
      set_times(model.path());
      set_times(mount.path());
      BOOST_REQUIRE(picture(mount.path(), true) == picture(model.path(), true));
      BOOST_REQUIRE(picture(source.path(), true) == picture(model.path(), true));
    }
    slow += mount.counter("names_held_us") > kLongestHold ? 1 : 0;
    BOOST_TEST(mount.unmount().ok(), mount.log());
  }
  // On a busy machine the scheduler may stop the thread that holds the lock, but not in every
  // round.
  BOOST_TEST((slow <= 1 || kSanitized));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
