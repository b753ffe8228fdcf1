#include "fs/source/local/names/renaming.hpp"

#include <cerrno>
#include <cstdio>
#include <utility>

#include "frame/store/temporary_name.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/local/files/target_name.hpp"
#include "fs/source/local/names/lock_sidecar.hpp"
#include "fs/source/local/names/replacement.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;

}  // namespace

NamedObject find_to_change(TreeChanges& names, NodeId directory, const std::string& name) {
  auto object = names.find(directory, name);
  if (!object) throw_errno(ENOENT, name);
  return *std::move(object);
}

bool becomes_flat_as(const NamedObject& object, const std::string& name) {
  if (object.entry.shown != ShownAs::array || is_array_name(name)) return false;
  if (object.entry.is_read_only) throw_errno(EROFS, object.full_name);
  require_no_links(object);
  return true;
}

Renaming::Renaming(TreeChanges& names, NameServices& services, const WantedRename& wanted,
                   std::optional<ExchangeNames>& exchange_names)
    : names_(names),
      services_(services),
      wanted_(wanted),
      exchange_names_(exchange_names),
      removal_(names, services),
      source_(find_to_change(names, wanted.from, wanted.from_name)),
      target_(names.find(wanted.to, wanted.to_name)),
      from_(names.directory(wanted.from)),
      to_(names.directory(wanted.to)),
      after_change_{{&source_, target_ ? &*target_ : nullptr}} {}

Need Renaming::run(Outcome& outcome) {
  Need need = rename();
  outcome_.ended = removal_.ended();
  outcome = std::move(outcome_);
  return need;
}

Need Renaming::rename() {
  if ((wanted_.flags & RENAME_NOREPLACE) != 0 && target_) throw_errno(EEXIST, wanted_.to_name);
  const bool exchanges = (wanted_.flags & RENAME_EXCHANGE) != 0;
  if (exchanges && !target_) throw_errno(ENOENT, wanted_.to_name);
  // If both names are links to one file, rename(2) does nothing, and reports no error.
  if (target_ && identity_of(source_.entry.own_stat) == identity_of(target_->entry.own_stat))
    return {};
  if (becomes_flat_as(source_, wanted_.to_name))
    return services_.force_flat(names_.work(), source_.node);
  if (Need need = services_.unsynced_names.before_giving_up(names_.work())) return need;
  return exchanges ? exchange() : move();
}

void Renaming::check_types() {
  if (!target_) return;
  if (source_.is_directory() && !target_->is_directory()) throw_errno(ENOTDIR, wanted_.to_name);
  if (!source_.is_directory() && target_->is_directory()) throw_errno(EISDIR, wanted_.to_name);
  if (target_->is_directory() && !names_.is_empty(*target_))
    throw_errno(ENOTEMPTY, wanted_.to_name);
  // A store is a file in SOURCE, and a file cannot replace a directory.
  if (target_->is_directory() && source_.entry.is_store()) throw_errno(EEXIST, wanted_.to_name);
}

/// Returns the full name in SOURCE under which the object will be shown as `name`. Prefers the full
/// name of a replaced container, so that a single rename(2) replaces it. Throws EEXIST if no full
/// name fits.
std::string Renaming::target_name(const NamedObject& object, NodeId directory,
                                  const std::string& name, const NamedObject* replaced) {
  if (object.entry.shown == ShownAs::itself) {
    if (!names_.makes_frame(object, name) &&
        names_.fits(directory, name, name, ShownAs::itself, after_change_))
      return name;
    throw_errno(EEXIST, name);
  }
  if (replaced != nullptr && replaced->entry.is_container() &&
      names_.fits(directory, name, replaced->full_name, object.entry.shown, after_change_))
    return replaced->full_name;
  std::string chosen = choose_name(names_, directory, name, object.entry.shown,
                                   object.is_pending ? std::string() : object.full_name,
                                   services_.policy, after_change_);
  if (chosen.empty()) throw_errno(EEXIST, name);
  return chosen;
}

void Renaming::note_renamed(const NamedObject& object) {
  names_.changed_by_user(object.node);
  if (object.entry.is_container() && object.node != 0) outcome_.renamed.push_back(object.node);
}

Need Renaming::move() {
  check_types();
  if (target_)
    if (Need need = removal_.commit_for_links(*target_)) return need;
  return source_.is_pending ? move_pending() : move_stored();
}

/// Renames a file that was never committed. Its first commit gives it the new full name. Until then
/// the file that it replaces stays in SOURCE if both have the same full name: that hides the old
/// one.
Need Renaming::move_pending() {
  const std::string full_name =
      target_name(source_, wanted_.to, wanted_.to_name, target_ ? &*target_ : nullptr);
  const bool shadows = target_ && target_->full_name == full_name;
  // The other links to the replaced file must show one link less at once. A pending file replaces
  // nothing in SOURCE before its commit.
  const bool parts_links = target_ && has_links(*target_);
  // Programs that have the replaced file open can still change it. While it stays in SOURCE, that
  // would look like another program's change.
  const bool is_open = target_ && names_.is_open(target_->node);
  // In these cases the file is committed first, and then moved as a stored file. For example,
  // "mv new log" over log.b2frame takes the full name log.b2frame, and hides the old file until the
  // commit: this needs no commit first. "mv new t.npy" over t.b2nd takes t.npy.b2frame, and both
  // files would be shown.
  if (target_ && !target_->is_pending && (!shadows || parts_links || is_open))
    return services_.commit(names_.work(), source_.node);
  std::optional<frame::FileStamp> replaces;
  if (shadows)
    replaces =
        target_->is_pending ? target_->replaces : frame::stamp_of(target_->entry.content_stat);
  std::shared_ptr<const SourceObject> remains = target_ ? removal_.keep(*target_) : nullptr;
  // The file always gets another temporary's name, even in the same directory: this rename updates
  // the directory's times.
  const std::string temporary = frame::temporary_name();
  from_.rename_to_free(names_.change(), source_.stored_name, to_, temporary);
  if (target_ && target_->is_pending) removal_.remove_stored(*target_, to_, target_->stored_name);
  if (target_) removal_.remove_name(*target_, std::move(remains));
  if (target_ && !shadows) removal_.remove_replaced(*target_, to_);
  removal_.remove_replaced(source_, from_);
  names_.moved(source_, wanted_.to, temporary, TreeChanges::Wait{full_name, replaces});
  note_renamed(source_);
  return {};
}

