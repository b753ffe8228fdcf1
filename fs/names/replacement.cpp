#include "fs/names/replacement.hpp"

#include <cerrno>
#include <exception>

#include "frame/editing/replace_expected.hpp"
#include "frame/store/temporary_name.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/names/lock_sidecar.hpp"
#include "fs/support/log.hpp"

namespace bloscfs::fs {
namespace {

/// True if SOURCE has something that the object is, or that it waits to replace.
bool is_stored(const NamedObject& object) {
  return !object.is_pending || object.replaces.has_value();
}

/// Its name there.
const std::string& visible_name(const NamedObject& object) {
  return object.is_pending ? object.full_name : object.stored_name;
}

/// Only a directory can take the place of a directory, sparse frames included.
bool is_stored_directory(const NamedObject& object) {
  return S_ISDIR(object.entry.own_stat.st_mode);
}

bool is_same(const NamedObject& a, const NamedObject& b) {
  return identity_of(a.entry.own_stat) == identity_of(b.entry.own_stat);
}

[[noreturn]] void throw_overtaken(const std::string& name) {
  frame::throw_errno(ESTALE, name + ": made or changed by another program meanwhile");
}

}  // namespace

void take_name_of_replacement(TreeChanges& names, NamedObject& object,
                              const SourceDirectory& directory, const std::string& shown_name,
                              const std::string& full_name) {
  if (!is_stored(object) || visible_name(object) == full_name || directory.stat(full_name)) return;
  const auto stored = names.stored(object.directory, visible_name(object));
  if (!stored ||
      !names.fits(object.directory, shown_name, full_name, stored->entry.shown, {{&object}}))
    return;
  // What it replaced under its present name must not come back there.
  directory.sync();
  directory.rename_to_free(stored->stored_name, directory, full_name);
  if (stored->entry.is_container)
    carry_sidecar(directory, stored->stored_name, directory, full_name);
  if (!object.is_pending) {
    names.moved(object, object.directory, full_name);
    object.stored_name = full_name;
  }
  object.full_name = full_name;
  directory.sync();
}

const std::string& Replacement::place(const std::string& full_name) {
  const NamedObject& placed = objects_.placed;
  services_.unsynced_names.before_taking(objects_.to, full_name, placed.entry.shown);
  if (objects_.old != nullptr)
    take_name_of_replacement(names_, *objects_.old, objects_.to, objects_.shown_name, full_name);
  note_given_up(objects_.from, placed.stored_name);
  const std::string meeting = meeting_name(full_name);
  put(meeting);
  if (meeting != full_name) take_own_name(meeting, full_name);
  if (objects_.terms != nullptr) keep_sidecar(meeting);
  return placed_as_;
}

void Replacement::note_given_up(const SourceDirectory& directory, const std::string& name) {
  if (!is_temporary(name))
    services_.unsynced_names.note(directory, name, objects_.placed.entry.shown);
}

/// P where both can stand there, else F.
std::string Replacement::meeting_name(const std::string& full_name) {
  const NamedObject* old = objects_.old;
  const bool meets = old != nullptr && is_stored(*old) && visible_name(*old) != full_name &&
                     names_.fits(old->directory, objects_.shown_name, visible_name(*old),
                                 objects_.placed.entry.shown, {{&objects_.placed, old}});
  return meets ? visible_name(*old) : full_name;
}

/// What SOURCE has under a name that is about to be taken: only what gives way can be there.
std::optional<NamedObject> Replacement::occupant(const std::string& full_name) {
  const NamedObject* old = objects_.old;
  const bool is_commit = objects_.terms != nullptr;
  if (old == nullptr || !is_stored(*old) || visible_name(*old) != full_name) {
    if (is_commit && old->is_pending && objects_.to.stat(full_name)) throw_overtaken(full_name);
    return std::nullopt;
  }
  if (!is_commit && !old->is_pending) return *old;
  auto stored = names_.stored(old->directory, full_name);
  if (is_commit && stored && old->is_pending &&
      frame::stamp_of(stored->entry.content_stat) != old->replaces)
    throw_overtaken(full_name);
  return stored;
}

/// In one step, also where something has the name.
void Replacement::put(const std::string& full_name) {
  const auto there = occupant(full_name);
  if (!there)
    objects_.from.rename_to_free(objects_.placed.stored_name, objects_.to, full_name);
  else if (objects_.terms != nullptr)
    put_over_expected(*there, full_name);
  else
    put_over(*there, full_name);
  placed_as_ = full_name;
  has_replaced_ = there.has_value();
  if (objects_.terms == nullptr) carry_own_sidecar(there);
}

void Replacement::put_over(const NamedObject& occupant, const std::string& full_name) {
  const NamedObject& placed = objects_.placed;
  const SourceDirectory& from = objects_.from;
  if (is_same(placed, occupant)) {
    // A hard link that a waiting file has replaced: rename(2) would leave both names.
    from.remove_file(placed.stored_name);
  } else if (!is_stored_directory(placed) && !is_stored_directory(occupant)) {
    from.rename(placed.stored_name, objects_.to, full_name);
    names_.link_lost(occupant);
  } else if (placed.is_directory() && occupant.is_directory()) {
    removal_.clear(occupant, objects_.user);
    from.rename(placed.stored_name, objects_.to, full_name);
  } else {
    from.exchange(placed.stored_name, objects_.to, full_name);
    removal_.remove_stored(occupant, from, placed.stored_name);
  }
}

/// Only what the file is, or has replaced already, gives way to it.
void Replacement::put_over_expected(const NamedObject& occupant, const std::string& full_name) {
  const NamedObject& old = *objects_.old;
  const std::string& stored_as = objects_.placed.stored_name;
  const bool has_taken = frame::replace_expected(
      *objects_.terms->directory, stored_as, full_name, [&](const frame::FileStamp& replaced) {
        if (old.is_pending) return replaced == frame::stamp_of(occupant.entry.own_stat);
        return replaced.inode == old.entry.own_stat.st_ino && objects_.terms->is_unchanged();
      });
  if (!has_taken) throw_overtaken(full_name);
  if (objects_.to.stat(stored_as))
    removal_.remove_stored(occupant, objects_.to, stored_as);
  else
    names_.link_lost(occupant);
}

/// Durably leaves what was replaced behind. Where that fails it stays, which shows it as well.
void Replacement::take_own_name(const std::string& meeting, const std::string& full_name) {
  const SourceDirectory& to = objects_.to;
  try {
    to.sync();
    note_given_up(to, meeting);
    to.rename_to_free(meeting, to, full_name);
  } catch (const std::exception& error) {
    return log::warn(error.what());
  }
  if (objects_.terms != nullptr && !leads_to_placed(full_name)) {
    // What another program gave the meeting name meanwhile is not ours to move.
    to.rename_to_free(full_name, to, meeting);
    throw_overtaken(meeting);
  }
  placed_as_ = full_name;
  if (objects_.terms == nullptr && may_have_sidecar(objects_.placed.entry))
    carry_sidecar(to, meeting, to, full_name);
}

bool Replacement::leads_to_placed(const std::string& full_name) const {
  const auto st = objects_.to.stat(full_name);
  return st && identity_of(*st) == identity_of(objects_.placed.entry.own_stat);
}

/// What a user renames takes its sidecar along; that of what it replaces goes.
void Replacement::carry_own_sidecar(const std::optional<NamedObject>& replaced) {
  const NamedObject& placed = objects_.placed;
  if (may_have_sidecar(placed.entry) && objects_.from.stat(sidecar_name(placed.stored_name)))
    carry_sidecar(objects_.from, placed.stored_name, objects_.to, placed_as_);
  else if (replaced && may_have_sidecar(replaced->entry))
    remove_sidecar(objects_.to, placed_as_);
}

/// What a commit stores anew is the same file for other programs, which may hold its sidecar.
void Replacement::keep_sidecar(const std::string& meeting) {
  const SourceDirectory& to = objects_.to;
  if (!leads_to_placed(placed_as_)) throw_overtaken(placed_as_);
  for (const std::string& name : {objects_.placed.stored_name, meeting, objects_.old->stored_name})
    carry_sidecar(to, name, to, placed_as_);
}

void Replacement::remove_old() {
  const NamedObject* old = objects_.old;
  if (old == nullptr) return;
  const bool is_placed =
      objects_.terms != nullptr && old->stored_name == objects_.placed.stored_name;
  if (!is_placed && (old->is_pending || !has_replaced_))
    leave(*old, [&] { return objects_.terms->is_unchanged(); });
  if (!old->replaces || has_replaced_ || old->full_name == placed_as_) return;
  if (const auto behind = names_.stored(old->directory, old->full_name))
    leave(*behind, [&] { return frame::stamp_of(behind->entry.content_stat) == old->replaces; });
}

/// Removes what is stored, of a commit only if `is_own` says so: another program may have put
/// something else under a name that the file had, and that stays.
void Replacement::leave(const NamedObject& object, const std::function<bool()>& is_own) {
  const SourceDirectory& directory = objects_.to;
  const std::string& name = object.stored_name;
  if (objects_.terms == nullptr) return removal_.remove_stored(object, directory, name);
  const auto identity = frame::identity_at(directory.descriptor(), name);
  if (!identity || identity->inode != object.entry.own_stat.st_ino) return;
  // A name of that object alone: another one that gets it meanwhile is no leftover.
  const std::string aside = frame::name_aside(*identity);
  directory.rename_to_free(name, directory, aside);
  bool goes = false;
  try {
    const auto st = directory.stat(aside);
    goes = st && identity_of(*st) == identity_of(object.entry.own_stat) && is_own();
  } catch (...) {
    directory.rename_to_free(aside, directory, name);
    throw;
  }
  if (!goes) return directory.rename_to_free(aside, directory, name);
  services_.unsynced_names.note(directory, name, object.entry.shown);
  removal_.remove_stored(object, directory, aside);
}

}  // namespace bloscfs::fs
