// How a mount ends, from the view of its daemon.

#include <cerrno>

#include <boost/test/unit_test.hpp>

#include "tests/support/contents.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/source_dir.hpp"

namespace bloscfs::test {

using boost::unit_test::precondition;

BOOST_AUTO_TEST_SUITE(session_end)

// If an unmount comes while a thread reads a request, the read fails with a different error.
BOOST_AUTO_TEST_CASE(commits_what_was_written_whenever_it_comes, *precondition(needs_fuse)) {
  const ByteVector contents = make_contents("text", 1, 300'000, 1);
  for (const int error : {ENODEV, ECONNABORTED}) {
    const SourceDir source;
    MountSettings settings;
    settings.environment = {"LD_PRELOAD=" BLOSCFS_CHANNEL_FAILER,
                            "BLOSCFS_LAST_READ_ERROR=" + std::to_string(error)};
    {
      Mount mount(source.path(), settings);
      write_file(mount / "a", contents);
      BOOST_TEST(mount.unmount().ok(), mount.log());
    }
    BOOST_TEST(fs_std::exists(source / "a.b2frame"), "after error " << error);
    const Mount mount(source.path());
    BOOST_CHECK(read_file(mount / "a") == contents);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
