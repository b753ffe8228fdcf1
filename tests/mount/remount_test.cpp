// `bloscfs -o remount`: which options change while the mount goes on.

#include <boost/test/unit_test.hpp>

#include "tests/mount/asked_mounts.hpp"
#include "tests/mount/place.hpp"

namespace bloscfs::test {
namespace {

using boost::unit_test::precondition;
using nlohmann::json;

}  // namespace

BOOST_AUTO_TEST_SUITE(remounting)

BOOST_AUTO_TEST_CASE(what_can_change_is_changed_while_mounted, *precondition(needs_fuse)) {
  const TempDir source;
  Mount mount(source.path(), with_options({"cache_size=64M,clevel=3"}));
  const auto remount = [&](const std::string& options) {
    return bloscfs({"-o", "remount," + options, mount.path().string()});
  };
  const auto changed = remount("cache_size=128M,clevel=3,sync=strict");
  BOOST_TEST(changed.ok(), changed.description());
  BOOST_TEST(mount.counter("cache_size") == 128u << 20);
  BOOST_TEST(mount.counter("dirty_limit") == 32u << 20);
  write_file(mount / "a", "contents");
  BOOST_TEST(fs_std::exists(source / "a.b2frame"));
  BOOST_TEST(remount("dirty_limit=8M").ok());
  BOOST_TEST(mount.counter("dirty_limit") == 8u << 20);
  BOOST_TEST(mount.counter("cache_size") == 128u << 20);
  for (const char* option : {"raw", "clevel=4", "threads=3", "allow_other"}) {
    const auto refused = remount(option);
    BOOST_TEST(refused.status == 1, option);
    BOOST_TEST(contains(refused.err, "cannot be changed while it is mounted"), refused.err);
  }
  const auto smaller = remount("dirty_limit=1M,cache_size=8M");
  BOOST_TEST(smaller.status == 1);
  BOOST_TEST(contains(smaller.err, "can only grow"), smaller.err);
  BOOST_TEST(mount.counter("dirty_limit") == 8u << 20);
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

BOOST_AUTO_TEST_CASE(an_idle_timeout_can_be_set_later, *precondition(needs_fuse)) {
  const TempDir source;
  Mount mount(source.path());
  BOOST_TEST(bloscfs({"-o", "remount,idle_timeout=1", mount.path().string()}).ok());
  BOOST_TEST(mount.wait(Seconds(10)));
  BOOST_TEST(mount.result().status == 0, mount.log());
}

BOOST_AUTO_TEST_CASE(flags_are_roots_to_change, *precondition(needs_fuse_for_nobody)) {
  const ForOthers place;
  Mount mount(place.source(), place.of_nobody());
  const auto refused = place.as_nobody({"-o", "remount,ro,sync=strict", mount.path().string()});
  BOOST_TEST(refused.status == 1);
  BOOST_TEST(contains(refused.err, "only root can change flags"), refused.err);
  BOOST_TEST(place.as_nobody({"-o", "remount,sync=strict", mount.path().string()}).ok());
  const auto made_read_only = bloscfs({"-o", "remount,ro", mount.path().string()});
  BOOST_TEST(made_read_only.ok(), made_read_only.description());
  BOOST_TEST(listed(mount.path()).at("read_only") == true);
  // Flags that the remount does not mention stay.
  BOOST_TEST(run({"findmnt", "-no", "OPTIONS", mount.path().string()})
                 .out.starts_with("ro,nosuid,nodev,"));
  BOOST_TEST(mount.unmount().ok(), mount.log());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace bloscfs::test
