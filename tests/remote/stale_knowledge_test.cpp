// Two hosts write to one object store. When one of them renames, changes or removes a file, it
// knows an older state of the file than the store has.

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <map>
#include <random>
#include <system_error>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/remote/mounted.hpp"
#include "tests/remote/object_mount.hpp"
#include "tests/remote/rgw.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/fd.hpp"

namespace {

using namespace bloscfs;
using namespace bloscfs::test;
namespace utf = boost::unit_test;

/// The largest size of a file in these tests, in bytes.
constexpr std::size_t kLargest = std::size_t{1} << 20;

/// Reads a file, appends `text` after the bytes that it has read, and calls fsync(). Returns the
/// errno, or 0.
int errno_of_appending(const fs_std::path& path, const std::string& text, int flags = O_CREAT) {
  const Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | flags, 0644));
  if (!fd) return errno;
  std::string there(kLargest, 0);
  const ssize_t size = ::pread(fd.get(), there.data(), there.size(), 0);
  if (size < 0) return errno;
  if (::pwrite(fd.get(), text.data(), text.size(), size) != std::ssize(text)) return errno;
  return ::fsync(fd.get()) == 0 ? 0 : errno;
}

/// An operation of a host that knows an older state of the file "one".
struct StaleOperation {
  std::string name;
  std::function<int(const std::string& path)> run;
  std::string result = "one";  ///< the name of the file after the operation
};

const std::vector<StaleOperation> kOperations{
    {"rename",
     [](const std::string& path) {
       return ::rename(path.c_str(), (path.substr(0, path.rfind('/')) + "/two").c_str());
     },
     "two"},
    {"chmod", [](const std::string& path) { return ::chmod(path.c_str(), 0600); }},
    {"utimens",
     [](const std::string& path) {
       const timespec times[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
       return ::utimensat(AT_FDCWD, path.c_str(), times, 0);
     }},
    {"truncate to the size that is known",
     [](const std::string& path) { return ::truncate(path.c_str(), 6); }},
    {"truncate to more", [](const std::string& path) { return ::truncate(path.c_str(), 60); }},
    {"setxattr",
     [](const std::string& path) {
       return ::setxattr(path.c_str(), "user.blosc2.json.note", "1", 1, 0);
     }},
};

}  // namespace

BOOST_AUTO_TEST_SUITE(stale_knowledge,
                      *utf::precondition(needs_ceph) * utf::precondition(needs_fuse))

BOOST_AUTO_TEST_CASE(overwrites_no_acknowledged_commit) {
  for (const StaleOperation& operation : kOperations) {
    BOOST_TEST_CONTEXT(operation.name) {
      const StorePlace place;
      // `knowing` trusts what it knows for longer than the test takes.
      ObjectMount other(place);
      BOOST_TEST(errno_of_appending(other / "one", "first\n") == 0);
      ObjectMount knowing(place, {"revalidate=600"});
      BOOST_TEST(file_text(knowing / "one") == "first\n");
      BOOST_TEST(errno_of_appending(other / "one", "acknowledged\n") == 0);
      // The mount may return ESTALE once. The kernel then repeats the lookup and the operation.
      BOOST_TEST(operation.run(knowing / "one") == 0, "errno " << errno);
      BOOST_TEST(errno_of_appending(knowing / operation.result, "last\n") == 0);
      const std::string all = file_text(ObjectMount(place) / operation.result);
      // A truncation may remove lines that the host did not know.
      if (!operation.name.starts_with("truncate to the"))
        BOOST_TEST(all.starts_with("first\nacknowledged\n"), all);
      BOOST_TEST(all.ends_with("last\n"), all);
      BOOST_TEST(file_text(knowing / operation.result) == all);
      BOOST_TEST(conflicts_in(ObjectMount(place).path()).empty());
      BOOST_TEST(knowing.complaints() == "");
    }
  }
}

BOOST_AUTO_TEST_CASE(removes_and_makes_again_what_it_finds) {
  const StorePlace place;
  ObjectMount other(place);
  BOOST_TEST(errno_of_appending(other / "one", "first\n") == 0);
  ObjectMount knowing(place, {"revalidate=600"});
  BOOST_TEST(file_text(knowing / "one") == "first\n");
  BOOST_TEST(errno_of_appending(other / "one", "acknowledged\n") == 0);
  BOOST_TEST(::unlink((knowing / "one").c_str()) == 0);
  BOOST_TEST(errno_of_appending(knowing / "one", "new\n") == 0);
  BOOST_TEST(file_text(ObjectMount(place) / "one") == "new\n");
}

