#include "fs/source/local/names/namespace.hpp"

#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>

#include "frame/store/sframe_names.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/local/names/new_temporary.hpp"
#include "fs/source/local/names/removal.hpp"
#include "fs/source/local/names/renaming.hpp"
#include "fs/source/local/names/replacement.hpp"
#include "fs/source/local/tree/node_table.hpp"
#include "fs/support/log.hpp"
#include "fs/support/timestamps.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;

constexpr mode_t kPermissions = 07777;

/// `extra` are mode bits that the object gets in addition to those of `wanted`.
void set_owner_and_mode(const Change& change, const SourceObject& object,
                        const NewAttributes& wanted, mode_t extra) {
  if (wanted.owner || wanted.group)
    object.set_owner(change, wanted.owner.value_or(kUnchangedOwner),
                     wanted.group.value_or(static_cast<gid_t>(-1)));
  if (wanted.mode) object.set_mode(change, (*wanted.mode & kPermissions) | extra);
}

}  // namespace

void Namespace::check_name(NodeId directory, const std::string& name) const {
  if (tree_.is_part(directory) || tree_.is_store(directory)) throw_errno(EROFS, name);
  if (tree_.is_virtual(directory)) throw_errno(EPERM, name);
  if (name.size() > NAME_MAX) throw_errno(ENAMETOOLONG, name);
}

FoundNode Namespace::found(const Change& change, NodeId node) {
  try {
    return {node, tree_.attributes(change, node)};
  } catch (const std::exception&) {
    // The kernel gets an error and not the node, so it holds no reference to the node.
    tree_.forget(node, 1);
    throw;
  }
}

FoundNode Namespace::make_entry(Request& request, NodeId directory, const std::string& name,
                                const MakeEntry& make) {
  check_name(directory, name);
  NodeId made = 0;
  NamesWork work(request);
  work.run([&]() -> Need {
    TreeChanges names(work, tree_, ChangedBy::caller);
    if (!names.fits(directory, name, name, ShownAs::itself, {})) throw_errno(EEXIST, name);
    const SourceDirectory in = names.directory(directory);
    // After a power cut, a given-up full name with the same shown name must not come back next to
    // this one.
    if (Need need = services_.unsynced_names.before_taking(work, in, name, ShownAs::itself))
      return need;
    make(names.change(), in);
    made = names.entered(directory, name);
    return {};
  });
  return found(Change(request), made);
}

FoundNode Namespace::make_directory(Request& request, NodeId directory, const std::string& name,
                                    mode_t mode) {
  return make_entry(request, directory, name, [&](const Change& change, const SourceDirectory& in) {
    in.make_directory(change, name, mode & kPermissions);
  });
}

FoundNode Namespace::make_symlink(Request& request, NodeId directory, const std::string& name,
                                  const std::string& target) {
  return make_entry(request, directory, name, [&](const Change& change, const SourceDirectory& in) {
    in.make_symlink(change, name, target);
  });
}

FoundNode Namespace::make_special(Request& request, NodeId directory, const std::string& name,
                                  mode_t mode, dev_t device) {
  if (S_ISREG(mode)) return create_file(request, directory, name, mode);
  return make_entry(request, directory, name, [&](const Change& change, const SourceDirectory& in) {
    in.make_special(change, name, mode, device);
  });
}

