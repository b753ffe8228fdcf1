#include "tests/support/mount.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include <signal.h>
#include <sys/mount.h>
#include <unistd.h>

#include "tests/support/sanitizers.hpp"
#include "tests/support/xattr.hpp"

namespace bloscfs::test {

namespace {

constexpr auto kPoll = std::chrono::milliseconds(1);
/// What is not committed yet is committed first.
constexpr Seconds kEndLimit{kSanitized ? 60 : 20};
using Clock = std::chrono::steady_clock;

bool unmount_once(const fs_std::path& point) {
  if (geteuid() == 0) return umount2(point.c_str(), 0) == 0;
  return run({"fusermount3", "-u", point.string()}).ok();
}

Arguments daemon_command(const fs_std::path& source, const fs_std::path& point,
                         const MountSettings& settings) {
  Arguments command{settings.program.empty() ? bloscfs_program() : settings.program, "-f"};
  for (const auto& option : settings.options) {
    command.push_back("-o");
    command.push_back(option);
  }
  command.push_back(source.string());
  command.push_back(point.string());
  return command;
}

}  // namespace

std::string bloscfs_program() { return BLOSCFS_TEST_BUILD_ROOT "/tools/bloscfs"; }
std::string b2frame_program() {
  const char* const given = std::getenv("BLOSCFS_B2FRAME");
  return given != nullptr ? given : BLOSCFS_TEST_BUILD_ROOT "/tools/b2frame";
}

nlohmann::json counters_of_reading(const fs_std::path& source, const MountSettings& settings,
                                   std::size_t bytes,
                                   const std::function<void(const Mount&)>& read) {
  constexpr int kMounts = 10;
  for (int i = 1;; ++i) {
    const Mount mount(source, settings);
    read(mount);
    auto counters = mount.stats();
    if (i == kMounts || counters.at("contents_bytes_read").get<std::size_t>() == bytes)
      return counters;
  }
}

bool is_mounted(const fs_std::path& point) {
  std::ifstream file("/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string id, parent, device, root, where;
    if (words >> id >> parent >> device >> root >> where && where == point.string()) return true;
  }
  return false;
}

bool force_unmount(const fs_std::path& point) {
  for (int attempt = 0; attempt < 50 && is_mounted(point); ++attempt) {
    if (unmount_once(point)) continue;
    std::this_thread::sleep_for(10 * kPoll);
  }
  if (!is_mounted(point)) return true;
  if (geteuid() == 0)
    umount2(point.c_str(), MNT_DETACH);
  else
    run({"fusermount3", "-u", "-z", point.string()});
  return !is_mounted(point);
}

Mount::Mount(const fs_std::path& source, MountSettings settings) : point_(home_ / "mnt") {
  fs_std::create_directory(point_);
  if (settings.uid) {
    for (const auto& directory : {home_.path(), point_})
      if (chown(directory.c_str(), *settings.uid, static_cast<gid_t>(*settings.uid)) != 0)
        throw_errno("chown");
  }
  fs_std::permissions(home_.path(), fs_std::perms(0755));
  ProcessSettings process;
  process.uid = settings.uid;
  process.own_group = false;
  process.environment = settings.environment;
  daemon_ = Child(daemon_command(source, point_, settings), (home_ / "log").string(), process);
  wait_until_mounted(settings.limit);
}

void Mount::wait_until_mounted(Seconds limit) {
  const auto end = Clock::now() + limit;
  while (!is_mounted(point_)) {
    const bool ended = !daemon_.running();
    if (ended || Clock::now() > end) {
      ProcessResult result = daemon_.result();
      result.timed_out = !ended;
      result.err = log();
      throw MountRefused("no mount: " + result.description(), result);
    }
    std::this_thread::sleep_for(kPoll);
  }
}

Mount::~Mount() {
  force_unmount(point_);
  if (!daemon_.wait(kEndLimit)) daemon_.signal(SIGKILL);
}

std::string Mount::log() const {
  const auto bytes = read_file(home_ / "log");
  return {bytes.begin(), bytes.end()};
}

nlohmann::json Mount::stats() const {
  return nlohmann::json::parse(get_xattr(point_, "user.bloscfs.stats").value());
}

const ProcessResult& Mount::unmount() {
  if (!force_unmount(point_)) throw std::runtime_error("cannot unmount " + point_.string());
  if (!daemon_.wait(kEndLimit)) throw std::runtime_error("the daemon outlives its mount");
  return daemon_.result();
}

}  // namespace bloscfs::test
