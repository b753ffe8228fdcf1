// A session with a SOURCE of files.

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "frame/store/throw_errno.hpp"
#include "fs/fuse/session.hpp"
#include "fs/fuse/session_source.hpp"
#include "fs/mount/ended_mounts.hpp"
#include "fs/mount/make_mount.hpp"
#include "fs/source/local/files/on_behalf.hpp"
#include "fs/source/local/space_watch.hpp"
#include "fs/support/file_error.hpp"
#include "fs/support/log.hpp"

namespace bloscfs::fs {
namespace {

/// Warns of other filesystems, because a part of SOURCE would otherwise be missing silently.
void warn_of_left_out_mounts(const std::filesystem::path& source) {
  for (const std::string& point : mount_points_below(source))
    log::warn((source / point).string() + ": another filesystem, left out without -o cross_mounts");
}

/// Returns the device number in the form of st_dev; 0 if it is unknown.
dev_t device_number(const MountEntry& mount) {
  unsigned major = 0, minor = 0;
  const bool is_number = std::sscanf(mount.device.c_str(), "%u:%u", &major, &minor) == 2;
  return is_number ? ::gnu_dev_makedev(major, minor) : 0;
}

/// `directory` and `path` are absolute and without symlinks.
bool is_inside(std::string directory, const std::string& path) {
  if (!directory.ends_with('/')) directory += '/';
  return (path + '/').starts_with(directory);
}

/// Throws if the mountpoint lies inside SOURCE: the daemon would wait for itself when it reads its
/// own mount.
void refuse_nested_mountpoint(const std::string& source, const std::string& mountpoint) {
  const std::string real = std::filesystem::canonical(source).string();
  if (mountpoint != real && is_inside(real, mountpoint))
    throw FileError(mountpoint, "lies inside " + source);
}

/// Throws if `folder`, the option rescue, lies inside SOURCE: it would be on the filesystem that
/// has no room, and users would see it.
void refuse_nested_rescue(const std::string& source, const std::string& folder) {
  const std::string real = std::filesystem::canonical(source).string();
  if (is_inside(real,
                std::filesystem::weakly_canonical(std::filesystem::absolute(folder)).string()))
    throw FileError(folder, "cannot be the rescue folder: lies inside " + real);
}

/// Makes the mount read-only if SOURCE cannot be written. Returns a notice for the user, or "" if
/// there is nothing to say. Throws if the user asked for a writable mount.
std::string follow_permission(const std::string& source, bool is_archive, MountOptions& options) {
  if (options.read_only) return {};
  if (is_archive) {
    options.read_only = true;
    const std::string reason = "a store in one file cannot be written";
    if (options.unwritable == Unwritable::refused)
      throw std::runtime_error(reason + "; unpack it with b2frame unpack, or mount it with ro");
    if (options.unwritable == Unwritable::shown) return {};
    return fmt::format("{}: {}; mounted read-only; give -o ro", source, reason);
  }
  if (::faccessat(AT_FDCWD, source.c_str(), W_OK, AT_EACCESS) == 0) return {};
  options.read_only = true;
  const std::string reason = "cannot be written: " + frame::errno_code(errno).message();
  if (options.unwritable == Unwritable::refused)
    throw std::runtime_error(reason + "; mount it with ro, or without rw");
  return fmt::format("{}: {}; mounted read-only; make it writable and mount again, or give -o ro",
                     source, reason);
}

class FileSource final : public SessionSource {
 public:
  void open(Sandbox& sandbox, SessionSettings& settings) override {
    // The daemon of an earlier mount may still store its last writes.
    if (settings.options.read_only) wait_for_ended_mounts(settings.source, *settings.clock);
    source_ = sandbox.open(settings.source, settings.options);
    if (!source_.single) refuse_nested_mountpoint(settings.source, settings.mountpoint);
    std::string notice = follow_permission(settings.source, source_.is_archive, settings.options);
    if (!notice.empty()) notices_.push_back(std::move(notice));
    if (settings.options.read_only) return open_rescue(settings);
    take_lock(settings);
    // The previous holder of the lock may have replaced the file.
    source_ = sandbox.open(settings.source, settings.options);
    source_.has_quotas = enforces_quotas(source_.root);
    open_rescue(settings);
    // The process needs no umask: each request applies the umask of its caller.
    ::umask(0);
    give_up_reserves();
  }

  std::vector<std::string> notices() const override { return notices_; }