namespace {

using SteadyTime = std::chrono::steady_clock::time_point;
SteadyTime steady_now() { return std::chrono::steady_clock::now(); }

constexpr std::size_t kShared = 6, kOwned = 2;
/// How long a request of a killed daemon may still be under way.
constexpr std::chrono::seconds kLongestWay{10};

/// A program's change of a file: it appends `line`, or unlinks the file if `line` is empty. `begin`
/// is a time before the file was opened.
struct Change {
  std::string file, line;
  SteadyTime begin, end;
  int error = 0;

  bool is_acknowledged() const { return !line.empty() && error == 0; }
  bool has_unlinked() const { return line.empty() && error == 0; }
  bool may_have_unlinked() const {
    return line.empty() && error != ENOENT && error != ESTALE && error != EBUSY;
  }
  /// Returns the time at which the store has done all requests of the change.
  SteadyTime is_over() const { return error == 0 ? end : end + kLongestWay; }
};

std::string description_of(const Change& change) {
  const auto seconds = [](SteadyTime time) {
    return std::chrono::duration<double>(time.time_since_epoch()).count();
  };
  return fmt::format("{:.3f} to {:.3f}: {}: {}\n", seconds(change.begin), seconds(change.end),
                     change.line.empty() ? "unlink" : change.line,
                     std::error_code(change.error, std::generic_category()).message());
}

/// Unmounts, and accepts that a file was not committed with EBUSY. A name is busy if a host died
/// while it removed the file; fsync() has already reported that.
void unmount_what_may_be_busy(Mount& mount) {
  const bool is_ok = mount.unmount().ok();
  const std::string log = mount.log();
  if (is_ok || log.find("not committed (Device or resource busy)") != std::string::npos) return;
  throw std::runtime_error("cannot be unmounted: " +
                           log.substr(log.size() - std::min<std::size_t>(log.size(), 2000)));
}

/// Names of files that only one host removes, and that both hosts make and append to. If a name
/// cannot be made again, go_on() gives it another number: a removal by a killed daemon may still be
/// under way.
class OwnedNames {
 public:
  std::string name(const std::string& owner, std::size_t which) {
    return fmt::format("of-{}-{}-{}", owner, which, numbers_.at(which).load());
  }
  void go_on(std::size_t which) { numbers_.at(which)++; }

 private:
  std::array<std::atomic<int>, kOwned> numbers_{};
};

/// A host: a daemon, which may be killed and mounted again, and a program that changes files.
class Writer {
 public:
  Writer(const StorePlace& place, std::string name, std::string revalidate, unsigned seed)
      : place_(place),
        name_(std::move(name)),
        options_{std::move(revalidate), "retry_time=20"},
        random_(seed) {}

  const std::string& name() const { return name_; }
  OwnedNames& owned() { return owned_; }
  const std::vector<Change>& changes() const { return changes_; }
  std::ptrdiff_t acknowledged() const {
    return std::count_if(changes_.begin(), changes_.end(),
                         [](const Change& each) { return each.is_acknowledged(); });
  }
  int kills() const { return kills_; }
  const std::string& log() const { return log_; }

  /// Changes files until `end`.
  void work(Writer& other, SteadyTime end) {
    Mounted mounted(*this);
    mounted.run([&] { return steady_now() >= end; }, other);
    unmount_what_may_be_busy(mounted.mount);
    log_ += mounted.mount.log();
  }

  /// Changes files until `end`. Kills the daemon at random moments, except at the end.
  void work_and_be_killed(Writer& other, SteadyTime end) {
    while (steady_now() < end) {
      Mounted mounted(*this);
      std::atomic<bool> is_over{false};
      std::thread program([&] { mounted.run([&] { return is_over.load(); }, other); });
      const int operations = operations_ + 5 + static_cast<int>(random_seed_() % 60);
      comes_true([&] { return operations_ >= operations || steady_now() >= end; });
      const bool is_killed = steady_now() < end;
      if (is_killed) {
        kills_++;
        mounted.mount.signal(SIGKILL);
        mounted.mount.wait(Seconds(10));
      }
      is_over = true;
      program.join();
      if (is_killed)
        force_unmount(mounted.mount.path());
      else
        unmount_what_may_be_busy(mounted.mount);
      log_ += mounted.mount.log() + (is_killed ? "killed\n" : "");
    }
  }

