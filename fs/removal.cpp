#include "fs/removal.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>

#include "frame/local_store.hpp"
#include "frame/temporary_name.hpp"
#include "fs/kept_files.hpp"

namespace bloscfs::fs {
bool is_leftover_name(const std::string& name) {
  const auto locked = locked_name(name);
  return is_temporary(name) || (locked && is_temporary(*locked));
}

void remove_leftover(const SourceDirectory& directory, const std::string& name,
                     const struct stat& st) {
  if (S_ISDIR(st.st_mode))
    remove_frame_directory(directory, name);
  else
    directory.remove_file(name);
}

std::string sidecar_name(const std::string& full_name) { return full_name + ".b2lock"; }

void carry_sidecar(const SourceDirectory& from, const std::string& full_name,
                   const SourceDirectory& to, const std::string& new_full_name) {
  if (&from == &to && full_name == new_full_name) return;
  if (from.stat(sidecar_name(full_name)))
    from.rename(sidecar_name(full_name), to, sidecar_name(new_full_name));
}

std::shared_ptr<const SourceObject> Removal::keep(const NamedObject& object) const {
  if (object.node == 0) return nullptr;
  const std::string path = object.path();
  return std::make_shared<SourceObject>(
      services_.root.object(object.entry.is_sframe ? join_path(path, kSframeIndex) : path));
}

void Removal::remove_name(const NamedObject& object, std::shared_ptr<const SourceObject> remains) {
  names_.changed_by_user(object.node);
  if (names_.removed(object, std::move(remains)) && object.entry.is_container)
    ended_.push_back(object.node);
}

void Removal::remove(const NamedObject& object) {
  const SourceDirectory directory = services_.root.directory(object.directory_path);
  auto remains = keep(object);
  remove_stored(object, directory, object.stored_name);
  remove_name(object, std::move(remains));
  if (!object.replaces) return;
  if (const auto shadowed = names_.stored(object.directory, object.full_name))
    remove_stored(*shadowed, directory, object.full_name);
}

void Removal::remove_stored(const NamedObject& object, const SourceDirectory& directory,
                            const std::string& stored_name) {
  if (!is_temporary(stored_name)) services_.freed.note(directory, stored_name, object.entry.shown);
  if (!object.entry.is_sframe) {
    if (object.entry.entry.st_nlink > 1) services_.freed.note_link(object.entry.entry);
    directory.remove_file(stored_name);
    if (object.entry.is_container && directory.stat(sidecar_name(stored_name)))
      directory.remove_file(sidecar_name(stored_name));
    names_.link_lost(object);
    return;
  }
  // Readers open its chunks by name, so they stay together under another one.
  const std::string aside = frame::temporary_name();
  directory.rename(stored_name, directory, aside);
  auto doomed = services_.doomed.add(directory.again(), aside);
  if (object.node != 0) names_.at_end(object.node, std::move(doomed));
}

void Removal::remove_directory(const NamedObject& object) {
  if (!names_.is_empty(object))
    throw std::system_error(ENOTEMPTY, std::generic_category(), object.path());
  clear(object);
  auto remains = keep(object);
  const SourceDirectory parent = services_.root.directory(object.directory_path);
  services_.freed.note(parent, object.stored_name, object.entry.shown);
  parent.remove_directory(object.stored_name);
  remove_name(object, std::move(remains));
}

/// A directory that was a SOURCE may have contents that were never committed.
void Removal::require_nothing_kept(const std::string& path,
                                   const std::vector<SourceRoot::Entry>& entries) const {
  std::vector<std::string> journals;
  for (const SourceRoot::Entry& entry : entries)
    if (is_lock_file(entry.name)) journals.push_back(entry.name);
  if (journals.empty()) return;
  const auto store =
      frame::make_local_store(services_.root.open(path, O_RDONLY | O_DIRECTORY), nullptr);
  if (!kept_files_in(store, journals).empty())
    throw std::system_error(ENOTEMPTY, std::generic_category(), path);
}

void Removal::clear(const NamedObject& directory) {
  const std::string path = directory.path();
  const SourceDirectory inside = services_.root.directory(path);
  const auto entries = services_.root.list(path);
  require_nothing_kept(path, entries);
  for (const SourceRoot::Entry& entry : entries) {
    if (is_lock_file(entry.name)) inside.remove_file(entry.name);
    if (!is_leftover_name(entry.name)) continue;
    if (services_.doomed.relocate(entry.name, inside, services_.root.directory({}))) continue;
    if (const auto st = inside.stat(entry.name)) remove_leftover(inside, entry.name, *st);
  }
}

}  // namespace bloscfs::fs
