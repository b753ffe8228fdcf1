#include "fs/names/node_home.hpp"

#include <cerrno>
#include <optional>
#include <utility>

#include <fcntl.h>

#include "frame/editing/replace_expected.hpp"
#include "frame/store/local_store.hpp"
#include "frame/store/temporary_name.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/names/name_choice.hpp"
#include "fs/names/removal.hpp"
#include "fs/names/replacement.hpp"
#include "fs/names/value_dependents.hpp"
#include "fs/source/directory_times.hpp"
#include "fs/source/target_name.hpp"
#include "fs/support/lock_breaks.hpp"

namespace bloscfs::fs {
namespace {

[[noreturn]] void throw_overtaken(const std::string& name) {
  frame::throw_errno(ESTALE, name + ": made or changed by another program meanwhile");
}

bool leads_to(const SourceDirectory& directory, const std::string& name, const Identity& object) {
  const auto st = directory.stat(name);
  return st && identity_of(*st) == object;
}

}  // namespace

class NodeHome::Lock final : public ContentHome::NameLock {
 public:
  Lock(NameServices& services, NodeId node)
      : services_(services), node_(node), names_(services.tree) {
    look();
    // For the mount its directory changed when the file got its name there.
    if (!object_) return;
    directory_times_.emplace(
        services_.root.object(object_->directory_path),
        [this, directory = object_->directory](const timespec& before, const timespec& after) {
          names_.hid_change(directory, before, after);
        });
  }

  const StoredPlace& place() const override { return place_; }
  const RepresentationNames& names() override;
  void before_replacing() override {
    if (object_) services_.unsynced_names.before_replacing(object_->entry.own_stat);
  }
  void before_giving_name(const std::string& full_name, ShownAs shown) override {
    if (object_)
      services_.unsynced_names.before_taking(services_.root.directory(object_->directory_path),
                                             full_name, shown);
  }
  std::string give_name(const std::string& stored_as, const frame::FileId& made,
                        const std::string& wanted_name, ShownAs shown,
                        const std::function<bool()>& is_unchanged) override;
  bool refresh(const frame::FileStamp& own) override {
    if (place_.is_unlinked) return true;
    if (!names_.rewritten(*object_, own)) return false;
    follow_mount_lock(place_.name);
    return true;
  }

 private:
  void look();
  void follow_mount_lock(const std::string& stored_as);
  std::string name_as(ShownAs shown);
  std::string take_place(NamedObject& old, const SourceDirectory& directory,
                         const std::string& stored_as, const frame::FileId& made,
                         const std::string& full_name, ShownAs shown,
                         const std::function<bool()>& is_unchanged);
  void take_name(const NamedObject& old, const SourceDirectory& directory,
                 const std::string& stored_as, const std::string& full_name,
                 const std::function<bool()>& is_unchanged);
  void leave_name(const NamedObject& old, const SourceDirectory& directory,
                  const std::function<bool()>& is_unchanged);