  std::string name(const SessionSettings& settings) const override {
    return std::filesystem::absolute(settings.source);
  }

  void on_mounted(const std::optional<MountEntry>& mount,
                  const SessionSettings& settings) override {
    if (!source_.single && !settings.options.cross_mounts)
      warn_of_left_out_mounts(source_.directory);
    if (mount) source_.own_device = device_number(*mount);
  }

  void close(Sandbox& sandbox, const MountOptions& options) override {
    sandbox.close(source_, options);
  }

  std::unique_ptr<Mount> show(const MountOptions& options, const WorkerCounts& workers,
                              PagePool& pages, const frame::Clock& clock) override {
    return mount_files(std::move(source_), options, workers, lock_ ? &*lock_ : nullptr, pages,
                       clock);
  }

  void leave_unfinished() override {
    if (lock_) lock_->leave_unfinished();
  }

 private:
  void take_lock(const SessionSettings& settings) {
    WaitNotice notice(settings.source, *settings.clock);
    const auto before_wait = [&] { notice(); };
    try {
      lock_.emplace(source_.root.get(), source_.single, kMountLockTimeout, before_wait,
                    *settings.clock);
    } catch (const SourceInUse& error) {
      throw std::runtime_error(std::string(error.what()) + "; or mount with -o ro");
    }
    lock_->make_durable();
  }

  /// Opens the rescue folder. The default one need not exist. A read-only mount only reports what
  /// is in the folder, and does not make it.
  void open_rescue(const SessionSettings& settings) {
    const bool is_given = !settings.options.rescue.empty();
    const std::string folder = is_given ? settings.options.rescue : default_rescue_folder();
    if (folder.empty()) {
      source_.rescue_obstacle = "HOME is not set";
      return warn_of_no_rescue(settings, "set HOME");
    }
    if (settings.options.read_only && ::access(folder.c_str(), F_OK) != 0) return;
    const std::string path = std::filesystem::absolute(folder).lexically_normal().string();
    const std::string source = std::filesystem::canonical(settings.source).string();
    try {
      if (is_given) refuse_nested_rescue(source, folder);
      const IfMissing if_missing = settings.options.read_only ? IfMissing::fail
                                   : is_given                 ? IfMissing::make
                                                              : IfMissing::make_all;
      source_.rescue.emplace(open_rescue_folder(folder, if_missing), path, source);
      const std::size_t waiting = source_.rescue->rescued().size();
      if (waiting > 0)
        notices_.push_back(fmt::format(
            "an earlier mount could not commit {} file{}, now in {}; unmount, and run: {}", waiting,
            waiting == 1 ? "" : "s", source_.rescue->path(), source_.rescue->recover_command()));
    } catch (const RescueFolderUnsafe& unsafe) {
      lack_rescue(settings, folder, unsafe.what(), "run: " + unsafe.cure);
    } catch (const std::system_error& error) {
      lack_rescue(settings, folder, error.code().message(), "remove the cause");
    }
  }

  /// Throws if the user gave the folder. Otherwise warns, since the default folder need not exist.
  void lack_rescue(const SessionSettings& settings, const std::string& folder,
                   const std::string& reason, const std::string& cure) {
    if (settings.options.read_only) return;
    if (!settings.options.rescue.empty())
      throw FileError(folder, fmt::format("cannot be the rescue folder: {}; {}", reason, cure));
    source_.rescue_obstacle = folder + ": " + reason;
    warn_of_no_rescue(settings, cure);
  }

  void warn_of_no_rescue(const SessionSettings& settings, const std::string& cure) {
    if (settings.options.read_only) return;
    notices_.push_back(
        fmt::format("no rescue folder: {}; changes that do not fit in SOURCE when the mount ends "
                    "will be lost; {}, or mount with rescue=DIR",
                    source_.rescue_obstacle, cure));
  }

  MountSource source_;
  std::optional<MountLock> lock_;
  std::vector<std::string> notices_;
};

}  // namespace

void check_file_source(const SessionSettings& settings) {
  const MountOptions& options = settings.options;
  const MountSource source = open_source(settings.source, options.raw, options.stores);
  if (!source.single)
    refuse_nested_mountpoint(settings.source, require_mountpoint(settings.mountpoint));
  if (!options.rescue.empty()) refuse_nested_rescue(settings.source, options.rescue);
}

std::unique_ptr<SessionSource> make_file_source() { return std::make_unique<FileSource>(); }

}  // namespace bloscfs::fs
