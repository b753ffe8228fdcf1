#include "fs/source/local/files/lock_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "frame/store/ofd_lock.hpp"
#include "frame/store/open_regular.hpp"
#include "frame/store/temporary_name.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/local/files/directory_times.hpp"
#include "fs/source/local/files/source_path.hpp"

namespace bloscfs::fs {
namespace {

constexpr mode_t kMode = 0600;

enum class Found { nothing, own_file, file_of_another, no_lock_file };

Found judge(const std::optional<struct stat>& st) {
  if (!st) return Found::nothing;
  if (!S_ISREG(st->st_mode) || st->st_nlink != 1 || (st->st_mode & mode_t{07777}) != kMode)
    return Found::no_lock_file;
  return st->st_uid == ::geteuid() ? Found::own_file : Found::file_of_another;
}

/// True if the error means that SOURCE has no room for the file, or that the daemon may not create
/// it.
bool is_creation_refused(int error) {
  constexpr std::array<int, 6> kErrors = {EACCES, EPERM, EROFS, ENOSPC, EDQUOT, ENAMETOOLONG};
  return std::find(kErrors.begin(), kErrors.end(), error) != kErrors.end();
}

/// Makes an empty lock file. Returns an invalid descriptor, with errno set, if a file with that
/// name exists or may not be created.
frame::UniqueFd make_new(const SourceDirectory& directory, const std::string& name) {
  frame::UniqueFd file(::openat(directory.descriptor(), name.c_str(),
                                O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kMode));
  if (!file && errno != EEXIST && !is_creation_refused(errno)) frame::throw_errno(name);
  // A umask or a default access list may have removed permission bits.
  if (file) ::fchmod(file.get(), kMode);
  return file;
}

/// Opens the lock file that had the attributes `found`. Returns an invalid descriptor if the name
/// is gone, leads to another object by now, or may not be opened.
frame::UniqueFd open_again(const SourceDirectory& directory, const std::string& name,
                           const struct stat& found) {
  try {
    frame::UniqueFd file = frame::open_regular_at(directory.descriptor(), name, O_RDWR);
    if (file && identity_of(frame::status_of(file.get())) != identity_of(found)) file.reset();
    return file;
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::permission_denied) throw;
    return {};
  }
}

}  // namespace

bool LockFile::is_named(const frame::UniqueFd& file, const std::string& name) const {
  const auto st = directory_.stat(name);
  return st && identity_of(*st) == identity_of(frame::status_of(file.get()));
}

LockFile::Attempt LockFile::try_take(const Change& change) {
  const auto found = directory_.stat(name_);
  other_user_.reset();
  switch (judge(found)) {
    case Found::nothing:
      return make(change);
    case Found::own_file:
      return hold(open_again(directory_, name_, *found), false);
    case Found::file_of_another:
      other_user_ = found->st_uid;
      return take_over(change, *found);
    case Found::no_lock_file:
      break;
  }
  return replace(change, *found);
}

std::optional<uid_t> LockFile::owner() const {
  const auto found = directory_.stat(name_);
  const Found kind = judge(found);
  if (kind != Found::own_file && kind != Found::file_of_another) return std::nullopt;
  return found->st_uid;
}

bool LockFile::is_trusted() const { return judge(directory_.stat(name_)) == Found::own_file; }

bool LockFile::try_take_present() {
  const auto found = directory_.stat(name_);
  return judge(found) == Found::own_file &&
         hold(open_again(directory_, name_, *found), false) == Attempt::taken;
}

LockFile::Attempt LockFile::make(const Change& change) {
  const DirectoryTimes times(change, directory_.object("."));
  frame::UniqueFd file = make_new(directory_, name_);
  if (file) return hold(std::move(file), true);
  return errno == EEXIST ? Attempt::busy : Attempt::impossible;
}

/// Locks the file and checks it again. Its former owner may have removed it, or changed its mode or
/// links, after this process opened it. A lock on such a file would not keep other processes out.
LockFile::Attempt LockFile::hold(frame::UniqueFd file, bool was_made) {
  if (!file) return Attempt::busy;
  const auto lock = frame::try_ofd_lock(file.get(), frame::OfdLocked::source);
  if (lock == frame::OfdLock::impossible) return Attempt::impossible;
  if (lock != frame::OfdLock::taken || !is_named(file, name_)) return Attempt::busy;
  if (!was_made && judge(frame::status_of(file.get())) != Found::own_file) return Attempt::busy;
  locked_ = std::move(file);
  return Attempt::taken;
}

/// Replaces another user's lock file, but only if no process has locked it.
LockFile::Attempt LockFile::take_over(const Change& change, const struct stat& found) {
  const frame::UniqueFd file = open_again(directory_, name_, found);
  if (!file || frame::try_ofd_lock(file.get(), frame::OfdLocked::source) != frame::OfdLock::taken)
    return Attempt::busy;
  return replace(change, found);
}

/// Exchanges the entry under the lock file's name for a new file that is already locked. The name
/// exists at every moment: another process that replaces the entry, too, must never find it free.
LockFile::Attempt LockFile::replace(const Change& change, const struct stat& found) {
  const DirectoryTimes times(change, directory_.object("."));
  const std::string fresh = frame::temporary_name();
  frame::UniqueFd own = make_new(directory_, fresh);
  if (!own) return Attempt::impossible;
  const auto identity = frame::identity_at(own.get(), {});
  // The displaced name proves only that the new file is ours (frame/store/temporary_name.hpp).
  // After the exchange the previous entry has that name, and no sweep removes it.
  const std::string displaced = frame::displaced_name(identity.value());
  directory_.rename(change, fresh, directory_, displaced);
  try {
    if (frame::try_ofd_lock(own.get(), frame::OfdLocked::source) != frame::OfdLock::taken)
      frame::throw_errno(ENOLCK, name_);
    directory_.exchange(change, displaced, directory_, name_);
  } catch (const std::system_error& error) {
    directory_.remove_file(change, displaced);
    if (error.code() == std::errc::no_such_file_or_directory) return Attempt::busy;
    // EINVAL: the filesystem cannot exchange names.
    if (error.code() != std::errc::invalid_argument) throw;
    throw std::runtime_error("cannot lock: " + name_ +
                             " is not a lock file of this user; move it away and try again");
  }
  const auto moved = directory_.stat(displaced);
  // If the exchange has displaced another object than `found`, another process B has just put its
  // own lock file under the name. B may hold the lock on that file, so B keeps the name.
  if (!moved || identity_of(*moved) != identity_of(found)) {
    exchange_back(change, displaced, own);
    return Attempt::busy;
  }
  displaced_ = displaced;
  locked_ = std::move(own);
  return Attempt::taken;
}

/// Moves the displaced object back to the lock file's name, and removes our lock file, `own`.
void LockFile::exchange_back(const Change& change, const std::string& displaced,
                             const frame::UniqueFd& own) const {
  directory_.exchange(change, displaced, directory_, name_);
  if (is_named(own, displaced)) directory_.remove_file(change, displaced);
}

void LockFile::remove(const Change& change) {
  // Another program may have removed or replaced the lock file. Only our own file may be removed.
  if (!is_named(locked_, name_)) return;
  const DirectoryTimes times(change, directory_.object("."));
  if (!displaced_.empty() && directory_.stat(displaced_))
    return exchange_back(change, displaced_, locked_);
  directory_.remove_file(change, name_);
}

}  // namespace bloscfs::fs