Need Renaming::move_stored() {
  NamedObject* const old = target_ ? &*target_ : nullptr;
  const std::string full_name = target_name(source_, wanted_.to, wanted_.to_name, old);
  std::shared_ptr<const SourceObject> remains = target_ ? removal_.keep(*target_) : nullptr;
  Replacement replacement(names_, services_, {source_, from_, to_, wanted_.to_name, old});
  if (Need need = replacement.place(full_name)) return need;
  const std::string& placed_as = replacement.placed_as();
  replacement.remove_old();
  if (target_) removal_.remove_name(*target_, std::move(remains));
  names_.moved(source_, wanted_.to, placed_as);
  if (placed_as != full_name) outcome_.own_name = {full_name, identity_of(source_.entry.own_stat)};
  note_renamed(source_);
  return {};
}

ExchangeNames Renaming::choose_exchange_names() {
  ExchangeNames chosen{
      identity_of(source_.entry.own_stat), identity_of(target_->entry.own_stat), {}, {}};
  const auto choose = [&](const NamedObject& object, NodeId directory, const std::string& name,
                          const NamedObject& replaced) {
    std::string full_name = target_name(object, directory, name, &replaced);
    after_change_.arrived.push_back({directory, full_name, object.entry.shown});
    return full_name;
  };
  const auto choose_for_target = [&] {
    chosen.target_gets = choose(*target_, wanted_.from, wanted_.from_name, source_);
  };
  // One object may want the full name that the other must have. An object that is shown as itself
  // has no choice, so its name is chosen first.
  const bool target_is_first = target_->entry.shown == ShownAs::itself;
  if (target_is_first) choose_for_target();
  chosen.source_gets = choose(source_, wanted_.to, wanted_.to_name, *target_);
  if (!target_is_first) choose_for_target();
  return chosen;
}

bool Renaming::are_still_valid(const ExchangeNames& chosen) {
  return chosen.source == identity_of(source_.entry.own_stat) &&
         chosen.target == identity_of(target_->entry.own_stat) &&
         names_.fits(wanted_.to, wanted_.to_name, chosen.source_gets, source_.entry.shown,
                     after_change_) &&
         names_.fits(wanted_.from, wanted_.from_name, chosen.target_gets, target_->entry.shown,
                     after_change_);
}

Need Renaming::exchange() {
  if (becomes_flat_as(*target_, wanted_.from_name))
    return services_.force_flat(names_.work(), target_->node);
  // Commits pending files first. SOURCE then has both files under their own names, and one system
  // call exchanges them.
  for (const NamedObject* object : {&source_, &*target_})
    if (object->is_pending) return services_.commit(names_.work(), object->node);
  if (!exchange_names_ || !are_still_valid(*exchange_names_))
    exchange_names_ = choose_exchange_names();
  // Each object is first renamed to the full name that the other one is to get, if it can have it.
  const std::string& source_name = exchange_names_->source_gets;
  const std::string& old_name = exchange_names_->target_gets;
  if (Need need = rename_to_replacement_name(names_, services_, *target_, to_, wanted_.to_name,
                                             source_name))
    return need;
  if (Need need = rename_to_replacement_name(names_, services_, source_, from_, wanted_.from_name,
                                             old_name))
    return need;
  if (Need need = before_exchanging(source_, to_, target_->stored_name, source_name)) return need;
  if (Need need = before_exchanging(*target_, from_, source_.stored_name, old_name)) return need;
  // If an object cannot keep the full name that the exchange gives it, finish_exchange() renames it
  // once more. Both files are complete after each step.
  from_.exchange(names_.change(), source_.stored_name, to_, target_->stored_name);
  exchange_sidecars(names_.change(), from_, source_.stored_name, source_.entry, to_,
                    target_->stored_name, target_->entry);
  finish_exchange(source_, to_, wanted_.to, target_->stored_name, source_name);
  finish_exchange(*target_, from_, wanted_.from, source_.stored_name, old_name);
  return {};
}

/// Called before the object gets the other file's stored name, and from that its full name.
Need Renaming::before_exchanging(const NamedObject& object, const SourceDirectory& directory,
                                 const std::string& stored_name, const std::string& full_name) {
  for (const std::string& name : {stored_name, full_name})
    if (Need need = services_.unsynced_names.before_taking(names_.work(), directory, name,
                                                           object.entry.shown))
      return need;
  return {};
}

void Renaming::finish_exchange(const NamedObject& object, const SourceDirectory& directory,
                               NodeId directory_node, const std::string& stored_name,
                               const std::string& full_name) {
  // The exchange has left the file under the stored name of the other file. The suffix of that name
  // may not suit this kind of file.
  if (stored_name != full_name) {
    directory.rename_to_free(names_.change(), stored_name, directory, full_name);
    if (may_have_sidecar(object.entry))
      carry_sidecar(names_.change(), directory, stored_name, directory, full_name);
  }
  names_.moved(object, directory_node, full_name);
  services_.unsynced_names.note_exchanged(directory, full_name, object.entry.shown);
  note_renamed(object);
}

}  // namespace bloscfs::fs
