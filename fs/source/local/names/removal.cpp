#include "fs/source/local/names/removal.hpp"

#include <cerrno>
#include <list>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "frame/store/sframe_names.hpp"
#include "frame/store/temporary_name.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/local/files/lock_file.hpp"
#include "fs/source/local/names/leftovers.hpp"
#include "fs/source/local/names/lock_sidecar.hpp"
#include "fs/source/naming.hpp"
#include "fs/support/caller.hpp"

namespace bloscfs::fs {
namespace {

/// The hidden entries of a directory that is to be removed. The comment of Removal::clear() says
/// which of them may be removed. All entries are judged before any is removed, so that a failing
/// rmdir(2) leaves the directory as it was.
class HiddenEntries {
 public:
  HiddenEntries(const Change& change, const SourceDirectory& directory, NameServices& services)
      : change_(change), directory_(directory), services_(services) {
    if (const Journal* const journal = services.journal()) makers_ = journal->makers();
    makers_.push_back(frame::TemporaryMaker::self());
  }

  /// Adds a lock file. To be called before the other functions: its journal names the makers of
  /// temporaries.
  void add_journal(const std::string& name);
  void add_temporary(const std::string& name);
  /// Adds a file of the store that the directory is part of. Throws EACCES or EPERM unless the
  /// caller may remove that file.
  void add_of_store(const std::string& name) {
    directory_.check_removal(change_, name);
    leftovers_.push_back({name, nullptr});
  }
  /// Removes the entries. Moves those that take long to remove out of the directory. They are
  /// removed when the result is destroyed.
  std::vector<std::shared_ptr<void>> remove();

