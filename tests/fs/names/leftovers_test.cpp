// Leftovers of a mount that ended suddenly, and how the next mount removes them.

#include <cstdlib>

#include <boost/test/unit_test.hpp>
#include <unistd.h>

#include "tests/fs/mount/in_process.hpp"
#include "tests/support/comes_true.hpp"
#include "tests/support/contents.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/subprocess.hpp"

namespace bloscfs::test {
namespace {

constexpr const char* kLeaveIn = "BLOSCFS_TEST_LEAVE_IN";

Precondition is_told_where(boost::unit_test::test_unit_id) {
  return std::getenv(kLeaveIn) == nullptr ? skip("another case runs it") : Precondition(true);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(leftovers_in_process)

BOOST_AUTO_TEST_CASE(only_what_is_known_to_be_left_is_removed) {
  const TempDir source;
  fs_std::create_directory(source / "d");
  const std::string strangers = ".bloscfs-0123456789abcdef.tmp";
  write_file(source / "d" / strangers, bytes_of("x"));
  write_file(source / "d/a.b2frame", flat_frame("one"));
  {
    InProcess mount(source.path());
    mount.write("d/new", make_contents("noise", 1, 100000, 1));
    mount.write("d/a", bytes_of("two"));
  }
  InProcess mount(source.path());
  BOOST_CHECK(mount.read("d/a") == bytes_of("one"));
  BOOST_TEST(!mount.has("d/new"));
  BOOST_TEST(fs_std::exists(source / "d" / strangers));
  mount.end();
  BOOST_TEST(fs_std::exists(source / "d" / strangers));
}

// Runs in another process, started by the case below, since each process makes temporaries of its
// own.
BOOST_AUTO_TEST_CASE(leave_some, *boost::unit_test::precondition(is_told_where)) {
  InProcess mount(std::getenv(kLeaveIn));
  mount.write("d/new", make_contents("noise", 1, 100000, 1));
  const InProcess::File file = mount.open("d/s", O_RDONLY);
  mount.remove("d/s");
  ::_exit(0);
}

BOOST_AUTO_TEST_CASE(temporaries_of_an_earlier_process_go) {
  const TempDir source, temporaries;
  fs_std::create_directory(source / "d");
  write_sparse_frame(source / "d/s.b2frame", make_contents("noise", 1, 100000, 1));
  ProcessSettings settings;
  // The process ends without destructors, so this case removes its temporary directory.
  settings.environment = {kLeaveIn + ("=" + source.path().string()),
                          "TMPDIR=" + temporaries.path().string()};
  const auto left = run({fs_std::read_symlink("/proc/self/exe").string(),
                         "--run_test=leftovers_in_process/leave_some"},
                        settings);
  BOOST_TEST(left.ok(), left.description());
  BOOST_TEST(stored_names(source / "d") == (Names{".tmp", ".tmp"}),
             boost::test_tools::per_element());
  InProcess mount(source.path());
  BOOST_CHECK(comes_true([&] { return stored_names(source / "d").empty(); }));
  BOOST_TEST(mount.names("d").empty());
  mount.end();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
