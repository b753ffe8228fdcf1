// The daemon never judges a file that it is writing itself by the file's unfinished bytes in
// SOURCE.

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/mount/errno_of.hpp"
#include "tests/mount/foreign_changes.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/draw.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/npy.hpp"
#include "tests/support/sanitizers.hpp"
#include "tests/support/source_dir.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

/// Asks the daemon, not the kernel's attribute cache. Returns an errno or 0.
int look_at(const fs_std::path& path, struct statx& st) {
  return errno_of(statx(AT_FDCWD, path.c_str(), AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &st));
}

std::set<std::string> names_in(const fs_std::path& directory) {
  std::set<std::string> names;
  for (const auto& entry : fs_std::directory_iterator(directory))
    names.insert(entry.path().filename());
  return names;
}

ByteVector npy_of(std::uint64_t seed) {
  const auto items = static_cast<std::int64_t>(500 + seed % 30000);
  return patched(bytes_of(npy_header("<i4", {items})), npy_header("<i4", {items}).size(),
                 make_contents("ramp", seed, static_cast<std::size_t>(items) * 4, 4));
}

/// Writers, each with a file of its own, and readers that examine all files.
class Crowd {
 public:
  explicit Crowd(fs_std::path mount) : mount_(std::move(mount)) {}

  void work(int rounds) {
    std::vector<std::jthread> threads;
    const auto start = [&](auto&& body) {
      threads.emplace_back([this, body] {
        while (!stop_) body();
      });
    };
    start([this] { rewrite("x.npy", x_random_); });
    start([this] { rewrite("flat", flat_random_); });
    start([this] { change_parts("parts", parts_random_); });
    for (int i = 0; i < 2; ++i) start([this] { look(); });
    start([this] { link_and_list(); });
    for (int i = 0; i < 3; ++i) start([this] { burn(); });
    comes_true([&] { return (rounds_ >= rounds && links_ > 0) || has_fault(); });
    stop_ = true;
    for (auto& thread : threads) thread.join();
  }
  const std::set<std::string>& faults() const { return faults_; }
  bool has_fault() {
    const std::lock_guard guard(mutex_);
    return !faults_.empty();
  }
  int rounds() const { return rounds_; }
  int links() const { return links_; }

 private:
  static constexpr const char* kNames[] = {"x.npy", "flat", "parts"};
  static constexpr std::size_t kStep = 65536;

