#include "fs/source/local/names/hidden_entries.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <unistd.h>

#include "frame/store/throw_errno.hpp"
#include "fs/source/local/files/on_behalf.hpp"
#include "fs/source/naming.hpp"

namespace bloscfs::fs {

HiddenEntries::HiddenEntries(const SourceDirectory& directory, NameServices& services, uid_t user)
    : directory_(directory), services_(services), user_(user) {
  if (services_.lock != nullptr && services_.lock->journal() != nullptr)
    makers_ = services_.lock->journal()->makers();
  makers_.push_back(frame::TemporaryMaker::self());
}

void HiddenEntries::add(const std::string& name, bool is_of_store) {
  if (is_lock_file(name)) journals_.push_back(name);
  if (is_leftover_name(name)) temporaries_.push_back(name);
  // What a store hides otherwise is somebody's.
  if (!is_of_store && !is_lock_file(name) && !is_leftover_name(name))
    frame::throw_errno(ENOTEMPTY, name);
  if (!is_of_store) return;
  directory_.check_removal(name);
  leftovers_.push_back({name, {}});
}

std::vector<std::shared_ptr<void>> HiddenEntries::remove() {
  // All is judged before anything goes: rmdir(2) that fails leaves the directory as it was.
  for (const std::string& name : journals_) lock_journal(name);
  for (const std::string& name : temporaries_) judge(name);
  // As the daemon: whoever may remove an empty directory need not be permitted to write in it.
  const OnBehalfOf nobody(nullptr);
  for (const Leftover& leftover : leftovers_)
    services_.removed_sframes.wait_until_removed(leftover.name);
  std::vector<std::shared_ptr<void>> leaving;
  for (const Leftover& leftover : leftovers_) {
    SourceDirectory root = services_.root.directory({});
    // A removed frame that is still read moves to SOURCE itself, with its readers, who have the
    // directory open.
    if (services_.removed_sframes.relocate(leftover.name, directory_, root)) continue;
    if (leftover.directory) {
      directory_.rename(leftover.name, root, leftover.name);
      leaving.push_back(
          services_.removed_sframes.add(std::move(root), leftover.name, *leftover.directory));
    } else {
      remove_leftover(directory_, leftover);
    }
  }
  for (LockFile& lock : locks_) lock.remove();
  return leaving;
}

/// Refuses to remove a directory that is a SOURCE itself: one that is mounted for writing, or has
/// contents that were never committed. Its lock is held until all is gone.
void HiddenEntries::lock_journal(const std::string& name) {
  const auto st = directory_.stat(name);
  if (!st) return;
  LockFile& lock = locks_.emplace_back(directory_, name);
  if (!lock.is_trusted()) {
    locks_.pop_back();
    if (S_ISREG(st->st_mode) && st->st_size > 0) frame::throw_errno(ENOTEMPTY, name);
    return judge(name);
  }
  if (!lock.try_take_present()) frame::throw_errno(EBUSY, name);
  const Journal journal(lock.descriptor());
  for (const KeptFile& kept : journal.kept())
    if (directory_.stat(kept.temporary)) frame::throw_errno(ENOTEMPTY, name);
  for (const auto& maker : journal.makers()) makers_.push_back(maker);
}

void HiddenEntries::judge(const std::string& name) {
  const auto st = directory_.stat(name);
  if (!st) return;
  auto leftover = made_by(makers_, directory_, name, *st);
  if (!leftover && !S_ISDIR(st->st_mode) && is_users(*st)) leftover = Leftover{name, {}};
  if (!leftover) frame::throw_errno(ENOTEMPTY, name);
  leftovers_.push_back(*std::move(leftover));
}

bool HiddenEntries::is_users(const struct stat& st) const {
  return user_ == 0 || st.st_uid == user_ || st.st_uid == ::geteuid();
}

}  // namespace bloscfs::fs