  NameServices& services_;
  const NodeId node_;
  TreeChanges names_;
  std::optional<DirectoryTimes> directory_times_;
  std::optional<NamedObject> object_;
  std::string shown_name_;
  StoredPlace place_;
  std::optional<RepresentationNames> representations_;
};

void NodeHome::Lock::look() {
  place_ = {};
  // Only the content's own writer tells its changes from those of others.
  object_ = names_.object_in_any_state(node_);
  if (!object_) {
    if (!names_.is_unlinked(node_)) frame::throw_errno(ESTALE, "file of a content");
    place_.is_unlinked = true;
    place_.directory =
        frame::make_local_store(services_.root.open({}, O_RDONLY | O_DIRECTORY), nullptr);
    return;
  }
  place_.directory = frame::make_local_store(
      services_.root.open(object_->directory_path, O_RDONLY | O_DIRECTORY), nullptr);
  place_.name = object_->stored_name;
  place_.is_temporary = object_->is_pending;
  place_.is_sparse = object_->entry.is_sframe;
  place_.has_links = has_links(*object_);
  place_.meant = identity_of(object_->entry.own_stat);
}

const RepresentationNames& NodeHome::Lock::names() {
  if (representations_) return *representations_;
  representations_.emplace();
  if (!object_) return *representations_;
  shown_name_ = names_.shown_name(*object_);
  representations_->flat = name_as(ShownAs::flat);
  if (!services_.policy.raw && is_array_name(shown_name_))
    representations_->array = name_as(ShownAs::array);
  return *representations_;
}

std::string NodeHome::Lock::name_as(ShownAs shown) {
  if (object_->entry.shown == shown) return object_->full_name;
  // The representation decides on the suffix; a plain file keeps its name where that will do.
  const bool was_plain = object_->entry.shown == ShownAs::itself;
  return choose_name(names_, object_->directory, shown_name_, shown,
                     was_plain ? object_->full_name : std::string(), services_.policy,
                     {{&*object_}});
}

void NodeHome::Lock::follow_mount_lock(const std::string& stored_as) {
  if (services_.lock != nullptr && services_.tree.is_virtual(object_->directory))
    services_.lock->follow(services_.root.object(stored_as).open(O_RDONLY));
}

std::string NodeHome::Lock::give_name(const std::string& stored_as, const frame::FileId& made,
                                      const std::string& wanted_name, ShownAs shown,
                                      const std::function<bool()>& is_unchanged) {
  if (place_.is_unlinked) return stored_as;
  require_no_links(*object_);
  names();
  NamedObject before = *object_;
  const SourceDirectory directory = services_.root.directory(before.directory_path);
  if (!leads_to(directory, stored_as, made)) throw_overtaken(stored_as);
  std::string full_name = stored_as == wanted_name ? wanted_name
                                                   : take_place(before, directory, stored_as, made,
                                                                wanted_name, shown, is_unchanged);
  if (!leads_to(directory, full_name, made)) throw_overtaken(full_name);
  carry_sidecar(directory, stored_as, directory, full_name);
  if (before.stored_name != full_name) {
    names_.moved(before, before.directory, full_name);
    carry_sidecar(directory, before.stored_name, directory, full_name);
  }
  names_.replaced(node_, object_->directory, full_name, shown);
  follow_mount_lock(full_name);
  look();
  if (before.stored_name != stored_as && before.stored_name != full_name)
    leave_name(before, directory, is_unchanged);
  if (before.replaces && before.full_name != full_name)
    if (const auto shadowed = names_.stored(before.directory, before.full_name))
      leave_name(*shadowed, directory,
                 [&] { return frame::stamp_of(shadowed->entry.content_stat) == before.replaces; });
  return full_name;
}

/// Another program may have put something else under a name that the file had: that stays.
void NodeHome::Lock::leave_name(const NamedObject& old, const SourceDirectory& directory,
                                const std::function<bool()>& is_unchanged) {
  const auto identity = frame::identity_at(directory.descriptor(), old.stored_name);
  if (!identity || identity->inode != old.entry.own_stat.st_ino) return;
  // A name of that object alone: another one that gets it meanwhile is no leftover.
  const std::string aside = frame::name_aside(*identity);
  directory.rename_to_free(old.stored_name, directory, aside);
  bool is_ours = false;
  try {
    is_ours = leads_to(directory, aside, identity_of(old.entry.own_stat)) && is_unchanged();
  } catch (...) {
    directory.rename_to_free(aside, directory, old.stored_name);
    throw;
  }
  if (is_ours) {
    services_.unsynced_names.note(directory, old.stored_name, old.entry.shown);
    Removal(names_, services_).remove_stored(old, directory, aside);
  } else {
    directory.rename_to_free(aside, directory, old.stored_name);
  }
}

std::string NodeHome::Lock::take_place(NamedObject& old, const SourceDirectory& directory,
                                       const std::string& stored_as, const frame::FileId& made,
                                       const std::string& full_name, ShownAs shown,
                                       const std::function<bool()>& is_unchanged) {
  take_name_of_replacement(names_, old, directory, shown_name_, full_name);
  services_.unsynced_names.before_taking(directory, full_name, shown);
  std::string meeting = visible_name(old);
  if (meeting == full_name || !can_be_replaced_there(names_, old, shown_name_, shown, {{&old}})) {
    take_name(old, directory, stored_as, full_name, is_unchanged);
    return full_name;
  }
  take_name(old, directory, stored_as, meeting, is_unchanged);
  if (!move_to_own_name(directory, meeting, full_name)) return meeting;
  // What another program gave the meeting name meanwhile is not ours to move.
  if (!leads_to(directory, full_name, made)) {
    directory.rename_to_free(full_name, directory, meeting);
    throw_overtaken(meeting);
  }
  carry_sidecar(directory, meeting, directory, full_name);
  return full_name;
}

/// Only what the file is, or has replaced already, gives way to it.
void NodeHome::Lock::take_name(const NamedObject& old, const SourceDirectory& directory,
                               const std::string& stored_as, const std::string& full_name,
                               const std::function<bool()>& is_unchanged) {
  const auto occupant = names_.stored(old.directory, full_name);
  if (!occupant || !is_stored(old) || full_name != visible_name(old)) {
    if (occupant && old.is_pending) throw_overtaken(full_name);
    return directory.rename_to_free(stored_as, directory, full_name);
  }
  const SourceEntry& known = occupant->entry;
  const bool is_own = !old.is_pending;
  if (!is_own && frame::stamp_of(known.content_stat) != old.replaces) throw_overtaken(full_name);
  const bool has_taken =
      frame::replace_expected(*place_.directory, stored_as, full_name, [&](const auto& replaced) {
        if (is_own) return replaced.inode == old.entry.own_stat.st_ino && is_unchanged();
        return replaced == frame::stamp_of(known.own_stat);
      });
  if (!has_taken) throw_overtaken(full_name);
  if (directory.stat(stored_as))
    Removal(names_, services_).remove_stored(*occupant, directory, stored_as);
  else
    names_.link_lost(*occupant);
}

NodeHome::NodeHome(NameServices& services, NodeId node) : services_(services), node_(node) {
  services_.tree.pin(node_);
}

NodeHome::~NodeHome() { services_.tree.unpin(node_); }

std::unique_ptr<ContentHome::NameLock> NodeHome::lock_name() {
  return Attempts::run([&] { return std::make_unique<Lock>(services_, node_); });
}

void NodeHome::before_values_change() { ValueDependents(services_).mark(node_); }

void NodeHome::require_changeable() { ValueDependents(services_).require_markable(node_); }

}  // namespace bloscfs::fs
