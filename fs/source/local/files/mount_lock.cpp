#include "fs/source/local/files/mount_lock.hpp"

#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/store/ofd_lock.hpp"
#include "frame/store/open_regular.hpp"
#include "frame/store/refusal.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/local/files/mount_table.hpp"
#include "fs/source/local/files/mount_users.hpp"
#include "fs/source/naming.hpp"
#include "fs/support/log.hpp"

namespace bloscfs::fs {
namespace {

constexpr std::chrono::milliseconds kPoll{20};
/// How long to wait for the flock on SOURCE. The previous mount releases it a moment after the lock
/// file.
constexpr std::chrono::milliseconds kMoment{50};

bool try_flock(const frame::UniqueFd& file) {
  return file && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0;
}

SourceDirectory open_directory(int directory) {
  frame::UniqueFd fd(::openat(directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) frame::throw_errno("cannot be locked");
  return {std::move(fd), {}};
}

/// Calls `work`, which writes to the journal, and only logs its errors. A journal that cannot be
/// written must not prevent a mount: a user needs the mount to remove files from a full SOURCE.
template <typename Work>
void try_journaling(const Work& work) {
  try {
    work();
  } catch (const std::system_error& error) {
    log::warn(
        fmt::format("cannot write the list of temporary files: {}; after a crash, remove "
                    ".bloscfs-*.tmp in SOURCE by hand",
                    error.what()));
  }
}

bool has_exclusive_flock(const std::string& path) {
  const frame::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd && !frame::is_refusal(frame::errno_code(errno))) frame::throw_errno(path);
  return fd && ::flock(fd.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

bool is_held(const std::filesystem::path& lock_file, const std::string& source) {
  try {
    const auto file = frame::open_regular_at(AT_FDCWD, lock_file, O_RDONLY);
    return file && frame::is_ofd_locked(file.get(), frame::OfdLocked::source);
  } catch (const std::system_error& error) {
    // This process may not open the lock file, or the file's name is too long to exist. A mount
    // then holds the flock on SOURCE itself.
    if (!frame::is_refusal(error.code())) throw;
    return has_exclusive_flock(source);
  }
}

}  // namespace

std::optional<uid_t> user_of_lock_file(int directory, const std::optional<std::string>& single) {
  return LockFile(open_directory(directory), lock_file_name(single)).owner();
}

bool is_locked_by_other(const std::string& path) {
  // The lock file of a single frame is next to it, and that of a directory is inside it. A sparse
  // frame is a directory, so both are tried.
  const std::filesystem::path place(path);
  if (place.has_filename() &&
      is_held(place.parent_path() / lock_file_name(place.filename().string()), path))
    return true;
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode) &&
         is_held(place / lock_file_name(std::nullopt), path);
}

bool is_below_another_mount(const std::string& path, bool is_single) {
  std::filesystem::path above(path);
  if (is_single && is_locked_by_other(above)) return true;
  while (above.has_relative_path()) {
    above = above.parent_path();
    if (is_locked_by_other(above)) return true;
  }
  return false;
}

MountLock::MountLock(int directory, const std::optional<std::string>& single,
                     std::chrono::milliseconds timeout, const std::function<void()>& before_wait,
                     const frame::Clock& clock)
    : directory_(open_directory(directory)),
      entry_(single.value_or(".")),
      file_(directory_, lock_file_name(single)) {
  if (!wait_for(timeout, before_wait, clock)) throw SourceInUse(obstacle());
  if (!file_.descriptor()) return;
  report_displaced();
  begin_journal();
  const auto end = std::chrono::steady_clock::now() + kMoment;
  while (!take_source() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(kMoment / 10);
}

void MountLock::report_displaced() const {
  if (file_.displaced().empty()) return;
  std::string text =
      file_.other_user()
          ? fmt::format(
                "the lock file {} belongs to user {}, whose mount has ended without removing it",
                file_.name(), user_name(*file_.other_user()))
          : file_.name() + " is not a lock file of this user";
  text += fmt::format("; renamed it to {} while this mount runs", file_.displaced());
  if (file_.other_user()) text += "; after that, this user can run b2frame recover SOURCE";
  log::warn(text);
}

bool MountLock::wait_for(std::chrono::milliseconds timeout,
                         const std::function<void()>& before_wait, const frame::Clock& clock) {
  const auto end = clock.now() + timeout;
  Request request;
  for (bool was_stale = false;;) {
    const auto attempt = file_.try_take(Change(request));
    if (attempt == LockFile::Attempt::taken) return true;
    // No lock file can be made, for example because SOURCE is full. The flock on SOURCE itself
    // keeps other mounts out.
    if (attempt == LockFile::Attempt::impossible) {
      if (take_source()) return true;
      // Waiting does not help a process that may not open SOURCE.
      if (::faccessat(directory_.descriptor(), entry_.c_str(), R_OK, AT_EACCESS) != 0 &&
          frame::is_refusal(frame::errno_code(errno)))
        frame::throw_errno("cannot be locked");
    }
    // A mount that begins has made its lock file a moment before it locks it: so looks twice.
    const bool is_stale_now = is_stale();
    if (is_stale_now && was_stale) return false;
    was_stale = is_stale_now;
    if (clock.now() >= end) return false;
    if (!was_stale) before_wait();
    std::this_thread::sleep_for(kPoll);
  }
}

/// True if another user's lock file that this user cannot open is not locked.
bool MountLock::is_stale() const {
  if (!file_.other_user() || ::geteuid() == 0) return false;
  const auto found = directory_.stat(file_.name());
  return found && found->st_uid == *file_.other_user() && is_unlocked_here(*found);
}

/// Returns the bloscfs mount of SOURCE that this process sees. Compares inodes, because the
/// descriptor of SOURCE may have no path.
std::optional<MountEntry> MountLock::find_mount() const {
  const auto source = directory_.stat(entry_);
  for (MountEntry& entry : mount_table()) {
    struct stat st {};
    if (source && entry.type == kMountType && ::stat(entry.source.c_str(), &st) == 0 &&
        identity_of(st) == identity_of(*source))
      return std::move(entry);
  }
  return std::nullopt;
}

std::string MountLock::obstacle() const {
  if (is_stale())
    return fmt::format(
        "cannot be locked: the lock file {} belongs to user {}, whose mount has ended without "
        "removing it; run this, or b2frame recover, as that user",
        file_.name(), user_name(*file_.other_user()));
  const auto mount = find_mount();
  std::string text =
      mount ? fmt::format(
                  "is mounted for writing at {0}, or was before a remount; unmount that "
                  "first: bloscfs --unmount {0}",
                  mount->point)
            : "is mounted for writing by another bloscfs, or was before a remount; unmount that "
              "first (bloscfs --list shows it)";
  if (const auto user = file_.other_user())
    text += fmt::format("; the lock file {} belongs to user {}; ask that user to unmount",
                        file_.name(), user_name(*user));
  const auto found = mount ? std::nullopt : directory_.stat(file_.name());
  if (const auto holders = found ? lock_holders(*found) : std::vector<pid_t>(); !holders.empty())
    text += fmt::format(
        "; if --list does not show it, a daemon without a mount holds the lock: end it with kill "
        "-9 {}, which loses its uncommitted changes",
        fmt::join(holders, " or "));
  return text;
}

void MountLock::begin_journal() {
  journal_.emplace(file_.descriptor());
  try_journaling([this] { journal_->add(frame::TemporaryMaker::self()); });
}

void MountLock::make_durable() {
  if (!journal_) return;
  try_journaling([this] {
    journal_->sync();
    directory_.sync();
  });
}

MountLock::~MountLock() {
  if (!journal_) return;
  try {
    // If temporaries stay, the journal must still name this process: the next mount recognizes them
    // by that.
    if (!is_unfinished_) journal_->forget(frame::TemporaryMaker::self());
    // The lock file is removed while the flock on SOURCE is still held. So a process that waits for
    // the flock finds SOURCE as this mount leaves it.
    Request request;
    if (journal_->is_empty()) file_.remove(Change(request));
  } catch (const std::exception& error) {
    log::warn(
        fmt::format("cannot remove the lock file: {}; the next mount takes it over", error.what()));
  }
}

/// Returns false if another process holds the flock, or if SOURCE was replaced under its name.
bool MountLock::take_source() {
  frame::UniqueFd fd(::openat(directory_.descriptor(), entry_.c_str(),
                              O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  struct stat locked {};
  if (!try_flock(fd) || ::fstat(fd.get(), &locked) != 0) return false;
  // SOURCE may be replaced between open() and flock(): the lock must be on the object that has the
  // name.
  const auto now = directory_.stat(entry_);
  if (!now || now->st_dev != locked.st_dev || now->st_ino != locked.st_ino) return false;
  source_ = std::move(fd);
  return true;
}

void MountLock::follow(const frame::UniqueFd& file) {
  frame::UniqueFd copy(::fcntl(file.get(), F_DUPFD_CLOEXEC, 0));
  if (try_flock(copy)) source_ = std::move(copy);
}

}  // namespace bloscfs::fs
