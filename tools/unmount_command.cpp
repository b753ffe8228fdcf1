// bloscfs --unmount: ends a mount after everything is committed.

#include <algorithm>
#include <cerrno>
#include <exception>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "frame/remote/open_remote.hpp"
#include "fs/fuse/unmounting.hpp"
#include "fs/source/local/files/mount_users.hpp"
#include "fs/support/printable.hpp"
#include "tools/mounts_commands.hpp"
#include "tools/progress.hpp"
#include "tools/size_text.hpp"

namespace bloscfs::tools {
namespace {

constexpr int kFailed = 1, kMountedElsewhere = 3;

void tell(const std::string& line) { fmt::print(stderr, "{}\n", fs::printable(line)); }

void complain(const std::string& mountpoint, const std::string& what) {
  tell("bloscfs: " + mountpoint + ": " + what);
}

/// The progress bar of the commits. Its total is the number of dirty bytes at the first update.
class CommitProgress {
 public:
  void update(std::uint64_t dirty_bytes) {
    const auto dirty = static_cast<std::int64_t>(dirty_bytes);
    if (!bar_) bar_.emplace("committing", most_ = std::max<std::int64_t>(dirty, 1));
    bar_->update(std::clamp<std::int64_t>(most_ - dirty, 0, most_));
  }
  void clear() { bar_.reset(); }

 private:
  std::int64_t most_ = 0;
  std::optional<Progress> bar_;
};

void report_uncommitted(const fs::Unmounting& unmounting,
                        const std::vector<fs::UncommittedFile>& left) {
  const fs::MountEntry& mount = unmounting.mount();
  complain(mount.point, fmt::format("stays mounted: {} could not be committed",
                                    left.size() == 1 ? "a file" : "files"));
  for (const auto& file : left)
    tell(fmt::format("  {}: {}; {} bytes wait in the mount", file.name, file.error, file.bytes));
  tell("Remove the cause, and unmount again. 'fusermount3 -u' ends the mount anyway,");
  if (frame::is_remote(mount.source)) {
    tell(
        "and keeps the changes as frames in the folder of disk_cache=, or loses them without one.");
    return;
  }
  const fs::Unmounting::Rescue& rescue = unmounting.rescue();
  if (rescue.folder.empty()) {
    tell(
        fmt::format("and keeps the changes that fit in SOURCE there, but loses the others, because "
                    "the mount has no rescue folder{}{};",
                    rescue.obstacle.empty() ? "" : ": ", rescue.obstacle));
    tell("copy the files from the mount first; to bring back the changes that SOURCE has, run:");
  } else if (rescue.free > rescue.needed) {
    tell(
        fmt::format("and keeps the changes that fit in SOURCE there, and the others in {}; to "
                    "bring them back, run:",
                    rescue.folder));
  } else {
    tell(
        fmt::format("and keeps the changes that fit in SOURCE there, and the others in {} as far "
                    "as they fit:",
                    rescue.folder));
    tell(
        fmt::format("it has {} free, and they need up to {}. Changes that do not fit are lost; to "
                    "bring back the others, run:",
                    size_with_unit(static_cast<double>(rescue.free)),
                    size_with_unit(static_cast<double>(rescue.needed))));
  }
  tell("  b2frame recover " + (rescue.folder.empty() ? "" : "--rescue " + rescue.folder + " ") +
       mount.source);
}

std::string name_of(uid_t user) {
  return user == ::geteuid() ? "" : fmt::format(", user {}", user);
}

void report_users(const fs::MountEntry& mount) {
  const auto users = fs::users_of(mount);
  const auto below = fs::mount_points_below(mount.point);
  complain(mount.point, "stays mounted: it is in use");
  for (const std::string& point : below)
    tell(fmt::format("  mounted on it: {}/{}", mount.point, point));
  for (const fs::MountUser& user : users)
    tell(fmt::format("  {} (process {}{}): {} {}", user.command, user.process, name_of(user.user),
                     user.use, user.path));
  if (users.empty() && below.empty())
    tell(::geteuid() == 0
             ? "  no process that is visible here uses it; bloscfs --stats names those that wait "
               "for it"
             : "  no process of yours uses it; run this as root to see those of other users");
}

int report_holders(const fs::MountEntry& mount, const std::vector<fs::MountUser>& holders) {
  complain(mount.point,
           "everything is committed, and it is unmounted here; other mount namespaces "
           "still have it:");
  for (const fs::MountUser& holder : holders)
    tell(fmt::format("  that of {} (process {}{})", holder.command, holder.process,
                     name_of(holder.user)));
  return kMountedElsewhere;
}

/// Reports files that could not be committed. Returns the exit status.
int report_kept(const fs::MountEntry& mount, const std::vector<fs::KeptFile>& kept) {
  for (const fs::KeptFile& file : kept)
    complain(mount.point,
             fmt::format("{0}: not committed, kept in {1} as {2}{3}; run: b2frame recover {1}",
                         file.path, mount.source, file.temporary, fs::text_of(file.loss)));
  return kept.empty() ? 0 : kFailed;
}

/// Reports what is in SOURCE, but not in the file that it was written to.
void report_conflicts(const fs::Unmounting& unmounting) {
  const std::uint64_t count = unmounting.conflicts();
  if (count == 0) return;
  const fs::MountEntry& mount = unmounting.mount();
  complain(mount.point,
           fmt::format("unmounted; another program changed {} that had been written here: what was "
                       "written is kept beside {}, in files NAME.conflict-TIME in {}",
                       count == 1 ? "a file" : fmt::format("{} files", count),
                       count == 1 ? "it" : "them", mount.source));
}

void report_earlier(const fs::MountEntry& mount, std::size_t earlier) {
  if (earlier > 0)
    complain(
        mount.point,
        fmt::format("unmounted; {0} file{1} that earlier mounts could not commit still wait{2} "
                    "in {3}; run: b2frame recover {3}",
                    earlier, earlier == 1 ? "" : "s", earlier == 1 ? "s" : "", mount.source));
}

/// Commits all changes, unmounts, and waits until the daemon has ended. Returns the exit status.
int run_steps(fs::Unmounting& unmounting, const std::string& mountpoint) {
  if (!unmounting.has_daemon()) {
    complain(mountpoint, "unmounted; its daemon had died, so uncommitted writes are lost");
    return 0;
  }
  CommitProgress progress;
  const auto update = [&](std::uint64_t dirty_bytes) { progress.update(dirty_bytes); };
  const auto left = unmounting.commit(update);
  progress.clear();
  if (!left.empty()) {
    report_uncommitted(unmounting, left);
    return kFailed;
  }
  try {
    unmounting.unmount();
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::device_or_resource_busy) throw;
    report_users(unmounting.mount());
    return kFailed;
  }
  try {
    const auto kept = unmounting.wait_for_end(update);
    progress.clear();
    report_conflicts(unmounting);
    report_earlier(unmounting.mount(), unmounting.kept_before().size());
    return report_kept(unmounting.mount(), kept);
  } catch (const fs::Unmounting::MountedElsewhere& held) {
    progress.clear();
    return report_holders(unmounting.mount(), held.holders);
  }
}

}  // namespace

int unmount(const std::string& mountpoint) {
  try {
    fs::Unmounting unmounting(mountpoint);
    return run_steps(unmounting, mountpoint);
  } catch (const std::exception& error) {
    complain(mountpoint, error.what());
    return kFailed;
  }
}

}  // namespace bloscfs::tools