FoundNode Namespace::create_file(Request& request, NodeId directory, const std::string& name,
                                 mode_t mode) {
  check_name(directory, name);
  services_.columns.require_changeable(root_, join_path(tree_.path(directory).text(), name));
  // Until its first commit a new file has a temporary's name, so that SOURCE contains it complete
  // or not at all.
  std::optional<NewTemporary> file;
  std::uint32_t counted = 0;
  std::string full_name;
  const auto choose = [&](TreeLooks& names) {
    const std::uint32_t count = tree_.name_changes(directory);
    full_name = choose_name(names, directory, name, ShownAs::flat, {}, services_.policy, {});
    if (full_name.empty()) throw_errno(EEXIST, name);
    counted = count;  // not reached if choose_name() throws: belongs to full_name
  };
  const auto make_in = [&](const SourceDirectory& in) {
    file.emplace(Change(request), in, mode & kPermissions);
  };
  // Makes the file without the exclusive lock on names. This is the longest step, above all where
  // many programs make files.
  NamesWork work(request);
  make_in(work.run([&] {
    ReadTree names(work, tree_);
    choose(names);
    return names.directory(directory);
  }));
  NodeId made = 0;
  work.run([&]() -> Need {
    // The daemon's rights are needed only to remove the file if contents.created() fails.
    TreeChanges names(work, tree_, ChangedBy::daemon);
    if (tree_.name_changes(directory) != counted) choose(names);
    // The directory may have been removed, or another may have taken its path, since the file was
    // made. Then the file is made once more.
    if (const SourceDirectory in = names.directory(directory); !file->is_in(in))
      if (Need need = work.without_lock([make_in, in] { make_in(in); })) return need;
    const Change change = names.change();
    made = names.entered_pending(directory, file->name(), full_name, file->stat(), file->object());
    file->keep();
    try {
      services_.contents.created(change, made, tree_.owned(file->stat()));
    } catch (const std::exception&) {
      // Removes both the file and its node: a name without a content could not be opened.
      Removal(names, services_).remove(names.object(made).value());
      tree_.forget(made, 1);
      throw;
    }
    return {};
  });
  return {made, tree_.owned(file->stat())};
}

FoundNode Namespace::make_link(Request& request, NodeId node, NodeId directory,
                               const std::string& name) {
  if (tree_.is_part(node)) throw_errno(EROFS, name);
  check_name(directory, name);
  bool is_committed = false;
  NodeId made = 0;
  NamesWork work(request);
  work.run([&] {
    TreeChanges names(work, tree_, ChangedBy::caller);
    const auto object = names.object(node);
    if (!object) throw_errno(ENOENT, name);
    if (object->entry.is_sframe() || object->is_directory()) throw_errno(EPERM, name);
    // A hard link needs a committed file. Once a file has links, no other file can replace it. So
    // changes that need a new file are committed first: those that turn an array into a flat frame,
    // or change the metalayers in a header.
    if (object->is_pending || (object->entry.is_container() && !is_committed)) {
      is_committed = true;
      return services_.commit(work, node);
    }
    if (becomes_flat_as(*object, name)) return services_.force_flat(work, node);
    return link(names, *object, directory, name, made);
  });
  return found(Change(request), made);
}

Need Namespace::link(TreeChanges& names, const NamedObject& object, NodeId directory,
                     const std::string& name, NodeId& made) {
  const ShownAs shown = object.entry.shown;
  std::string full_name = name;
  if (shown != ShownAs::itself)
    full_name = choose_name(names, directory, name, shown, object.full_name, services_.policy, {});
  else if (names.makes_frame(object, name) || !names.fits(directory, name, name, shown, {}))
    full_name.clear();
  if (full_name.empty()) throw_errno(EEXIST, name);
  const SourceDirectory in = names.directory(directory);
  if (Need need = services_.unsynced_names.before_taking(names.work(), in, full_name, shown))
    return need;
  const SourceDirectory from = names.directory(object.directory_path);
  in.make_link(names.change(), full_name, from, object.stored_name);
  names.touched(object);
  names.changed_by_user(object.node);
  made = names.entered(directory, full_name);
  return {};
}

/// True if the content of a renamed file must check its representation: if the file is open, or is
/// not stored as its new name demands. Read-only containers, and files with hard links that are not
/// open, keep their representation.
bool Namespace::must_change_representation(Request& request, NodeId node) {
  const auto home = this->home(node);
  const bool has_links = home->place_now(request).has_links;
  const bool can_be_array = home->has_array_name(request);
  const bool is_open = tree_.opened_as<OpenContainer>(node) != nullptr;
  const SourceEntry entry = tree_.entry(request, node);
  const bool fits = has_links || (entry.shown == ShownAs::array) == can_be_array;
  return !entry.is_read_only && (is_open || !fits);
}

void Namespace::notify_renamed(Request& request, const std::vector<NodeId>& nodes) {
  for (const NodeId node : nodes) {
    try {
      if (must_change_representation(request, node))
        services_.contents.update_representation(request, node);
    } catch (const std::exception& error) {
      // The rename has happened, and the file shows the same bytes in either representation.
      log::warn(
          fmt::format("{}: renamed, but not converted for the new suffix: {}; write the file again "
                      "to convert it",
                      tree_.display_path(node), error.what()));
    }
  }
}

