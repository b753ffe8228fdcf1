#include "fs/fuse/unmounting.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include <fmt/core.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "frame/store/throw_errno.hpp"
#include "fs/fuse/mount_answer.hpp"
#include "fs/fuse/mount_attributes.hpp"
#include "fs/fuse/remount.hpp"
#include "fs/mount/ended_mounts.hpp"
#include "fs/mount/mount_question.hpp"
#include "fs/sandbox/unmount.hpp"
#include "fs/view/attributes.hpp"

namespace bloscfs::fs {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// The interval between two calls of Progress.
constexpr milliseconds kRedraw{100};
/// A daemon usually ends within this time after its unmount. From then on, looks for others that
/// hold the mount.
constexpr milliseconds kUsualEnd{2000};
/// The limit for a daemon to end after its unmount; it stores the last writes first.
constexpr std::chrono::seconds kLongestEnd{30};

MountEntry require_own_mount(const std::string& mountpoint) {
  auto mount = mount_at(mountpoint);
  if (!mount || mount->type != kMountType)
    throw std::invalid_argument("no bloscfs is mounted there");
  if (::geteuid() != 0 && ::geteuid() != mount->user)
    throw std::runtime_error(fmt::format("is a mount of user {}: only they and root can unmount it",
                                         user_name(mount->user)));
  return *std::move(mount);
}

/// Returns "" on success, else the errno. A read-only mount fails with EROFS. So does one whose
/// SOURCE has become read-only: the list of uncommitted files tells them apart.
std::string request_commit() {
  return ::ioctl(open_root().get(), kCommitRequest) == 0 ? "" : std::to_string(errno);
}

frame::UniqueFd open_process(pid_t process) {
  return frame::UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
}

/// Ends each text with a NUL.
std::string text_of(const std::vector<KeptFile>& files) {
  std::string text;
  for (const KeptFile& file : files)
    text += file.temporary + '\0' + file.path + '\0' + std::string(word_of(file.loss)) + '\0';
  return text;
}

std::vector<KeptFile> files_of(const std::string& text) {
  std::vector<KeptFile> files;
  std::istringstream stream(text);
  std::string loss;
  for (KeptFile file; std::getline(stream, file.temporary, '\0') &&
                      std::getline(stream, file.path, '\0') && std::getline(stream, loss, '\0');) {
    file.loss = loss_of(loss);
    files.push_back(file);
  }
  return files;
}

}  // namespace

Unmounting::Unmounting(const std::string& mountpoint) : mount_(require_own_mount(mountpoint)) {
  // The current directory of this process may be in the mount, and would keep it busy.
  if (::chdir("/") != 0) frame::throw_errno("/");
}

bool Unmounting::has_daemon() {
  try {
    process_ = numbers().pid;
    daemon_ = open_process(process_);
    if (!may_serve(mount_, process_)) daemon_.reset();
  } catch (const std::system_error& error) {
    // The latter: the daemon died during the question.
    if (error.code() != std::errc::not_connected && error.code() != std::errc::connection_aborted)
      throw;
    if (!unmount_lazily(mount_.point)) throw;
    return false;
  }
  return true;
}

DaemonNumbers Unmounting::numbers() const {
  return parse_numbers(ask_attribute(mount_, kStatsAttribute));
}

std::vector<UncommittedFile> Unmounting::commit(const Progress& progress) {
  kept_before_ = kept_in_source([] {}, kLongestAnswer);
  MountQuestion question(mount_, request_commit);
  std::optional<std::string> error;
  std::uint64_t least_dirty = std::numeric_limits<std::uint64_t>::max();
  auto end = Clock::now() + kLongestAnswer;
  while (!(error = question.wait(kRedraw))) {
    const std::uint64_t dirty = numbers().dirty_bytes;
    // A bloscfs may take any time to commit one large file. A foreign filesystem must show
    // progress.
    if (daemon_ || dirty < least_dirty) end = Clock::now() + kLongestAnswer;
    least_dirty = std::min(least_dirty, dirty);
    if (Clock::now() > end)
      throw std::runtime_error(
          fmt::format("stays mounted: has committed nothing for {} s", kLongestAnswer.count()));
    progress(dirty);
  }
  conflicts_ = numbers().conflicts;
  if (error->empty()) return {};
  const std::string text = ask_attribute(mount_, kUncommittedAttribute);
  try {
    const auto answer = parse_answer(text);
    rescue_ = {answer.value("rescue", ""), answer.value("rescue_obstacle", ""),
               answer.value("rescue_free", std::uint64_t{0}),
               answer.value("rescue_needed", std::uint64_t{0})};
    return failed_files(text);
  } catch (const std::exception&) {
    throw std::runtime_error("stays mounted: could not commit everything");
  }
}

/// Runs in another process: SOURCE is a path that the mount names, and access to it may hang.
std::vector<KeptFile> Unmounting::kept_in_source(const std::function<void()>& wait,
                                                 milliseconds limit) const {
  MountQuestion question([&] {
    wait();
    return text_of(kept_files(mount_.source, mount_.user));
  });
  const auto answer = question.wait(limit);
  if (!answer) throw std::runtime_error(fmt::format("{} does not answer", mount_.source));
  return files_of(*answer);
}

/// Sends kUnmountBegins or kUnmountRefused. Ignores errors: a daemon of an earlier version knows
/// neither.
void Unmounting::tell_daemon(unsigned command) const {
  try {
    MountQuestion question(mount_, [command]() -> std::string {
      ::ioctl(open_root().get(), command);
      return "";
    });
    question.wait(kLongestAnswer);
  } catch (const std::system_error&) {
    return;
  }
}

void Unmounting::unmount() {
  tell_daemon(kUnmountBegins);
  try {
    unmount_unused(mount_.point);
  } catch (...) {
    tell_daemon(kUnmountRefused);
    throw;
  }
}

std::vector<KeptFile> Unmounting::wait_for_end(const Progress& progress) {
  pollfd end{daemon_.get(), POLLIN, 0};
  const auto begun = Clock::now();
  auto next_look = begun + kUsualEnd;
  while (daemon_ && ::poll(&end, 1, static_cast<int>(kRedraw.count())) == 0) {
    progress(0);
    if (Clock::now() < next_look) continue;
    if (auto holders = holders_of(mount_); !holders.empty())
      throw MountedElsewhere(std::move(holders));
    if (Clock::now() > begun + kLongestEnd)
      throw std::runtime_error(
          fmt::format("is unmounted, but its daemon (process {}) still runs after {} s, perhaps to "
                      "store the last writes: wait for its end",
                      process_, kLongestEnd.count()));
    next_look += kUsualEnd;
  }
  std::vector<KeptFile> kept = kept_in_source(
      [this] {
        // Without a pidfd, as for a daemon in another namespace, only the lock on SOURCE shows its
        // end.
        if (!daemon_) wait_for_ended_mounts(mount_.source);
      },
      kLongestEnd + kLongestAnswer);
  std::erase_if(kept, [&](const KeptFile& file) {
    return std::any_of(kept_before_.begin(), kept_before_.end(),
                       [&](const KeptFile& before) { return before.temporary == file.temporary; });
  });
  return kept;
}

}  // namespace bloscfs::fs
