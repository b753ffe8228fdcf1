// A request costs only the user who makes it, however much work a file causes.

#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "tests/mount/dear_array.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/proc.hpp"
#include "tests/support/source_dir.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;

}  // namespace

BOOST_AUTO_TEST_SUITE(budgets)

BOOST_AUTO_TEST_CASE(read_costs_two_seconds_of_the_processor_at_most,
                     *precondition(needs_fuse_unsanitized)) {
  const SourceDir source;
  write_file(source / "a.b2nd", dear_array());
  Mount mount(source.path());
  const Fd file(open((mount / "a.npy").c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC));
  ByteVector bytes(4096);
  const Seconds before = process_cpu(mount.pid());
  BOOST_TEST(pread(file.get(), bytes.data(), bytes.size(), 1 << 20) == -1);
  BOOST_TEST(errno == EFBIG);
  // The daemon checks the limit between steps, the slowest of which takes some tenths of a second.
  BOOST_TEST((process_cpu(mount.pid()) - before).count() < 4.0);
  // The fastest machines reach the other limit first.
  const std::string log = mount.log();
  BOOST_TEST((log.find("more than 2000 ms of processor time") != std::string::npos ||
              log.find("needs more than 536870912 bytes decoded") != std::string::npos),
             log);
}

BOOST_AUTO_TEST_CASE(reader_that_is_killed_is_gone, *precondition(needs_fuse_unsanitized)) {
  const SourceDir source;
  write_file(source / "a.b2nd", dear_array());
  Mount mount(source.path());
  const TempDir logs;
  Child reader({"dd", "if=" + (mount / "a.npy").string(), "of=/dev/null", "bs=4096", "skip=256",
                "count=1", "iflag=direct"},
               logs / "log");
  BOOST_TEST(comes_true([&] { return mount.serves("read") > 0; }));
  const Seconds before = process_cpu(mount.pid());
  reader.signal(SIGKILL);
  BOOST_TEST(reader.wait(Seconds(10)));
  BOOST_TEST((process_cpu(mount.pid()) - before).count() < 1.2);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