 private:
  struct Mounted {
    explicit Mounted(Writer& host) : writer(host), mount(host.place_, host.options_) {}

    template <typename Over>
    void run(const Over& is_over, Writer& other) {
      // Once the daemon is dead, the path of the mount would lead to the directory below it.
      const Fd root(::open(mount.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
      const std::string path = fmt::format("/proc/self/fd/{}", root.get());
      for (; !is_over(); writer.operations_++) writer.change(path, other);
    }

    Writer& writer;
    ObjectMount mount;
  };

  std::string shared_name() { return fmt::format("file-{}", random_() % kShared); }

  void change(const fs_std::path& mount, Writer& other) {
    const std::string path = mount / shared_name();
    struct stat st {};
    switch (random_() % 18) {
      case 0:
      case 1:
      case 2:
        rename_and_append(mount, shared_name(), shared_name());
        break;
      case 3:
        static_cast<void>(::chmod(path.c_str(), random_() % 2 == 0 ? 0600 : 0644));
        break;
      case 4: {
        const timespec times[2] = {{operations_, 0}, {operations_, 0}};
        static_cast<void>(::utimensat(AT_FDCWD, path.c_str(), times, 0));
        break;
      }
      case 5: {
        // Not truncate(), which could give another host's newer state the old length.
        const Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
        if (fd && ::fstat(fd.get(), &st) == 0 && ::ftruncate(fd.get(), st.st_size + 1) == 0)
          ::fsync(fd.get());
        break;
      }
      case 6:
        static_cast<void>(::setxattr(path.c_str(), "user.blosc2.json.note", "1", 1, 0));
        break;
      case 7:
      case 8:
        read(path);
        break;
      case 9:
        unlink_own(mount, random_() % kOwned);
        break;
      case 10:
      case 11:
        append_to_owned(mount, *this, random_() % kOwned);
        break;
      case 12:
        append_to_owned(mount, other, random_() % kOwned);
        break;
      default:
        append(mount, fs_std::path(path).filename(), 0);
    }
  }

  /// Reads a file, so that the kernel has pages of its present state.
  static void read(const std::string& path) {
    std::string text(kLargest, 0);
    const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (fd) static_cast<void>(!::pread(fd.get(), text.data(), text.size(), 0));
  }

  /// Renames a file to an unused name, and appends to it. Works on another file before the rename,
  /// which gives the other host time to append to the old name. A rename over another file would
  /// lose that file's lines.
  void rename_and_append(const fs_std::path& mount, const std::string& from,
                         const std::string& to) {
    read(mount / from);
    read(mount / shared_name());
    append(mount, shared_name(), 0);
    if (::renameat2(AT_FDCWD, (mount / from).c_str(), AT_FDCWD, (mount / to).c_str(),
                    RENAME_NOREPLACE) == 0)
      append(mount, to, 0);
  }

  int append(const fs_std::path& mount, const std::string& file, int flags) {
    const std::string line = fmt::format("<{} {}>\n", name_, lines_++);
    const SteadyTime begin = steady_now();
    const int error = errno_of_appending(mount / file, line, flags);
    note({file, line, begin, steady_now(), error});
    return error;
  }

  void append_to_owned(const fs_std::path& mount, Writer& owner, std::size_t which) {
    const std::string file = owner.owned().name(owner.name(), which);
    if (append(mount, file, O_CREAT) == EBUSY && &owner == this) owned_.go_on(which);
  }

  void unlink_own(const fs_std::path& mount, std::size_t which) {
    const std::string file = owned_.name(name_, which);
    const SteadyTime begin = steady_now();
    const int error = ::unlink((mount / file).c_str()) == 0 ? 0 : errno;
    note({file, {}, begin, steady_now(), error});
  }

  /// Records a change. Leaves out ENOTCONN, since a dead daemon has changed nothing.
  void note(Change change) {
    if (change.error != ENOTCONN) changes_.push_back(std::move(change));
  }

  const StorePlace& place_;
  const std::string name_;
  const std::vector<std::string> options_;
  std::minstd_rand random_, random_seed_{random_()};
  std::atomic<int> operations_{0};
  int lines_ = 0, kills_ = 0;
  std::string log_;
  OwnedNames owned_;
  std::vector<Change> changes_;
};

/// The files that two writers left, and the checks of their lines.
class Outcome {
 public:
  Outcome(const Mount& mount, const Writer& left, const Writer& right) : changes_(left.changes()) {
    changes_.insert(changes_.end(), right.changes().begin(), right.changes().end());
    std::sort(changes_.begin(), changes_.end(),
              [](const Change& a, const Change& b) { return a.begin < b.begin; });
    for (const std::string& name : names_in(mount.path())) {
      if (!fs_std::is_regular_file(mount / name)) continue;
      contents_[name] = file_text(mount / name);
      all_ += contents_[name];
    }
  }