  /// Overwrites the file by an array or by other bytes, as numpy.save or cp does.
  void rewrite(const char* name, Random& random) {
    const ByteVector bytes = one_in(random, 2)
                                 ? npy_of(random() % 1000)
                                 : make_contents("noise", random(), 1 + random() % 300000, 1);
    const Fd file(open((mount_ / name).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!file) return fault(name, "open", errno);
    for (std::size_t at = 0; at < bytes.size(); at += kStep)
      check(name, "write",
            pwrite(file.get(), bytes.data() + at, std::min(kStep, bytes.size() - at),
                   static_cast<off_t>(at)));
    if (one_in(random, 2)) check(name, "fsync", fsync(file.get()));
    const ByteVector read = read_at(open_for_reading(name), 0, bytes.size() + 1);
    if (read != bytes) fault(name, "other contents", 0);
    rounds_++;
  }

  void change_parts(const char* name, Random& random) {
    const Fd file(open((mount_ / name).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (!file) return fault(name, "open", errno);
    for (int i = 0; i < 20 && !stop_; ++i) {
      const ByteVector bytes = make_contents("noise", random(), 1 + random() % 20000, 1);
      const auto at = static_cast<off_t>(random() % 400000);
      check(name, "write", pwrite(file.get(), bytes.data(), bytes.size(), at));
      check(name, "fsync", fsync(file.get()));
      if (one_in(random, 4))
        check(name, "truncate", ftruncate(file.get(), static_cast<off_t>(random() % 400000)));
      rounds_++;
    }
  }

  void look() {
    for (const char* name : kNames) {
      struct statx st {};
      const int error = look_at(mount_ / name, st);
      if (error != 0) fault(name, "statx", error);
      if (error == 0 && !S_ISREG(st.stx_mode)) fault(name, "mode", st.stx_mode);
      open_for_reading(name);
    }
  }

  Fd open_for_reading(const char* name) {
    Fd file(open((mount_ / name).c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) fault(name, "open for reading", errno);
    return file;
  }

  void link_and_list() {
    const fs_std::path other = mount_ / "other";
    std::set<std::string> expected = {"x.npy", "flat", "parts"};
    if (link((mount_ / "parts").c_str(), other.c_str()) == 0)
      expected.insert("other");
    else if (errno != ENOENT)  // the kernel may briefly count a link too few after an unlink
      fault("parts", "link", errno);
    auto names = names_in(mount_);
    std::erase_if(names, is_hidden_by_source);
    if (names != expected) fault("", "other names", static_cast<int>(names.size()));
    if (expected.count("other") != 0) check("other", "unlink", unlink(other.c_str()));
    links_ += expected.count("other") != 0;
  }

  /// Takes processor time from the daemon.
  void burn() const {
    volatile unsigned value = 0;
    for (int i = 0; i < 1000000; ++i) value = value + 1;
  }

  void check(const char* name, const char* what, ssize_t result) {
    if (result < 0) fault(name, what, errno);
  }
  void fault(const char* name, const char* what, int number) {
    const std::lock_guard guard(mutex_);
    faults_.insert(std::string(name) + ": " + what + " " + std::to_string(number));
  }

  const fs_std::path mount_;
  std::atomic<bool> stop_{false};
  std::atomic<int> rounds_{0}, links_{0};
  Random x_random_{1}, flat_random_{2}, parts_random_{3};
  std::mutex mutex_;
  std::set<std::string> faults_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(own_writes)

BOOST_AUTO_TEST_CASE(looks_at_a_file_that_is_being_written_read_nothing_of_it,
                     *precondition(needs_fuse)) {
  const ByteVector contents = make_contents("text", 1, 100000, 1);
  for (const char* name : {"new", "old", "sparse", "t.npy"}) BOOST_TEST_CONTEXT(name) {
      const SourceDir source;
      if (name == std::string("old")) write_file(source / "old.b2frame", flat_frame(contents));
      if (name == std::string("sparse")) write_sparse_frame(source / "sparse.b2frame", contents);
      const Mount mount(source.path());
      const Fd file = open_rw(mount / name, O_CREAT);
      for (off_t round = 0; round < 5; ++round) {
        write_at(file, round * 1000, make_contents("noise", 2, 3000, 1));
        BOOST_REQUIRE(fsync(file.get()) == 0);
        const auto before = mount.counter("source_reads");
        struct statx st {};
        BOOST_TEST(look_at(mount / name, st) == 0);
        BOOST_TEST(S_ISREG(st.stx_mode));
        // A lookup of a missing name makes the daemon ask what each file is that could be shown by
        // that name.
        BOOST_TEST(!fs_std::exists(mount / (std::string(name) + ".b2frame")));
        BOOST_TEST(names_in(mount.path()) == std::set<std::string>{name},
                   boost::test_tools::per_element());
        BOOST_TEST(mount.counter("source_reads") == before);
      }
    }
}

BOOST_AUTO_TEST_CASE(what_was_committed_is_known_when_the_kernel_has_forgotten_it,
                     *precondition(needs_fuse)) {
  const SourceDir source;
  const Mount mount(source.path());
  const ByteVector contents = make_contents("text", 1, 100000, 1);
  for (const std::string name : {"flat", "t.npy"}) BOOST_TEST_CONTEXT(name) {
      fs_std::create_directory(source / "d");
      struct statx written {
      }, seen{};
      {
        const Fd file = open_rw(mount / "d" / name, O_CREAT);
        write_at(file, 0, name == "flat" ? contents : npy_of(1));
        BOOST_REQUIRE(look_at(mount / "d" / name, written) == 0);
        await_file_time_step();  // a commit changes the ctime of the file in SOURCE
        BOOST_REQUIRE(fsync(file.get()) == 0);
      }
      // Once the directory's name is gone, the kernel forgets everything below it.
      fs_std::rename(source / "d", source / (name + "-moved"));
      BOOST_TEST(comes_true([&] { return !fs_std::exists(mount / "d"); }));
      const auto before = mount.counter("source_reads");
      BOOST_TEST(look_at(mount / (name + "-moved") / name, seen) == 0);
      BOOST_TEST(seen.stx_size == written.stx_size);
      BOOST_TEST(seen.stx_ctime.tv_sec == written.stx_ctime.tv_sec);
      BOOST_TEST(seen.stx_ctime.tv_nsec == written.stx_ctime.tv_nsec);
      BOOST_TEST(mount.counter("source_reads") == before);
    }
}

BOOST_AUTO_TEST_CASE(nothing_goes_wrong_under_load, *precondition(needs_fuse)) {
  const SourceDir source;
  MountSettings settings;
  settings.options = {"cache_size=8M", "dirty_limit=1M"};
  Mount mount(source.path(), settings);
  for (const char* name : {"x.npy", "flat", "parts"})
    write_file(mount / name, make_contents("text", 1, 100000, 1));
  Crowd crowd(mount.path());
  crowd.work(60);
  for (const auto& fault : crowd.faults()) BOOST_ERROR(fault);
  BOOST_TEST(crowd.rounds() > 0);
  BOOST_TEST(crowd.links() > 0);
  const auto result = mount.unmount();
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(mount.complaints() == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
