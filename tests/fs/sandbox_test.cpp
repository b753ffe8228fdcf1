// What each layer of the sandbox takes from a process for good. Each case runs in its own process.
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fs/sandbox/capabilities.hpp"
#include "fs/sandbox/landlock.hpp"
#include "fs/sandbox/seccomp_filter.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

constexpr int kThrown = 255;

/// Runs `work` in a forked process. Returns its result (0 to 254), kThrown if it throws, or the
/// negative number of the signal that ended the process.
int outcome_in_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    try {
      ::_exit(work());
    } catch (...) {
      ::_exit(kThrown);
    }
  }
  int status = 0;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void give_up_new_privileges() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) throw std::runtime_error("privileges");
}

bool opens(const fs_std::path& path, int flags) {
  return static_cast<bool>(Fd(::open(path.c_str(), flags | O_CLOEXEC, 0600)));
}

bool forks() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  return child > 0;
}

bool executes() {
  char name[] = "true";
  char* arguments[] = {name, nullptr};
  ::execv("/nowhere/true", arguments);
  return errno != ENOSYS;
}

bool maps(int protection) {
  void* const memory = ::mmap(nullptr, 4096, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory != MAP_FAILED;
}

bool connects_to_the_network() {
  return static_cast<bool>(Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)));
}

bool makes_local_socket() {
  return static_cast<bool>(Fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)));
}

bool makes_device() {
  const std::string path =
      (fs_std::temp_directory_path() / "bloscfs-test.device").string() + std::to_string(::getpid());
  const bool can = ::mknod(path.c_str(), S_IFCHR | 0600, makedev(1, 3)) == 0;
  if (can) ::unlink(path.c_str());
  return can;
}

bool works_in_threads() {
  bool worked = false;
  std::thread([&] { worked = opens("/", O_RDONLY | O_DIRECTORY); }).join();
  return worked && maps(PROT_READ | PROT_WRITE);
}

/// Returns one of this process's capability sets, as in that line of /proc/self/status.
std::uint64_t capabilities(const std::string& set) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(set + ":")) return std::stoull(line.substr(set.size() + 1), nullptr, 16);
  return 0;
}

constexpr std::uint64_t bits(std::initializer_list<int> capabilities) {
  std::uint64_t all = 0;
  for (const int one : capabilities) all |= std::uint64_t{1} << one;
  return all;
}

Precondition needs_landlock(boost::unit_test::test_unit_id) {
  const long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, 1);
  return abi >= 2 ? Precondition(true) : skip("no Landlock of ABI 2");
}

BOOST_AUTO_TEST_SUITE(sandbox)

BOOST_AUTO_TEST_CASE(filter_leaves_what_serving_takes, *precondition(needs_plain_build)) {
  BOOST_TEST(outcome_in_child([] {
               give_up_new_privileges();
               fs::allow_needed_calls({});
               return works_in_threads() ? 0 : 1;
             }) == 0);
}

BOOST_AUTO_TEST_CASE(filter_takes_what_reaches_further, *precondition(needs_plain_build)) {
  struct Reach {
    const char* name;
    bool (*try_it)();
  };
  const Reach reaches[] = {{"processes", forks},
                           {"programs", executes},
                           {"code", [] { return maps(PROT_READ | PROT_EXEC); }},
                           {"the network", connects_to_the_network},
                           {"devices", makes_device},
                           {"local sockets", makes_local_socket},
                           {"signals to others", [] { return ::kill(::getppid(), 0) == 0; }}};
  for (const Reach& reach : reaches) {
    BOOST_TEST(outcome_in_child([&] { return reach.try_it() ? 1 : 0; }) == 1, reach.name);
    BOOST_TEST(outcome_in_child([&] {
                 give_up_new_privileges();
                 fs::allow_needed_calls({});
                 return reach.try_it() ? 1 : 0;
               }) == 0,
               reach.name);
  }
}

#ifdef __x86_64__
/// The filter must end the whole process. If it ended only the thread, the daemon would neither
/// serve requests nor end.
BOOST_AUTO_TEST_CASE(filter_ends_who_calls_by_another_architecture,
                     *precondition(needs_plain_build)) {
  BOOST_TEST(outcome_in_child([] {
               give_up_new_privileges();
               fs::allow_needed_calls({});
               std::thread([] { ::syscall(0x40000000 | SYS_getpid); }).join();
               return 0;
             }) == -SIGSYS);
}
#endif

BOOST_AUTO_TEST_CASE(landlock_leaves_the_source_alone, *precondition(needs_landlock)) {
  const TempDir source, outside;
  write_file(source / "a", "inside");
  write_file(outside / "a", "outside");
  for (const bool writes : {false, true}) {
    const auto closed_in = [&](const std::function<bool()>& reach) {
      return outcome_in_child([&] {
        give_up_new_privileges();
        const Fd directory(::open(source.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
        fs::restrict_to_source(directory.get(), writes, -1);
        return reach() ? 1 : 0;
      });
    };
    BOOST_TEST(closed_in([&] { return opens(source / "a", O_RDONLY); }) == 1);
    BOOST_TEST(closed_in([&] { return opens(source / "a", O_WRONLY); }) == (writes ? 1 : 0));
    BOOST_TEST(closed_in([&] { return opens(source / "b", O_WRONLY | O_CREAT); }) ==
               (writes ? 1 : 0));
    BOOST_TEST(closed_in([&] { return opens(outside / "a", O_RDONLY); }) == 0);
    BOOST_TEST(closed_in([&] { return opens(outside / "b", O_WRONLY | O_CREAT); }) == 0);
    BOOST_TEST(closed_in([] { return opens("/proc/self/status", O_RDONLY); }) == 1);
  }
}

BOOST_AUTO_TEST_CASE(capabilities_are_kept_that_serving_takes, *precondition(needs_root)) {
  struct Case {
    fs::NeededCapabilities needed;
    std::uint64_t kept;
  };
  constexpr std::uint64_t kReading = bits({CAP_DAC_READ_SEARCH, CAP_FOWNER});
  constexpr std::uint64_t kWriting =
      kReading | bits({CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FSETID, CAP_LEASE, CAP_SETGID, CAP_SETUID});
  const Case cases[] = {{{false, true, false}, kReading},
                        {{false, false, true}, kReading | bits({CAP_SYS_ADMIN})},
                        {{true, false, false}, kWriting},
                        {{true, true, false}, kWriting | bits({CAP_MKNOD})}};
  const std::uint64_t had = capabilities("CapEff");
  for (const Case& one : cases) {
    const std::uint64_t kept = had & one.kept;
    BOOST_TEST(outcome_in_child([&] {
                 fs::keep_needed_capabilities(one.needed);
                 const bool no_more = capabilities("CapEff") == kept &&
                                      capabilities("CapPrm") == kept &&
                                      (capabilities("CapBnd") & ~kept) == 0;
                 return no_more ? 0 : 1;
               }) == 0);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace bloscfs::test
