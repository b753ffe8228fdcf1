#include "fs/fuse/unmounting.hpp"

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "frame/store/throw_errno.hpp"
#include "fs/fuse/mount_attributes.hpp"
#include "fs/fuse/mount_question.hpp"
#include "fs/fuse/remount.hpp"
#include "fs/mount/ended_mounts.hpp"
#include "fs/sandbox/unmount.hpp"
#include "fs/view/attributes.hpp"

namespace bloscfs::fs {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRedraw{100};
/// A daemon whose mount is gone ends sooner.
constexpr milliseconds kUsualEnd{2000};
/// For what needs no work of the daemon.
constexpr milliseconds kQuickAnswer{10'000};

MountEntry require_own_mount(const std::string& mountpoint) {
  auto mount = mount_at(mountpoint);
  if (!mount || mount->type != kMountType)
    throw std::invalid_argument("no bloscfs is mounted there");
  if (::geteuid() != 0 && ::geteuid() != mount->user)
    throw std::runtime_error(
        fmt::format("is a mount of user {}: only they and root can unmount it", mount->user));
  return *std::move(mount);
}

/// Empty where all went well. A read-only mount gives EROFS, and so does one whose SOURCE has
/// become read-only: what waits then tells them apart.
std::string commit_all() {
  return ::ioctl(open_root().get(), kCommitRequest) == 0 ? "" : std::to_string(errno);
}

frame::UniqueFd open_process(pid_t process) {
  return frame::UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
}

nlohmann::json parsed(const std::string& answer) {
  auto value = nlohmann::json::parse(answer, nullptr, false);
  if (!value.is_object()) throw std::runtime_error("does not answer as a bloscfs does");
  return value;
}

}  // namespace

Unmounting::Unmounting(const std::string& mountpoint) : mount_(require_own_mount(mountpoint)) {}

bool Unmounting::has_daemon() {
  try {
    const auto stats = parsed(ask_attribute(mount_, kStatsAttribute, kQuickAnswer));
    daemon_ = open_process(stats.value("pid", pid_t{0}));
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::not_connected) throw;
    if (!unmount_lazily(mount_.point)) throw;
    return false;
  }
  return true;
}

std::uint64_t Unmounting::dirty_bytes() const {
  const auto stats = parsed(ask_attribute(mount_, kStatsAttribute, kQuickAnswer));
  return stats.value("dirty_bytes", std::uint64_t{0});
}

std::vector<Unmounting::Uncommitted> Unmounting::commit(const Progress& progress) {
  kept_before_ = kept_files(mount_.source, mount_.user);
  MountQuestion question(mount_, commit_all);
  std::optional<std::string> error;
  while (!(error = question.wait(kRedraw))) progress(dirty_bytes());
  std::vector<Uncommitted> left;
  if (error->empty()) return left;
  const auto answer = parsed(ask_attribute(mount_, kUncommittedAttribute, kQuickAnswer));
  for (const auto& file : answer.value("files", nlohmann::json::array()))
    if (file.contains("error"))
      left.push_back(
          {file.value("name", ""), file.value("error", ""), file.value("bytes", std::int64_t{0})});
  return left;
}

void Unmounting::unmount() { unmount_unused(mount_.point); }

std::vector<KeptFile> Unmounting::wait_for_end(const Progress& progress) {
  pollfd end{daemon_.get(), POLLIN, 0};
  auto next_look = std::chrono::steady_clock::now() + kUsualEnd;
  while (daemon_ && ::poll(&end, 1, static_cast<int>(kRedraw.count())) == 0) {
    progress(0);
    if (std::chrono::steady_clock::now() < next_look) continue;
    if (auto holders = holders_of(mount_); !holders.empty())
      throw HeldElsewhere(std::move(holders));
    next_look += kUsualEnd;
  }
  // Where it runs in another namespace its lock tells.
  if (!daemon_) wait_for_ended_mounts(mount_.source);
  std::vector<KeptFile> kept = kept_files(mount_.source, mount_.user);
  std::erase_if(kept, [&](const KeptFile& file) {
    return std::any_of(kept_before_.begin(), kept_before_.end(),
                       [&](const KeptFile& before) { return before.temporary == file.temporary; });
  });
  return kept;
}

}  // namespace bloscfs::fs