void Namespace::remove_file(Request& request, NodeId directory, const std::string& name) {
  check_name(directory, name);
  // The contents are notified after the lock on names is released: an orphan may have much to free.
  std::vector<NodeId> ended;
  NamesWork work(request);
  work.run([&]() -> Need {
    TreeChanges names(work, tree_, ChangedBy::caller);
    const NamedObject object = find_to_change(names, directory, name);
    if (object.is_directory()) throw_errno(EISDIR, name);
    if (Need need = services_.unsynced_names.before_giving_up(work)) return need;
    Removal removal(names, services_);
    if (Need need = removal.commit_for_links(object)) return need;
    removal.remove(object);
    ended = removal.ended();
    return {};
  });
  services_.notify_removed(ended);
}

void Namespace::remove_directory(Request& request, NodeId directory, const std::string& name) {
  check_name(directory, name);
  NamesWork work(request);
  work.run([&]() -> Need {
    TreeChanges names(work, tree_, ChangedBy::caller);
    const NamedObject object = find_to_change(names, directory, name);
    if (!object.is_directory()) throw_errno(ENOTDIR, name);
    if (Need need = services_.unsynced_names.before_giving_up(work)) return need;
    Removal removal(names, services_);
    if (object.entry.is_store())
      removal.remove(object);
    else
      removal.remove_directory(object);
    return {};
  });
}

void Namespace::rename(Request& request, NodeId from, const std::string& from_name, NodeId to,
                       const std::string& to_name, unsigned flags) {
  check_name(from, from_name);
  check_name(to, to_name);
  if (flags != 0 && flags != RENAME_NOREPLACE && flags != RENAME_EXCHANGE)
    throw_errno(EINVAL, from_name);
  const WantedRename wanted{from, from_name, to, to_name, flags};
  Renaming::Outcome outcome;
  {
    std::optional<ExchangeNames> exchange_names;
    NamesWork work(request);  // while it lives, arrays that the rename made flat stay flat
    work.run([&] {
      TreeChanges names(work, tree_, ChangedBy::caller);
      return Renaming(names, services_, wanted, exchange_names).run(outcome);
    });
    if (outcome.own_name) give_final_name(work, wanted, *outcome.own_name);
  }
  services_.notify_removed(outcome.ended);
  notify_renamed(Change(request), outcome.renamed);
}

/// Renames an object from its interim name to its own full name. If that fails, the object keeps
/// the interim name, under which it is shown the same.
void Namespace::give_final_name(NamesWork& work, const WantedRename& wanted,
                                const Renaming::FinalName& own) {
  try {
    work.run([&]() -> Need {
      TreeChanges names(work, tree_, ChangedBy::caller);
      const auto object = names.find(wanted.to, wanted.to_name);
      if (!object) return {};
      bool is_ours = true;
      return take_final_name(names, services_, *object, own.object, wanted.to_name, own.full_name,
                             is_ours);
    });
  } catch (const std::system_error& error) {
    log::warn(fmt::format(
        "{}: cannot rename the temporary file in SOURCE: {}; rename it in the mount to try again",
        join_path(tree_.display_path(wanted.to), wanted.to_name), error.what()));
  }
}

/// Sets the attributes of the chunk files of a sparse frame, and of its directory.
void Namespace::set_frame_attributes(const Change& change, const SourceDirectory& frame,
                                     const struct stat& index, const NewAttributes& wanted) const {
  NewAttributes inside = wanted;
  if (inside.mode) inside.mode = *inside.mode & 0777;
  const SourceRoot files(frame.open(".", O_PATH));
  for (const SourceRoot::Entry& entry : files.list({})) {
    const auto file = frame::chunk_file_number(entry.name) ? files.find_any(entry.name) : nullptr;
    if (!file) continue;  // the entry is no chunk file, or a commit has removed it
    const struct stat st = file->stat();
    // Skips objects that another user may have put there.
    if (S_ISREG(st.st_mode) && st.st_nlink == 1 && st.st_uid == index.st_uid)
      set_owner_and_mode(change, *file, inside, 0);
  }
  // A user who may read the frame may search its directory. The owner has all rights to it. For
  // example, 0640 for the chunk files gives 0750 for the directory.
  const SourceObject directory = frame.object(".");
  const mode_t search = (inside.mode.value_or(0) & 0444) >> 2;
  const mode_t inherited = directory.stat().st_mode & S_ISGID;
  set_owner_and_mode(change, directory, inside, search | S_IRWXU | inherited);
}

