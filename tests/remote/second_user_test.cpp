// Other users work in a writable mount of an object store.

#include <cerrno>

#include <sys/stat.h>
#include <unistd.h>

#include "tests/remote/mounted.hpp"
#include "tests/remote/object_mount.hpp"
#include "tests/remote/rgw.hpp"

namespace {

using namespace bloscfs;
using namespace bloscfs::test;
namespace utf = boost::unit_test;

/// Runs a shell command as the user nobody. Returns its output, or the reason of its failure.
std::string as_other(const std::string& command) {
  ProcessSettings settings;
  settings.uid = nobody();
  const ProcessResult result =
      run({"sh", "-c", "umask 022; LC_ALL=C; export LC_ALL; " + command}, settings);
  if (result.ok()) return result.out;
  for (const char* reason : {"Permission denied", "Operation not permitted"})
    if (result.err.find(reason) != std::string::npos) return reason;
  return result.description();
}

std::string in(const Mount& mount, const char* name) {
  return " '" + (mount / name).string() + "'";
}

unsigned mode_of(const fs_std::path& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 ? st.st_mode & 07777U : 0;
}

const char* const kDenied = "Permission denied";
const char* const kNotPermitted = "Operation not permitted";

}  // namespace

BOOST_AUTO_TEST_SUITE(object_users,
                      *utf::precondition(needs_ceph) * utf::precondition(needs_fuse_for_others))

BOOST_AUTO_TEST_CASE(what_is_not_his_nobody_changes) {
  const StorePlace place;
  ObjectMount mount(place, {"allow_other"});
  BOOST_TEST(errno_of_writing(mount / "one", 0, "some text") == 0);
  BOOST_TEST(as_other("cat" + in(mount, "one")) == "some text");
  BOOST_TEST(as_other("echo more >>" + in(mount, "one")) == kDenied);
  BOOST_TEST(as_other("echo new >" + in(mount, "new")) == kDenied);
  BOOST_TEST(as_other("mkdir" + in(mount, "new")) == kDenied);
  BOOST_TEST(as_other("rm -f" + in(mount, "one")) == kDenied);
  BOOST_TEST(as_other("mv" + in(mount, "one") + in(mount, "two")) == kDenied);
  BOOST_TEST(as_other("chmod 666" + in(mount, "one")) == kNotPermitted);
  BOOST_TEST(as_other("chown nobody" + in(mount, "one")) == kNotPermitted);
  BOOST_TEST(::chmod((mount / "one").c_str(), 0600) == 0);
  BOOST_TEST(as_other("cat" + in(mount, "one")) == kDenied);
  BOOST_TEST((names_in(mount.path()) == std::vector<std::string>{"one"}));
  BOOST_TEST(file_text(mount / "one") == "some text");
  BOOST_TEST(mode_of(mount / "one") == 0600U);
}

BOOST_AUTO_TEST_CASE(who_owns_a_file_or_may_write_to_it_changes_it) {
  const StorePlace place;
  ObjectMount mount(place, {"allow_other"});
  for (const char* name : {"his", "open"})
    BOOST_TEST(errno_of_writing(mount / name, 0, "text") == 0);
  BOOST_TEST(::chown((mount / "his").c_str(), nobody(), static_cast<gid_t>(nobody())) == 0);
  BOOST_TEST(::chmod((mount / "open").c_str(), 0666) == 0);
  BOOST_TEST(as_other("printf ', more' >>" + in(mount, "his")) == "");
  BOOST_TEST(as_other("printf ', more' >>" + in(mount, "open")) == "");
  BOOST_TEST(as_other("chmod 640" + in(mount, "his")) == "");
  BOOST_TEST(as_other("chmod 640" + in(mount, "open")) == kNotPermitted);
  for (const char* name : {"his", "open"}) BOOST_TEST(errno_of_syncing(mount / name) == 0);
  const ObjectMount other(place);
  BOOST_TEST(file_text(other / "his") == "text, more");
  BOOST_TEST(file_text(other / "open") == "text, more");
  const auto metadata = place.state("his.b2frame/chunks.b2frame").metadata;
  BOOST_TEST(metadata.at("uid") == std::to_string(nobody()));
  BOOST_TEST(metadata.at("mode") == "0640");
}

BOOST_AUTO_TEST_CASE(in_a_mount_that_is_shown_as_his_he_makes_and_removes_files) {
  const StorePlace place;
  const std::string user = std::to_string(nobody());
  ObjectMount mount(place, {"allow_other", "uid=" + user, "gid=" + user});
  BOOST_TEST(as_other("printf text >" + in(mount, "one") + " && mkdir" + in(mount, "in")) == "");
  BOOST_TEST(as_other("mv" + in(mount, "one") + in(mount, "in/two")) == "");
  BOOST_TEST(as_other("cat" + in(mount, "in/two")) == "text");
  BOOST_TEST(place.state("in/two.b2frame/chunks.b2frame").metadata.at("uid") == user);
  BOOST_TEST(as_other("rm -r" + in(mount, "in")) == "");
  BOOST_TEST(names_in(mount.path()).empty());
}

BOOST_AUTO_TEST_SUITE_END()
