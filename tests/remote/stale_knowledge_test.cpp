// Two hosts that write to one object store, one of which knows an older state of a file than the
// store has when it renames, changes or removes the file.

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <random>
#include <set>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tests/remote/mounted.hpp"
#include "tests/remote/object_mount.hpp"
#include "tests/remote/rgw.hpp"
#include "tests/support/fd.hpp"

namespace {

using namespace bloscfs;
using namespace bloscfs::test;
namespace utf = boost::unit_test;

/// Appends behind what a program reads there. The errno of what fails.
int errno_of_appending(const fs_std::path& path, const std::string& text, int flags = O_CREAT) {
  const Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | flags, 0644));
  if (!fd) return errno;
  std::string there(1 << 16, 0);
  const ssize_t size = ::pread(fd.get(), there.data(), there.size(), 0);
  if (size < 0) return errno;
  if (::pwrite(fd.get(), text.data(), text.size(), size) != std::ssize(text)) return errno;
  return ::fsync(fd.get()) == 0 ? 0 : errno;
}

/// What one host does to a file that it knows an older state of.
struct StaleOperation {
  std::string name;
  std::function<int(const std::string& path)> run;
  std::string result = "one";  ///< what the file is called then
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
      // What one host knows stays known for as long as this takes.
      ObjectMount other(place);
      BOOST_TEST(errno_of_appending(other / "one", "first\n") == 0);
      ObjectMount knowing(place, {"revalidate=600"});
      BOOST_TEST(file_text(knowing / "one") == "first\n");
      BOOST_TEST(errno_of_appending(other / "one", "acknowledged\n") == 0);
      // The kernel looks again after ESTALE.
      BOOST_TEST(operation.run(knowing / "one") == 0, "errno " << errno);
      BOOST_TEST(errno_of_appending(knowing / operation.result, "last\n") == 0);
      const std::string all = file_text(ObjectMount(place) / operation.result);
      // Whoever truncates may well mean what was not known to be there.
      if (!operation.name.starts_with("truncate to the"))
        BOOST_TEST(all.starts_with("first\nacknowledged\n"), all);
      BOOST_TEST(all.ends_with("last\n"), all);
      BOOST_TEST(file_text(knowing / operation.result) == all);
      BOOST_TEST(conflicts_in(ObjectMount(place).path()).empty());
      BOOST_TEST(knowing.log() == "");
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

/// What a host wrote, by file and by what fsync said.
struct Written {
  std::vector<std::string> acknowledged;
};

/// Appends to files that both hosts rename, change and read, until the end.
Written change_at_random(const fs_std::path& mount, const std::string& who, unsigned seed,
                         std::chrono::steady_clock::time_point end) {
  std::minstd_rand random(seed);
  Written written;
  const auto name = [&] { return (mount / fmt::format("file-{}", random() % 6)).string(); };
  for (int number = 0; std::chrono::steady_clock::now() < end; number++) {
    const std::string path = name();
    struct stat st {};
    switch (random() % 12) {
      case 0:
        // Over no other file: what that had would go.
        static_cast<void>(::renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, name().c_str(), 1));
        break;
      case 1:
        static_cast<void>(::chmod(path.c_str(), random() % 2 == 0 ? 0600 : 0644));
        break;
      case 2: {
        const timespec times[2] = {{number, 0}, {number, 0}};
        static_cast<void>(::utimensat(AT_FDCWD, path.c_str(), times, 0));
        break;
      }
      case 3: {
        // By its name it would be another host's newer state that gets the old length.
        const Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
        if (fd && ::fstat(fd.get(), &st) == 0 && ::ftruncate(fd.get(), st.st_size + 1) == 0)
          ::fsync(fd.get());
        break;
      }
      case 4:
        static_cast<void>(::setxattr(path.c_str(), "user.blosc2.json.note", "1", 1, 0));
        break;
      case 5:
      case 6:
      case 7: {
        // So that the kernel has pages of what is there now.
        std::string text(1 << 16, 0);
        const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        if (fd) static_cast<void>(!::pread(fd.get(), text.data(), text.size(), 0));
        break;
      }
      default: {
        const std::string line = fmt::format("<{} {}>\n", who, number);
        if (errno_of_appending(path, line, 0) == 0) written.acknowledged.push_back(line);
      }
    }
  }
  return written;
}

}  // namespace

BOOST_AUTO_TEST_CASE(of_two_writers_loses_nothing_that_was_acknowledged) {
  const char* const wanted = std::getenv("BLOSCFS_TEST_RACE_SECONDS");
  const std::chrono::seconds duration(wanted != nullptr ? std::atoi(wanted) : 20);
  const char* const given = std::getenv("BLOSCFS_SEED");
  const unsigned seed = given != nullptr ? static_cast<unsigned>(std::atoi(given)) + 1 : 1;
  for (const char* revalidate : {"revalidate=1", "revalidate=0"}) {
    const StorePlace place;
    std::vector<Written> hosts;
    {
      ObjectMount left(place, {revalidate}), right(place, {revalidate});
      for (const char* name : {"file-0", "file-1", "file-2"})
        BOOST_TEST(errno_of_appending(left / name, "begin\n") == 0);
      const auto end = std::chrono::steady_clock::now() + duration / 2;
      auto other =
          std::async(std::launch::async, change_at_random, right.path(), "right", seed + 100, end);
      hosts.push_back(change_at_random(left.path(), "left", seed, end));
      hosts.push_back(other.get());
      BOOST_TEST(left.unmount().status == 0);
      BOOST_TEST(right.unmount().status == 0);
    }
    const ObjectMount reader(place);
    std::string all;
    for (const std::string& name : names_in(reader.path())) all += file_text(reader / name);
    std::size_t acknowledged = 0;
    for (const Written& host : hosts) {
      acknowledged += host.acknowledged.size();
      for (const std::string& line : host.acknowledged)
        BOOST_TEST(all.find(line) != std::string::npos,
                   revalidate << ": acknowledged and lost: " << line);
    }
    BOOST_TEST(acknowledged > 10U);
    BOOST_TEST_MESSAGE(revalidate << ": " << acknowledged << " acknowledged");
  }
}

BOOST_AUTO_TEST_SUITE_END()