/// Returns true if the node's open content stores the times itself.
bool Namespace::set_content_times(Request& request, NodeId node, const NewAttributes& wanted) {
  if (node == kRootId || !tree_.opened(node)) return false;
  struct stat now {};
  if (!wanted.accessed || !wanted.modified) now = tree_.attributes(request, node);
  return services_.contents.set_times(request, node, wanted.accessed.value_or(now.st_atim),
                                      wanted.modified.value_or(now.st_mtim));
}

void Namespace::set_attributes(Request& request, NodeId node, const NewAttributes& wanted,
                               ChangedBy who) {
  const bool sets_times = wanted.accessed || wanted.modified;
  const bool sets_others = wanted.owner || wanted.group || wanted.mode;
  const bool are_set = sets_times && set_content_times(request, node, wanted);
  if ((!sets_times || are_set) && !sets_others) return;
  // If two chmod(2) calls on one sparse frame ran at the same time, its files could end up with
  // different modes.
  const KeyedMutex::Lock lock(request, frames_, node);
  std::optional<SourceDirectory> frame;
  struct stat index {};
  change(request, node, who,
         [&](const Change& made, const SourceObject& object, const NamedObject* named) {
           if (sets_others && named != nullptr && named->entry.is_sframe()) {
             frame.emplace(root_.directory(named->path()));
             index = object.stat();
           }
           set_owner_and_mode(made, object, wanted, 0);
           if (!sets_times || are_set) return;
           const auto set = [&] {
             object.set_times(made, wanted.accessed.value_or(kUnchangedTime),
                              wanted.modified.value_or(kUnchangedTime));
           };
           // The open snapshot must not take the new times for another program's change.
           const auto file = tree_.opened_as<OpenContainer>(node);
           const auto snapshot = file ? file->content->snapshot() : nullptr;
           snapshot ? snapshot->change_times(set) : set();
         });
  if (!frame) return;
  // Without the lock on names: a frame may have millions of chunk files.
  set_frame_attributes(who == ChangedBy::daemon ? Change::by_daemon(request) : Change(request),
                       *frame, index, wanted);
}

void Namespace::change(Request& request, NodeId node, ChangedBy who, const ChangeObject& make) {
  if (tree_.is_virtual(node)) throw_errno(EPERM, "root of a mount of one container");
  NamesWork work(request);
  work.run([&]() -> Need {
    TreeChanges names(work, tree_, who);
    if (node == kRootId) {
      make(names.change(), root_.object({}), nullptr);
      return {};
    }
    if (!tree_.has_name(node)) {
      make(names.change(), *names.remains(node), nullptr);
    } else {
      const auto object = names.object(node);
      if (!object) throw_stale(node);
      const auto kept = Removal(names, services_).keep(*object);
      make(names.change(), *kept, &*object);
      names.touched(*object);
    }
    names.changed_by_user(node);
    return {};
  });
}

void Namespace::sync_directory(Request& request, NodeId directory) {
  if (tree_.is_part(directory) || tree_.is_store(directory) || tree_.is_virtual(directory)) return;
  request.need_slot();
  std::vector<NodeId> pending;
  {
    NamesWork work(request);
    const TreeChanges names(work, tree_, ChangedBy::daemon);
    // A directory that was removed while it was open has no entries.
    if (!tree_.has_name(directory)) return;
    pending = names.pending_in(directory);
  }
  // Commits the files first, which gives them their names, and then flushes the directory that
  // contains the names.
  if (!pending.empty()) services_.contents.commit(request, pending);
  root_.directory(tree_.path(directory)).sync();
}

std::shared_ptr<ContentHome> Namespace::home(NodeId node) {
  return std::make_shared<NodeHome>(services_, node);
}

}  // namespace bloscfs::fs