  void check() const {
    for (const Change& change : changes_)
      if (change.is_acknowledged()) check(change);
  }
  std::ptrdiff_t unlinked() const {
    return std::count_if(changes_.begin(), changes_.end(),
                         [](const Change& each) { return each.has_unlinked(); });
  }

 private:
  /// Reports a line that is lost or back. It is lost if no file has it, and no removal of its file
  /// may have come later. It is back if its file has it, although a removal began after its
  /// acknowledgement.
  void check(const Change& line) const {
    bool may_be_removed = false, must_be_removed = false;
    for (const Change& each : changes_) {
      if (each.file != line.file) continue;
      may_be_removed |= each.may_have_unlinked() && each.is_over() >= line.begin;
      must_be_removed |= each.has_unlinked() && each.begin > line.end;
    }
    if (!may_be_removed && all_.find(line.line) == std::string::npos)
      BOOST_ERROR("acknowledged and lost: " + line.line + history_of(line.file));
    const auto found = contents_.find(line.file);
    if (must_be_removed && found != contents_.end() &&
        found->second.find(line.line) != std::string::npos)
      BOOST_ERROR("removed and back: " + line.line + history_of(line.file));
  }

  std::string history_of(const std::string& file) const {
    std::string text = "changes of " + file + ":\n";
    for (const Change& change : changes_)
      if (change.file == file) text += description_of(change);
    const auto found = contents_.find(file);
    return text + (found == contents_.end() ? "it is gone\n" : "it has:\n" + found->second);
  }

  std::vector<Change> changes_;
  std::map<std::string, std::string> contents_;
  std::string all_;
};

unsigned given_seed() {
  const char* const given = std::getenv("BLOSCFS_SEED");
  return given != nullptr ? static_cast<unsigned>(std::atoi(given)) + 1 : std::random_device{}();
}

std::chrono::seconds race_time() {
  const char* const wanted = std::getenv("BLOSCFS_TEST_RACE_SECONDS");
  return std::chrono::seconds(wanted != nullptr ? std::atoi(wanted) : 40);
}

}  // namespace

BOOST_AUTO_TEST_CASE(of_two_writers_loses_nothing_that_was_acknowledged) {
  const unsigned seed = given_seed();
  BOOST_TEST_MESSAGE("BLOSCFS_SEED=" << seed - 1);
  for (const char* revalidate : {"revalidate=1", "revalidate=0"}) {
    const StorePlace place;
    {
      const ObjectMount mount(place);
      for (const char* name : {"file-0", "file-1", "file-2"})
        BOOST_TEST(errno_of_appending(mount / name, "begin\n") == 0);
    }
    Writer left(place, "left", revalidate, seed), right(place, "right", revalidate, seed + 100);
    const SteadyTime end = steady_now() + race_time() / 2;
    auto other = std::async(std::launch::async, [&] { right.work_and_be_killed(left, end); });
    left.work(right, end);
    other.get();
    const Outcome outcome(ObjectMount(place), left, right);
    outcome.check();
    BOOST_TEST(left.acknowledged() > 10);
    BOOST_TEST(right.acknowledged() > 10);
    BOOST_TEST(right.kills() > 0);
    BOOST_TEST_MESSAGE(revalidate << ": " << left.acknowledged() << " and " << right.acknowledged()
                                  << " lines acknowledged, " << outcome.unlinked()
                                  << " files removed, " << right.kills() << " daemons killed\n"
                                  << left.log() << right.log());
  }
}

BOOST_AUTO_TEST_SUITE_END()
