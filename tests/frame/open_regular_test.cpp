// Fifos and devices are looked at but never opened.

#include "frame/store/open_regular.hpp"

#include <cerrno>
#include <chrono>
#include <system_error>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frame/open/open.hpp"
#include "frame/store/peer_lock.hpp"
#include "tests/frame/scratch_directory.hpp"

using namespace bloscfs::frame;
using namespace std::chrono_literals;
using bloscfs::frame::test::ScratchDirectory;

namespace {

/// A process that waits for somebody to open a fifo for reading.
class FifoWriter {
 public:
  explicit FifoWriter(const std::string& path) {
    BOOST_REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    process_ = ::fork();
    if (process_ == 0) {
      const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
      ::_exit(fd >= 0 ? 0 : 1);
    }
    ::usleep(30'000);  // it is waiting now
  }
  FifoWriter(const FifoWriter&) = delete;
  FifoWriter& operator=(const FifoWriter&) = delete;
  ~FifoWriter() {
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  /// Waits as long as that for it to happen.
  bool was_let_go(std::chrono::milliseconds patience) {
    const auto end = std::chrono::steady_clock::now() + patience;
    do {
      if (::waitpid(process_, nullptr, WNOHANG) != 0) {
        process_ = 0;
        return true;
      }
      ::usleep(1000);
    } while (std::chrono::steady_clock::now() < end);
    return false;
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
  BOOST_CHECK(!writer.was_let_go(30ms));
  BOOST_CHECK(UniqueFd(::open((directory / "fifo").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)));
  BOOST_CHECK(writer.was_let_go(20s));
}

BOOST_AUTO_TEST_CASE(takes_no_fifo_for_a_file_of_a_sparse_frame) {
  const ScratchDirectory directory;
  FifoWriter index(directory / "chunks.b2frame");
  BOOST_CHECK(!open_path(directory.path(), {}));
  BOOST_CHECK(!index.was_let_go(30ms));
}

BOOST_AUTO_TEST_SUITE_END()
