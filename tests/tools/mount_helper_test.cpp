// bloscfs as mount(8) calls it, with the words that users of mount(8) type.

#include <fstream>

#include <boost/test/unit_test.hpp>

#include "tests/support/mount.hpp"
#include "tests/support/needs.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temp_dir.hpp"

namespace {

using namespace bloscfs::test;

/// A directory to mount, a mountpoint, and the helper. The destructor unmounts.
class Place {
 public:
  Place() {
    create_directory(source_);
    create_directory(point_);
    std::ofstream(source_ / "note") << "read me";
    create_symlink(bloscfs_program(), helper_);
  }
  ~Place() { force_unmount(point_); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  const fs_std::path& point() const { return point_; }
  std::string program_of_mount() const { return helper_; }
  ProcessResult helper(const Arguments& behind) const {
    Arguments arguments{helper_.string(), source_.string(), point_.string()};
    arguments.insert(arguments.end(), behind.begin(), behind.end());
    return run(arguments);
  }
  ProcessResult program(Arguments before) const {
    before.insert(before.begin(), bloscfs_program());
    before.insert(before.end(), {source_.string(), point_.string()});
    return run(before);
  }

 private:
  TempDir home_;
  fs_std::path source_ = home_ / "source", point_ = home_ / "mnt";
  fs_std::path helper_ = home_ / "mount.bloscfs";
};

bool can_write(const fs_std::path& directory) {
  return std::ofstream(directory / "new").put('x').flush().good();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(mount_helper)

BOOST_AUTO_TEST_CASE(mounts_with_the_words_of_mount, *boost::unit_test::precondition(needs_fuse)) {
  const Place place;
  const ProcessResult result = place.helper(
      {"-s", "-n", "-v", "-t", "bloscfs", "-o", "rw,noauto,_netdev,x-systemd.automount"});
  BOOST_TEST(result.ok(), result.description());
  BOOST_TEST(is_mounted(place.point()));
  BOOST_TEST(can_write(place.point()));
}

BOOST_AUTO_TEST_CASE(takes_ro_and_rw_with_a_dash, *boost::unit_test::precondition(needs_fuse)) {
  for (const bool is_writable : {false, true}) {
    const Place place;
    const ProcessResult result = place.program({is_writable ? "-rw" : "-ro"});
    BOOST_TEST(result.ok(), result.description());
    BOOST_TEST(is_mounted(place.point()));
    BOOST_TEST(can_write(place.point()) == is_writable);
  }
}

BOOST_AUTO_TEST_CASE(only_checks_when_told_to_fake) {
  const Place place;
  BOOST_TEST(place.helper({"-f", "-o", "rw,raw"}).ok());
  BOOST_TEST(place.helper({"-f", "-o", "xyzzy"}).status == 2);
  BOOST_TEST(place.helper({"-sf", "-o", "xyzzy"}).ok());
  BOOST_TEST(place.helper({"-sf", "-o", "cache_size=x"}).status == 2);
  BOOST_TEST(!is_mounted(place.point()));
}

BOOST_AUTO_TEST_CASE(a_fake_mount_fails_for_wrong_paths) {
  const Place place;
  const TempDir source;
  const std::string nowhere = place.point() / "nowhere";
  const std::string point = place.point();
  const ProcessResult no_source = run({place.program_of_mount(), nowhere, point, "-f"});
  BOOST_TEST(no_source.status == 1);
  BOOST_TEST(no_source.err ==
             "mount.bloscfs: " + point + ": " + nowhere + ": No such file or directory\n");
  const ProcessResult no_point = run({place.program_of_mount(), point, nowhere, "-f"});
  BOOST_TEST(no_point.status == 1);
  BOOST_TEST(no_point.err ==
             "mount.bloscfs: " + nowhere + ": no such directory; make it first, with mkdir\n");
  BOOST_TEST(place.helper({"-f", "-o", "cache_size=x"})
                 .err.starts_with("mount.bloscfs: " + point + ": option cache_size=x: "));
  BOOST_TEST(run({place.program_of_mount(), "http://127.0.0.1:1/x", point, "-f"}).ok());
  const ProcessResult nested = run({place.program_of_mount(), "/", point, "-f"});
  BOOST_TEST(nested.err == "mount.bloscfs: " + point + ": lies inside /\n");
  BOOST_TEST(nested.status == 1);
  const ProcessResult nested_rescue = run({place.program_of_mount(), source.path().string(), point,
                                           "-f", "-o", "rescue=" + source.path().string()});
  BOOST_TEST(nested_rescue.err.find("cannot be the rescue folder: lies inside " +
                                    source.path().string()) != std::string::npos,
             nested_rescue.err);
  BOOST_TEST(nested_rescue.status == 1);
  for (const char* const option : {"log", "rescue"}) {
    const ProcessResult result = place.helper({"-f", "-o", option + ("=" + nowhere + "/file")});
    BOOST_TEST(result.err.find("; make the directory " + nowhere + ", or correct " + option) !=
                   std::string::npos,
               result.err);
    BOOST_TEST(!result.ok());
  }
}

BOOST_AUTO_TEST_CASE(refuses_another_namespace) {
  const Place place;
  const ProcessResult result = place.helper({"-f", "-N", "/proc/1/ns/mnt"});
  BOOST_TEST(result.status == 2);
  BOOST_TEST(
      result.err.starts_with("mount.bloscfs: " + place.point().string() + ": -N is not supported"),
      result.err);
}

BOOST_AUTO_TEST_SUITE_END()