 private:
  const Change change_;
  const SourceDirectory& directory_;
  NameServices& services_;
  TemporaryMakers makers_;
  std::list<LockFile> locks_;
  std::vector<Leftover> leftovers_;
};

/// Throws if the directory is a SOURCE that is mounted for writing, or has contents that were never
/// committed. Holds the lock of that SOURCE until all entries are removed.
void HiddenEntries::add_journal(const std::string& name) {
  const auto st = directory_.stat(name);
  if (!st) return;
  LockFile& lock = locks_.emplace_back(directory_, name);
  if (!lock.is_trusted()) {
    // A file with contents may be another user's journal, or data. An empty file may be removed.
    locks_.pop_back();
    if (S_ISREG(st->st_mode) && st->st_size > 0) frame::throw_errno(ENOTEMPTY, name);
    return add_temporary(name);
  }
  if (!lock.try_take_present()) frame::throw_errno(EBUSY, name);
  const Journal journal(lock.descriptor());
  for (const KeptFile& kept : journal.kept())
    if (directory_.stat(kept.temporary)) frame::throw_errno(ENOTEMPTY, name);
  for (const auto& maker : journal.makers()) makers_.push_back(maker);
}

void HiddenEntries::add_temporary(const std::string& name) {
  const auto st = directory_.stat(name);
  if (!st) return;
  auto leftover = made_by(makers_, directory_, name, *st);
  if (!leftover && !directory_.stat(name)) return;  // removed by its last reader or the sweep
  const uid_t user = change_.caller() == nullptr ? ::geteuid() : change_.caller()->user;
  const bool is_users = user == 0 || st->st_uid == user || st->st_uid == ::geteuid();
  if (!leftover && !S_ISDIR(st->st_mode) && is_users) leftover = Leftover{name, nullptr};
  if (!leftover) frame::throw_errno(ENOTEMPTY, name);
  leftovers_.push_back(*std::move(leftover));
}

std::vector<std::shared_ptr<void>> HiddenEntries::remove() {
  // Acts as the daemon: a user who may remove an empty directory need not be permitted to write in
  // it.
  const Change by_daemon = Change::by_daemon(change_);
  std::vector<std::shared_ptr<void>> leaving;
  for (const auto& [name, frame, is_own] : leftovers_) try {
      if (!frame) {
        directory_.remove_file(by_daemon, name);
        continue;
      }
      // A sparse frame that this mount has displaced may still be read, so its directory moves to
      // SOURCE itself. The frame's last reader removes it.
      directory_.rename(by_daemon, name, services_.root.directory({}), name);
      if (!is_own) leaving.push_back(remove_on_release(frame, name, name));
    } catch (const std::system_error& error) {
      // ENOENT: the last reader of the entry, or the sweep, has removed it.
      if (error.code() != std::errc::no_such_file_or_directory) throw;
    }
  for (LockFile& lock : locks_) lock.remove(by_daemon);
  return leaving;
}

}  // namespace

std::shared_ptr<const SourceObject> Removal::keep(const NamedObject& object) const {
  if (object.node == 0) return nullptr;
  if (object.entry.object && !object.entry.is_sframe()) return object.entry.object->kept();
  return services_.root.object(content_path(object.path(), object.entry), &names_.work()).kept();
}

Need Removal::commit_for_links(const NamedObject& object) const {
  if (!has_links(object) || !names_.is_open(object.node)) return {};
  return names_.work().once("stored for its links: " + std::to_string(object.node),
                            services_.commit(names_.work(), object.node));
}

void Removal::remove_name(const NamedObject& object, std::shared_ptr<const SourceObject> remains) {
  // Closing the last descriptor of a removed file waits until its disk space is freed. The watched
  // directories must not do that while a request waits. The node keeps a descriptor, and no request
  // waits when the kernel forgets the node.
  services_.root.drop_object(object.directory_path, object.stored_name);
  names_.changed_by_user(object.node);
  if (names_.removed(object, std::move(remains)) && object.entry.is_container())
    ended_.push_back(object.node);
}

void Removal::remove(const NamedObject& object) {
  const SourceDirectory directory = names_.directory(object.directory_path);
  auto remains = keep(object);
  remove_stored(object, directory, object.stored_name);
  remove_name(object, std::move(remains));
  remove_replaced(object, directory);
}

void Removal::remove_replaced(const NamedObject& pending, const SourceDirectory& directory) {
  if (!pending.replaces) return;
  if (const auto behind = names_.stored(pending.directory, pending.full_name))
    remove_stored(*behind, directory, behind->stored_name);
}

void Removal::remove_stored(const NamedObject& object, const SourceDirectory& directory,
                            const std::string& stored_name) {
  // The note is made after the removal. A flush that another thread began before the removal does
  // not make it durable, so that flush must not erase the note.
  const auto note = [&] {
    if (!is_temporary(stored_name))
      services_.unsynced_names.note(directory, stored_name, object.entry.shown);
  };
  if (!object.entry.is_sframe()) {
    const bool has_links = object.entry.own_stat.st_nlink > 1;
    directory.remove_file(names_.change(), stored_name);
    note();
    if (has_links) services_.unsynced_names.note_link(object.entry.own_stat);
    if (may_have_sidecar(object.entry)) remove_sidecar(names_.change(), directory, stored_name);
    if (has_links) names_.link_lost(object);
    return;
  }
  // Readers of a sparse frame open its chunk files by name. So the files stay together under a
  // displaced name until the last reader has finished.
  auto frame =
      std::make_shared<const frame::UniqueFd>(directory.open(stored_name, O_PATH | O_DIRECTORY));
  const std::string displaced = frame::displaced_name(frame::identity_at(frame->get(), {}).value());
  if (displaced != stored_name)
    directory.rename(names_.change(), stored_name, directory, displaced);
  note();
  names_.at_end(object.node,
                remove_on_release(std::move(frame), displaced, directory.path_of(displaced)));
}

void Removal::remove_directory(const NamedObject& object) {
  if (!names_.is_empty(object)) frame::throw_errno(ENOTEMPTY, object.path().text());
  // Hidden entries would make rmdir(2) fail for a directory that looks empty.
  clear(object);
  auto remains = keep(object);
  const SourceDirectory parent = names_.directory(object.directory_path);
  parent.remove_directory(names_.change(), object.stored_name);
  services_.unsynced_names.note(parent, object.stored_name, object.entry.shown);
  remove_name(object, std::move(remains));
}

void Removal::clear(const NamedObject& directory) {
  const SourceDirectory inside = names_.directory(directory.path());
  HiddenEntries hidden(names_.change(), inside, services_);
  const std::vector<SourceRoot::Entry> entries = services_.root.list(directory.path());
  for (const SourceRoot::Entry& entry : entries)
    if (is_lock_file(entry.name)) hidden.add_journal(entry.name);
  for (const auto& [name, type, inode] : entries) {
    if (names_.belongs_to_store(directory, name))
      hidden.add_of_store(name);
    else if (is_leftover_name(name))
      hidden.add_temporary(name);
    else if (!is_lock_file(name))
      frame::throw_errno(ENOTEMPTY, name);  // may be a user's file that the store hides
  }
  for (auto& leaving : hidden.remove()) names_.at_end(0, std::move(leaving));
}

}  // namespace bloscfs::fs
