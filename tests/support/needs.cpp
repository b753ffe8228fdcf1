#include "tests/support/needs.hpp"

#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <pwd.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/fd.hpp"
#include "tests/support/manifest.hpp"
#include "tests/support/mount.hpp"
#include "tests/support/peer.hpp"
#include "tests/support/sanitizers.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

namespace {

/// Returns an empty text if mounting works. It mounts without bloscfs, since a broken daemon must
/// fail the tests, not skip them.
std::string why_root_cannot_mount(int device) {
  const TempDir point;
  const std::string options =
      "fd=" + std::to_string(device) + ",rootmode=40000,user_id=0,group_id=0";
  if (mount("none", point.path().c_str(), "fuse", MS_NODEV | MS_NOSUID, options.c_str()) != 0)
    return std::string("mounting is not permitted: ") + std::strerror(errno);
  umount2(point.path().c_str(), MNT_DETACH);
  return {};
}

std::string why_no_helper() {
  const auto found = run({"sh", "-c", "command -v fusermount3"});
  struct stat st {};
  const std::string path = found.out.substr(0, found.out.find('\n'));
  if (!found.ok() || stat(path.c_str(), &st) != 0) return "fusermount3 is not installed";
  if ((st.st_mode & S_ISUID) == 0 || st.st_uid != 0) return "fusermount3 is not setuid root";
  return {};
}

std::string why_no_fuse() {
  const Fd device(open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (!device) return std::string("/dev/fuse: ") + std::strerror(errno);
  return geteuid() == 0 ? why_root_cannot_mount(device.get()) : why_no_helper();
}

bool nobody_opens_fuse() {
  ProcessSettings settings;
  settings.uid = nobody();
  return run({"sh", "-c", "exec 3<>/dev/fuse"}, settings).ok();
}

/// Unmounts the copies of other tests' mounts. The new mount namespace holds copies of all mounts,
/// and they would keep the daemons of tests that run at the same time from ending.
void leave_mounts_of_others() {
  std::ifstream file("/proc/self/mountinfo");
  std::vector<std::string> points;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string id, parent, device, root, point;
    if (line.find(" - fuse.bloscfs ") != std::string::npos &&
        words >> id >> parent >> device >> root >> point)
      points.push_back(point);
  }
  for (const std::string& point : points) umount2(point.c_str(), MNT_DETACH);
}

/// Moves this process into a mount namespace of its own. False if the kernel does not permit that.
bool have_own_mounts() {
  static const bool has_own = [] {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      return false;
    leave_mounts_of_others();
    return true;
  }();
  return has_own;
}

/// Gives this process a /dev/fuse that all users may open. Many machines let only root open it.
void open_fuse_to_all() {
  struct stat st {};
  if (stat("/dev/fuse", &st) != 0 || !have_own_mounts()) return;
  const TempDir place;
  const std::string node = (place / "fuse").string();
  if (mknod(node.c_str(), S_IFCHR | 0666, st.st_rdev) == 0 && chmod(node.c_str(), 0666) == 0)
    mount(node.c_str(), "/dev/fuse", nullptr, MS_BIND, nullptr);
}

constexpr const char* kFuseSettings = "/etc/fuse.conf";
constexpr const char* kSharing = "user_allow_other";

bool users_may_share() {
  std::ifstream file(kFuseSettings);
  for (std::string line; std::getline(file, line);)
    if (line == kSharing) return true;
  return false;
}

/// Gives this process and its fusermount3 an /etc/fuse.conf that lets users share mounts.
void let_users_share() {
  if (!have_own_mounts()) return;
  const TempDir place;
  const std::string settings = (place / "fuse.conf").string();
  write_file(settings, kSharing + std::string("\n"));
  mount(settings.c_str(), kFuseSettings, nullptr, MS_BIND, nullptr);
}

std::string why_not_for_nobody() {
  if (geteuid() != 0) return "not running as root";
  const std::string helper = why_no_helper();
  if (!helper.empty()) return helper;
  if (!nobody_opens_fuse()) open_fuse_to_all();
  return nobody_opens_fuse() ? "" : "the user nobody may not open /dev/fuse";
}

std::string why_nobody_cannot_execute() {
  ProcessSettings settings;
  settings.uid = nobody();
  if (run({"test", "-x", bloscfs_program()}, settings).ok()) return {};
  return "the user nobody cannot execute " + bloscfs_program() +
         ": put the tree where all users may enter";
}

std::string why_not_for_others() {
  if (!users_may_share()) let_users_share();
  return users_may_share() ? "" : std::string(kFuseSettings) + " has no " + kSharing;
}

Precondition verdict(const std::string& reason) {
  return reason.empty() ? Precondition(true) : skip(reason);
}

}  // namespace

Precondition skip(const std::string& reason) {
  Precondition result(false);
  result.message() << reason;
  return result;
}

uid_t nobody() {
  const passwd* entry = getpwnam("nobody");
  return entry == nullptr ? 65534 : entry->pw_uid;
}

Precondition needs_fuse(boost::unit_test::test_unit_id) {
  static const std::string reason = why_no_fuse();
  return verdict(reason);
}

Precondition needs_root(boost::unit_test::test_unit_id) {
  return geteuid() == 0 ? Precondition(true) : skip("not running as root");
}

Precondition needs_fuse_as_root(boost::unit_test::test_unit_id id) {
  const Precondition is_root = needs_root(id);
  return is_root ? needs_fuse(id) : is_root;
}

Precondition needs_fuse_for_nobody(boost::unit_test::test_unit_id id) {
  static const std::string reason = why_not_for_nobody();
  return reason.empty() ? needs_fuse(id) : skip(reason);
}

Precondition needs_build_for_nobody(boost::unit_test::test_unit_id id) {
  const Precondition is_root = needs_root(id);
  if (!is_root) return is_root;
  static const std::string reason = why_nobody_cannot_execute();
  return verdict(reason);
}

Precondition needs_fuse_for_others(boost::unit_test::test_unit_id id) {
  for (const auto& needed : {needs_fuse_for_nobody(id), needs_build_for_nobody(id)})
    if (!needed) return needed;
  static const std::string reason = why_not_for_others();
  return verdict(reason);
}

Precondition needs_plain_build(boost::unit_test::test_unit_id) {
  return kSanitized ? skip("sanitizers change time and memory") : Precondition(true);
}

Precondition needs_fuse_unsanitized(boost::unit_test::test_unit_id id) {
  return kSanitized ? needs_plain_build(id) : needs_fuse(id);
}

Precondition has_programs::operator()(boost::unit_test::test_unit_id) const {
  std::istringstream words(names_);
  for (std::string name; words >> name;)
    if (!have_program(name)) return skip(name + " is not installed");
  return true;
}

Precondition needs_programs::operator()(boost::unit_test::test_unit_id id) const {
  const Precondition present = has_programs(names_)(id);
  return present ? needs_fuse(id) : present;
}

Precondition needs_numpy(boost::unit_test::test_unit_id id) {
  static const bool present = !numpy_python().empty();
  return present ? needs_fuse(id) : skip("no python3 with numpy");
}

Precondition needs_corpus(boost::unit_test::test_unit_id id) {
  if (corpus_root().empty())
    return skip("no reference corpus in BLOSCFS_CORPUS or beside the sources");
  return needs_fuse(id);
}

Precondition needs_peer(boost::unit_test::test_unit_id) { return verdict(peer().reason); }

Precondition needs_fuse_and_peer(boost::unit_test::test_unit_id id) {
  const auto fuse = needs_fuse(id);
  return fuse ? needs_peer(id) : fuse;
}

}  // namespace bloscfs::test
