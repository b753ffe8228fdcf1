#include "tests/support/mount.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <unistd.h>

#include "tests/support/comes_true.hpp"
#include "tests/support/fd.hpp"
#include "tests/support/sanitizers.hpp"
#include "tests/support/xattr.hpp"

namespace bloscfs::test {

namespace {

/// How long force_unmount() retries on a busy mount before it unmounts lazily.
constexpr std::chrono::milliseconds kBusy{500};
/// How long a daemon may take to end after its unmount. It commits dirty contents first, to a disk
/// that other programs may keep busy. The limit says nothing about speed; it finds daemons that
/// hang.
constexpr Seconds kEndLimit{120};

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

DaemonTime::DaemonTime() {
  fs_std::permissions(home_.path(), fs_std::perms(0755));
  write_file(home_ / "time", ByteVector(sizeof(std::atomic<std::int64_t>)));
  const Fd file(::open((home_ / "time").c_str(), O_RDWR | O_CLOEXEC));
  page_ = ::mmap(nullptr, sizeof(std::atomic<std::int64_t>), PROT_READ | PROT_WRITE, MAP_SHARED,
                 file.get(), 0);
  if (page_ == MAP_FAILED) throw_errno("mmap");
}

DaemonTime::~DaemonTime() { ::munmap(page_, sizeof(std::atomic<std::int64_t>)); }

MountSettings DaemonTime::of(MountSettings settings) const {
  settings.program = BLOSCFS_TEST_BUILD_ROOT "/tests/support/bloscfs_with_set_clock";
  settings.environment.push_back("BLOSCFS_TEST_TIME=" + (home_ / "time").string());
  return settings;
}

void DaemonTime::move(std::chrono::nanoseconds time) {
  *static_cast<std::atomic<std::int64_t>*>(page_) += time.count();
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
  const auto is_gone = [&] {
    return !is_mounted(point) || (unmount_once(point) && !is_mounted(point));
  };
  if (comes_true(is_gone, kBusy)) return true;
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
  bool has_ended = false;
  const auto is_known = [&] { return is_mounted(point_) || (has_ended = !daemon_.running()); };
  if (comes_true(is_known, limit) && !has_ended) return;
  ProcessResult result = daemon_.result();
  result.timed_out = !has_ended;
  result.err = log();
  throw MountRefused("no mount: " + result.description(), result);
}

Mount::~Mount() {
  force_unmount(point_);
  if (!daemon_.wait(kEndLimit)) daemon_.signal(SIGKILL);
}

std::string Mount::log() const {
  const auto bytes = read_file(home_ / "log");
  return {bytes.begin(), bytes.end()};
}

std::string Mount::complaints() const {
  std::string left;
  std::istringstream lines(log());
  for (std::string line; std::getline(lines, line);) {
    const bool is_usual = line.find("[info] ended ") != std::string::npos ||
                          line.find("[info] remounted ") != std::string::npos ||
                          (line.find("[info] bloscfs ") != std::string::npos &&
                           line.find(": mounted ") != std::string::npos);
    if (!is_usual) left += line + "\n";
  }
  return left;
}

nlohmann::json Mount::stats() const {
  return nlohmann::json::parse(get_xattr(point_, "user.bloscfs.stats").value());
}

nlohmann::json Mount::requests() const {
  return nlohmann::json::parse(get_xattr(point_, "user.bloscfs.requests").value()).at("requests");
}

std::size_t Mount::serves(const std::string& operation) const {
  const auto all = requests();
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](const auto& request) {
    return operation.empty() || request.at("operation") == operation;
  }));
}

std::size_t Mount::requests_waiting() const {
  const auto all = requests();
  return static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(), [](const auto& request) { return request.contains("waits_for"); }));
}

const ProcessResult& Mount::unmount() {
  if (!force_unmount(point_)) throw std::runtime_error("cannot unmount " + point_.string());
  if (!daemon_.wait(kEndLimit)) throw std::runtime_error("the daemon outlives its mount");
  return daemon_.result();
}

}  // namespace bloscfs::test
