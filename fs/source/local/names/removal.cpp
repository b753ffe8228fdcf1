#include "fs/source/local/names/removal.hpp"

#include <cerrno>
#include <string>
#include <utility>

#include "frame/header/sframe_format.hpp"
#include "frame/store/temporary_name.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/local/names/hidden_entries.hpp"
#include "fs/source/local/names/lock_sidecar.hpp"
#include "fs/support/lock_breaks.hpp"

namespace bloscfs::fs {

std::shared_ptr<const SourceObject> Removal::keep(const NamedObject& object) const {
  if (object.node == 0) return nullptr;
  if (object.entry.object && !object.entry.is_sframe()) return object.entry.object->kept();
  return services_.root.object(content_path(object.path(), object.entry)).kept();
}

void Removal::store_for_links(const NamedObject& object) const {
  if (!has_links(object) || !names_.is_open(object.node)) return;
  Attempts::once_without_lock(
      "stored for its links: " + std::to_string(object.node),
      [&contents = services_.contents, node = object.node] { contents.commit({node}); });
}

void Removal::remove_name(const NamedObject& object, std::shared_ptr<const SourceObject> remains) {
  // The last to close a file waits for its disk space to be given back: not whoever asks next, but
  // what takes back the node, which nobody waits for.
  services_.root.let_go(object.directory_path, object.stored_name);
  names_.changed_by_user(object.node);
  if (names_.removed(object, std::move(remains)) && object.entry.is_container())
    ended_.push_back(object.node);
}

void Removal::remove(const NamedObject& object) {
  const SourceDirectory directory = services_.root.directory(object.directory_path);
  auto remains = keep(object);
  remove_stored(object, directory, object.stored_name);
  remove_name(object, std::move(remains));
  remove_behind(object, directory);
}

void Removal::remove_behind(const NamedObject& pending, const SourceDirectory& directory) {
  if (!pending.replaces) return;
  if (const auto behind = names_.stored(pending.directory, pending.full_name))
    remove_stored(*behind, directory, behind->stored_name);
}

void Removal::remove_stored(const NamedObject& object, const SourceDirectory& directory,
                            const std::string& stored_name) {
  if (!is_temporary(stored_name))
    // Noted before the file goes: from then on a power cut may bring the name back.
    services_.unsynced_names.note(directory, stored_name, object.entry.shown);
  if (!object.entry.is_sframe()) {
    const bool has_links = object.entry.own_stat.st_nlink > 1;
    if (has_links) services_.unsynced_names.note_link(object.entry.own_stat);
    directory.remove_file(stored_name);
    if (may_have_sidecar(object.entry)) remove_sidecar(directory, stored_name);
    if (has_links) names_.link_lost(object);
    return;
  }
  // Readers of a sparse frame open its chunk files by name, so that these stay together, under a
  // temporary's name, until the last reader has left.
  const auto identity = frame::identity_at(directory.descriptor(), stored_name);
  if (!identity) frame::throw_errno(ENOENT, stored_name);
  const std::string aside = frame::name_aside(*identity);
  if (aside != stored_name) directory.rename(stored_name, directory, aside);
  auto removed = services_.removed_sframes.add(directory, aside, *identity);
  names_.at_end(object.node, std::move(removed));
}

void Removal::remove_directory(const NamedObject& object, uid_t user) {
  if (!names_.is_empty(object)) frame::throw_errno(ENOTEMPTY, object.path().text());
  // What the mount hides would keep rmdir(2) from removing a directory that looks empty.
  clear(object, user);
  auto remains = keep(object);
  const SourceDirectory parent = services_.root.directory(object.directory_path);
  services_.unsynced_names.note(parent, object.stored_name, object.entry.shown);
  parent.remove_directory(object.stored_name);
  remove_name(object, std::move(remains));
}

void Removal::clear(const NamedObject& directory, uid_t user) {
  const SourceDirectory inside = services_.root.directory(directory.path());
  HiddenEntries hidden(inside, services_, user);
  for (const SourceRoot::Entry& entry : services_.root.list(directory.path()))
    hidden.add(entry.name, names_.belongs_to_store(directory, entry.name));
  for (auto& leaving : hidden.remove()) names_.at_end(0, std::move(leaving));
}

}  // namespace bloscfs::fs
