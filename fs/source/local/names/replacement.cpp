#include "fs/source/local/names/replacement.hpp"

#include <cerrno>
#include <system_error>

#include <fmt/format.h>

#include "frame/editing/replace_expected.hpp"
#include "frame/store/temporary_name.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/local/names/lock_sidecar.hpp"

namespace bloscfs::fs {
namespace {

/// True if SOURCE has the object, or the file that a pending object will replace, under the
/// object's full name.
bool is_stored(const NamedObject& object) {
  return !object.is_pending || object.replaces.has_value();
}

/// Returns the full name of an object, given that is_stored() is true: P in replacement.hpp.
const std::string& visible_name(const NamedObject& object) {
  return object.is_pending ? object.full_name : object.stored_name;
}

/// True if the object is a directory in SOURCE, as a sparse frame is. A directory can be replaced
/// only by a directory.
bool is_stored_directory(const NamedObject& object) {
  return S_ISDIR(object.entry.own_stat.st_mode);
}

bool leads_to(const SourceDirectory& directory, const std::string& name, const Identity& object) {
  const auto st = directory.stat(name);
  return st && identity_of(*st) == object;
}

/// Makes durable how an object got its present name. Otherwise a file that it replaced under that
/// name could come back after the object has left the name. `state` contains the change time, which
/// a rename sets: an object that has left the name and come back is flushed again.
Need flush_name(NamesWork& work, const SourceDirectory& directory, const std::string& name) {
  const struct stat in = directory.stat();
  const auto st = directory.stat(name);
  if (!st) frame::throw_errno(ENOENT, name);
  const std::string state = fmt::format("{}:{} {} {} {}.{}", in.st_dev, in.st_ino, name, st->st_ino,
                                        st->st_ctim.tv_sec, st->st_ctim.tv_nsec);
  return work.once(state, {[in = directory] { in.sync(); }});
}

/// True if the object is not called `full_name`, but could be, and would be shown as before.
bool can_be_called(TreeChanges& names, const NamedObject& object, const SourceDirectory& directory,
                   const std::string& shown_name, const std::string& full_name) {
  return !object.is_pending && object.stored_name != full_name && !directory.stat(full_name) &&
         names.fits(object.directory, shown_name, full_name, object.entry.shown, {{&object}});
}

/// Updates the sidecar, the tree and the unsynced names after an object was renamed within its
/// directory.
void follow_renamed(TreeChanges& names, NameServices& services, const NamedObject& object,
                    const SourceDirectory& directory, const std::string& full_name) {
  const std::string& before = object.stored_name;
  if (may_have_sidecar(object.entry))
    carry_sidecar(names.change(), directory, before, directory, full_name);
  names.moved(object, object.directory, full_name);
  services.unsynced_names.note(directory, before, object.entry.shown);
}

}  // namespace

void throw_overtaken(const std::string& name) {
  frame::throw_errno(ESTALE, name + ": made or changed by another program meanwhile");
}

Need rename_to_replacement_name(TreeChanges& names, NameServices& services, NamedObject& object,
                                const SourceDirectory& directory, const std::string& shown_name,
                                const std::string& full_name) {
  if (!can_be_called(names, object, directory, shown_name, full_name)) return {};
  if (Need need = flush_name(names.work(), directory, object.stored_name)) return need;
  directory.rename_to_free(names.change(), object.stored_name, directory, full_name);
  follow_renamed(names, services, object, directory, full_name);
  object.full_name = object.stored_name = full_name;
  names.work().end_change();
  return services.unsynced_names.before_taking(names.work(), directory, full_name,
                                               object.entry.shown);
}

Need take_final_name(TreeChanges& names, NameServices& services, const NamedObject& object,
                     const Identity& placed, const std::string& shown_name,
                     const std::string& full_name, bool& is_ours) {
  const SourceDirectory directory = names.directory(object.directory_path);
  const std::string& interim = object.stored_name;
  is_ours = true;
  if (!can_be_called(names, object, directory, shown_name, full_name)) return {};
  is_ours = leads_to(directory, interim, placed);
  if (!is_ours) return {};
  if (Need need = services.unsynced_names.before_taking(names.work(), directory, full_name,
                                                        object.entry.shown))
    return need;
  if (Need need = flush_name(names.work(), directory, interim)) return need;
  directory.rename_to_free(names.change(), interim, directory, full_name);
  is_ours = leads_to(directory, full_name, placed);
  if (is_ours)
    follow_renamed(names, services, object, directory, full_name);
  else
    directory.rename_to_free(names.change(), full_name, directory, interim);
  return {};
}

Need prepare_name(TreeChanges& names, NameServices& services, NamedObject* old,
                  const PlacedName& name, std::string& taken) {
  // `meets`: the new object can have the present full name of the old one.
  const bool meets = old != nullptr && is_stored(*old) &&
                     names.fits(old->directory, name.shown_name, visible_name(*old), name.shown,
                                {{name.placed, old}});
  taken = meets ? visible_name(*old) : name.full_name;
  if (Need need =
          services.unsynced_names.before_taking(names.work(), name.directory, taken, name.shown))
    return need;
  if (old == nullptr || meets) return {};
  return rename_to_replacement_name(names, services, *old, name.directory, name.shown_name, taken);
}

Need Replacement::place(const std::string& full_name) {
  const NamedObject& placed = objects_.placed;
  const ShownAs shown = placed.entry.shown;
  std::string taken;  // the name in SOURCE that prepare_name() chose for the object
  if (Need need =
          prepare_name(names_, services_, objects_.old,
                       {&placed, objects_.to, objects_.shown_name, full_name, shown}, taken))
    return need;
  put(taken);
  if (!is_temporary(placed.stored_name))
    services_.unsynced_names.note(objects_.from, placed.stored_name, shown);
  // A commit takes the lock sidecars along to the new name.
  if (objects_.precondition != nullptr) keep_sidecar();
  return {};
}

/// Returns the object that SOURCE has under a full name that is about to be taken. This can only be
/// the old object, or the file that the pending old object was to replace.
std::optional<NamedObject> Replacement::occupant(const std::string& full_name) {
  const NamedObject* old = objects_.old;
  const bool is_commit = objects_.precondition != nullptr;
  if (old == nullptr || !is_stored(*old) || visible_name(*old) != full_name) return std::nullopt;
  if (!is_commit && !old->is_pending) return *old;
  auto stored = names_.stored(old->directory, full_name);
  if (is_commit && stored && old->is_pending &&
      frame::stamp_of(stored->entry.content_stat) != old->replaces)
    throw_overtaken(full_name);
  return stored;
}

/// Gives the placed object the full name. If another object has that name, replaces that one in the
/// same step.
void Replacement::put(const std::string& full_name) {
  const bool is_commit = objects_.precondition != nullptr;
  const auto there = occupant(full_name);
  if (there && is_commit) {
    replace_expected_occupant(*there, full_name);
  } else if (there) {
    replace_occupant(*there, full_name);
  } else {
    try {
      objects_.from.rename_to_free(names_.change(), objects_.placed.stored_name, objects_.to,
                                   full_name);
    } catch (const std::system_error& error) {
      if (error.code() == std::errc::file_exists && is_commit && objects_.old->is_pending)
        throw_overtaken(full_name);
      throw;
    }
  }
  placed_as_ = full_name;
  has_replaced_ = there.has_value();
  if (!is_commit) carry_own_sidecar(there);
}

void Replacement::replace_occupant(const NamedObject& occupant, const std::string& full_name) {
  const NamedObject& placed = objects_.placed;
  const SourceDirectory& from = objects_.from;
  if (identity_of(placed.entry.own_stat) == identity_of(occupant.entry.own_stat)) {
    // Both names are hard links to one file. rename(2) would do nothing, and leave both.
    from.remove_file(names_.change(), placed.stored_name);
  } else if (!is_stored_directory(placed) && !is_stored_directory(occupant)) {
    from.rename(names_.change(), placed.stored_name, objects_.to, full_name);
    names_.link_lost(occupant);
  } else if (placed.is_directory() && occupant.is_directory()) {
    removal_.clear(occupant);
    from.rename(names_.change(), placed.stored_name, objects_.to, full_name);
  } else {
    // rename(2) can replace neither a file by a directory nor a sparse frame, which is a directory
    // with files in it.
    from.exchange(names_.change(), placed.stored_name, objects_.to, full_name);
    removal_.remove_stored(occupant, from, placed.stored_name);
  }
}

/// Replaces `occupant` in a commit. Only two states may be replaced: the one that the commit was
/// made from, and the one that a pending file replaces.
void Replacement::replace_expected_occupant(const NamedObject& occupant,
                                            const std::string& full_name) {
  const NamedObject& old = *objects_.old;
  const std::string& stored_name = objects_.placed.stored_name;
  // The frame layer does the rename, so the change is only announced here.
  static_cast<void>(names_.change());
  const bool has_taken = frame::replace_expected(
      *objects_.precondition->directory, stored_name, full_name,
      [&](const frame::FileStamp& replaced) {
        if (old.is_pending) return replaced == frame::stamp_of(occupant.entry.own_stat);
        return replaced.inode == old.entry.own_stat.st_ino && objects_.precondition->is_unchanged();
      });
  if (!has_taken) throw_overtaken(full_name);
  // After an exchange the old file has the name that the new file had. Otherwise it is gone.
  if (objects_.to.stat(stored_name))
    removal_.remove_stored(occupant, objects_.to, stored_name);
  else
    names_.link_lost(occupant);
}

/// Moves the sidecar along with a renamed object, and removes the sidecar of the replaced object.
void Replacement::carry_own_sidecar(const std::optional<NamedObject>& replaced) {
  const NamedObject& placed = objects_.placed;
  const bool is_carried =
      may_have_sidecar(placed.entry) &&
      carry_sidecar(names_.change(), objects_.from, placed.stored_name, objects_.to, placed_as_);
  if (!is_carried && replaced && may_have_sidecar(replaced->entry))
    remove_sidecar(names_.change(), objects_.to, placed_as_);
}

/// Keeps the sidecar of a file that a commit has replaced. For other programs the new file is the
/// same file, and they may hold a lock on the sidecar. Also sets placed_state().
void Replacement::keep_sidecar() {
  const SourceDirectory& to = objects_.to;
  const auto state = stat_anew(to.descriptor(), placed_as_);
  if (!state && errno != ENOENT) frame::throw_errno(placed_as_);
  if (!state || !(identity_of(*state) == identity_of(objects_.placed.entry.own_stat)))
    throw_overtaken(placed_as_);
  placed_state_ = *state;
  carry_sidecar(names_.change(), to, objects_.placed.stored_name, to, placed_as_);
  if (objects_.old->stored_name != objects_.placed.stored_name)
    carry_sidecar(names_.change(), to, objects_.old->stored_name, to, placed_as_);
}

void Replacement::remove_old() {
  const NamedObject* old = objects_.old;
  if (old == nullptr) return;
  // A commit may have stored the contents in the pending object's own file, which is then placed.
  const bool is_placed =
      objects_.precondition != nullptr && old->stored_name == objects_.placed.stored_name;
  if (!is_placed && (old->is_pending || !has_replaced_))
    leave(*old, [&] { return objects_.precondition->is_unchanged(); });
  if (!old->replaces || has_replaced_ || old->full_name == placed_as_) return;
  if (const auto behind = names_.stored(old->directory, old->full_name))
    leave(*behind, [&] { return frame::stamp_of(behind->entry.content_stat) == old->replaces; });
}

/// Removes a stored object. In a commit, does so only if `is_own` returns true: another program may
/// have put something else under the name, which stays.
void Replacement::leave(const NamedObject& object, const std::function<bool()>& is_own) {
  const SourceDirectory& directory = objects_.to;
  const std::string& name = object.stored_name;
  if (objects_.precondition == nullptr) return removal_.remove_stored(object, directory, name);
  const auto identity = frame::identity_at(directory.descriptor(), name);
  if (!identity || identity->inode != object.entry.own_stat.st_ino) return;
  // The displaced name is valid for this object only. If another object gets it instead, no sweep
  // takes that object for a leftover.
  const std::string displaced = frame::displaced_name(*identity);
  directory.rename_to_free(names_.change(), name, directory, displaced);
  bool goes = false;
  try {
    const auto st = directory.stat(displaced);
    goes = st && identity_of(*st) == identity_of(object.entry.own_stat) && is_own();
  } catch (...) {
    directory.rename_to_free(names_.change(), displaced, directory, name);
    throw;
  }
  if (!goes) return directory.rename_to_free(names_.change(), displaced, directory, name);
  removal_.remove_stored(object, directory, displaced);
  services_.unsynced_names.note(directory, name, object.entry.shown);
}

}  // namespace bloscfs::fs
