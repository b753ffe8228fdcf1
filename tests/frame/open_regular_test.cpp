// The daemon looks at FIFOs and devices, but never opens them.

#include "frame/store/open_regular.hpp"

#include <cerrno>
#include <chrono>
#include <system_error>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frame/open/open.hpp"
#include "frame/store/peer_lock.hpp"
#include "tests/frame/scratch_directory.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/proc.hpp"

using namespace bloscfs::frame;
using namespace std::chrono_literals;
using bloscfs::frame::test::ScratchDirectory;
using bloscfs::test::comes_to_call;
using bloscfs::test::comes_true;

namespace {

/// A process that opens a FIFO for writing, and so waits until another process opens it for
/// reading.
class FifoWriter {
 public:
  explicit FifoWriter(const std::string& path) {
    BOOST_REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    process_ = ::fork();
    if (process_ == 0) {
      const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
      ::_exit(fd >= 0 ? 0 : 1);
    }
    BOOST_TEST(is_waiting());
  }
  FifoWriter(const FifoWriter&) = delete;
  FifoWriter& operator=(const FifoWriter&) = delete;
  ~FifoWriter() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  /// Returns true if the process still waits. It ends when its open(2) succeeds.
  bool is_waiting() const { return comes_to_call(process_, SYS_openat); }
  bool is_let_go() {
    if (!comes_true([&] { return ::waitpid(process_, nullptr, WNOHANG) != 0; })) return false;
    process_ = 0;
    return true;
  }

 private:
  pid_t process_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(open_regular)

BOOST_AUTO_TEST_CASE(opens_regular_files_alone) {
  const ScratchDirectory directory;
  directory.write("file", {1, 2, 3});
  BOOST_REQUIRE(::symlink("file", (directory / "link").c_str()) == 0);
  BOOST_CHECK(open_regular_at(AT_FDCWD, directory / "file", O_RDONLY));
  const UniqueFd writable = open_regular_at(AT_FDCWD, directory / "file", O_RDWR);
  BOOST_CHECK(::write(writable.get(), "x", 1) == 1);
  for (const char* name : {"link", "missing", "file/below", "."})
    BOOST_CHECK(!open_regular_at(AT_FDCWD, directory / name, O_RDONLY));
  BOOST_CHECK(!open_regular_at(AT_FDCWD, "/dev/null", O_RDONLY));
}

BOOST_AUTO_TEST_CASE(says_why_a_file_cannot_be_opened) {
  const std::string long_name(300, 'x');
  BOOST_CHECK_EXCEPTION(
      open_regular_at(AT_FDCWD, long_name, O_RDONLY), std::system_error,
      [](const std::system_error& error) { return error.code().value() == ENAMETOOLONG; });
}

BOOST_AUTO_TEST_CASE(lets_nobody_go_who_waits_at_a_fifo) {
  const ScratchDirectory directory;
  FifoWriter writer(directory / "fifo");
  BOOST_CHECK(!open_regular_at(AT_FDCWD, directory / "fifo", O_RDONLY));
  BOOST_CHECK(!open_path(directory / "fifo", {}));
  BOOST_CHECK(!PeerLock::open(AT_FDCWD, directory / "fifo"));
  BOOST_CHECK(writer.is_waiting());
  BOOST_CHECK(UniqueFd(::open((directory / "fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)));
  BOOST_CHECK(writer.is_let_go());
}

BOOST_AUTO_TEST_CASE(takes_no_fifo_for_a_file_of_a_sparse_frame) {
  const ScratchDirectory directory;
  FifoWriter index(directory / "chunks.b2frame");
  BOOST_CHECK(!open_path(directory.path(), {}));
  BOOST_CHECK(index.is_waiting());
}

BOOST_AUTO_TEST_SUITE_END()
