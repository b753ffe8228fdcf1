// Changes of names and attributes in a SOURCE of objects.

#include <cerrno>
#include <climits>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

#include "frame/store/refusal.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/contents.hpp"
#include "fs/source/objects/logged_failures.hpp"
#include "fs/source/objects/remote_source.hpp"
#include "fs/support/relative_path.hpp"
#include "fs/support/timestamps.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;
using Kind = ObjectLook::Kind;

constexpr unsigned kNoReplace = 1;  // RENAME_NOREPLACE

/// Throws ENAMETOOLONG, or EPERM for a name that is reserved for this program's own objects.
void require_name(const std::string& name, const std::string& full_name) {
  if (full_name.size() > NAME_MAX) throw_errno(ENAMETOOLONG, name);
  if (name.starts_with(".bloscfs-")) throw_errno(EPERM, name);
}

void set_time(timespec& time, const std::optional<timespec>& wanted) {
  if (wanted) time = wanted->tv_nsec == UTIME_NOW ? now() : *wanted;
}

}  // namespace

// --- checks and base states of changes

void RemoteSource::require_writable(const std::string& name) const {
  if (!writable_) throw_errno(EROFS, name);
}

bool RemoteSource::is_changeable(const Node& node) const {
  return objects_.tree().is_writable() && !node.part && node.look->kind == Kind::sframe;
}

/// Returns the node. Throws EROFS unless it is a sparse frame of a store that can be written.
RemoteSource::Node RemoteSource::require_changeable(NodeId id) {
  Node found = nodes_.get(id);
  if (!is_changeable(found)) throw_errno(EROFS, display_path(id));
  return found;
}

/// Throws ESTALE unless the node stands for the present state in the object store. The fewer
/// commits start from an outdated state, the fewer conflicts arise.
void RemoteSource::require_present(Request& request, const Node& node) {
  if (node.is_new) return;
  if (objects_.frames().is_overtaken(node.path)) throw_errno(ESTALE, node.path);
  const auto file = node.open_file.lock();
  if (file && file->content->is_authoritative()) return;
  LookPointer present = objects_.looks().just_stored(node.path);
  if (!present) present = objects_.looks().look_uncached(request, node.path, true);
  if (!node.is_own(*present, objects_.frames().own_state(node.path)))
    throw_errno(ESTALE, node.path);
}

RemoteSource::Node RemoteSource::writable_directory(Request& request, NodeId id,
                                                    const std::string& name) const {
  require_writable(name);
  request.need_slot();
  Node found = directory(id);
  if (found.is_in_archive()) throw_errno(EROFS, found.path);
  if (objects_.tree().single()) throw_errno(EPERM, "another file beside a single one");
  return found;
}

/// Returns the state that a change of the node starts from: what this mount has committed there
/// last, or else the state in which the node was looked up.
frame::ObjectState RemoteSource::base_of(NodeId id, const Node& node) const {
  const auto own = nodes_.owns_path(id) ? objects_.frames().own_state(node.path) : std::nullopt;
  return own.value_or(node.look->state);
}

/// Calls `change` with the state to change, and returns its result. Retries if a commit of this
/// mount came in between. Throws ESTALE if the object store has another state. The node cannot take
/// that state over, because the kernel keeps pages and a size of the node. After ESTALE the kernel
/// looks the name up again, finds a new node, and tries once more.
template <typename Work>
auto RemoteSource::change_state(NodeId id, const Node& node, const Work& change) {
  for (frame::ObjectState base = base_of(id, node);;) {
    try {
      return change(base);
    } catch (const std::system_error& error) {
      if (error.code() != std::errc(ESTALE)) throw;
      const frame::ObjectState present = base_of(id, nodes_.get(id));
      if (present.same_bytes(base)) {
        objects_.forget(node.path);
        throw;
      }
      base = present;  // a commit of this mount came in between
    }
  }
}

/// Returns the look at what is at `path` after a change from `base` to `state`, which have the same
/// contents. Caches it only if the node's look is that of `base`: it may be that of an earlier
/// commit.
LookPointer RemoteSource::look_of_change(const std::string& path, const Node& node,
                                         const frame::ObjectState& base,
                                         const frame::ObjectState& state) {
  if (base.same_bytes(node.look->state)) return objects_.looks().stored(path, *node.look, state);
  objects_.looks().forget(path);
  return with_state(*node.look, state);
}

// --- new names

/// Throws EEXIST if the name is taken, ENAMETOOLONG or EPERM if no file can have it.
void RemoteSource::require_free(Request& request, NodeId directory, const std::string& name,
                                const std::string& full_name) {
  require_name(name, full_name);
  if (find_held(request, directory, name)) throw_errno(EEXIST, name);
}

/// Makes a file that the object store has only after the first commit of its content.
FoundNode RemoteSource::create_file(Request& request, NodeId directory, const std::string& name,
                                    mode_t mode) {
  const Node in = writable_directory(request, directory, name);
  const std::string full_name = name + services_.content.options.suffix;
  require_free(request, directory, name, full_name);
  // From here on the request must not be served again: it would find its own file.
  const Change change(request);
  Node made;
  made.parent = directory;
  made.path = path_in(in.path, full_name);
  made.shown_name = name;
  made.is_new = true;
  made.owner.owner = request.caller()->user;
  made.owner.group = request.caller()->group;
  made.owner.mode = mode & ~request.caller()->umask & 0777;
  made.owner.modified = made.owner.accessed = now();
  ObjectLook look;
  look.kind = Kind::sframe;
  look.shown = ShownAs::flat;
  made.look = std::make_shared<const ObjectLook>(std::move(look));
  made.references = 1;
  FoundNode found;
  found.attributes = status(made);
  found.id = nodes_.add_new(made);
  objects_.frames().plan(made.path, made.owner);
  try {
    services_.contents.created(change, found.id, found.attributes);
  } catch (...) {
    forget(found.id, 1);
    throw;
  }
  return found;
}

FoundNode RemoteSource::make_directory(Request& request, NodeId directory, const std::string& name,
                                       mode_t) {
  const Node in = writable_directory(request, directory, name);
  require_free(request, directory, name, name);
  const Change change(request);
  objects_.make_directory(change, path_in(in.path, name));
  const auto found = lookup(request, directory, name);
  if (!found) throw_errno(EIO, name);
  return *found;
}

FoundNode RemoteSource::make_symlink(Request&, NodeId, const std::string& name,
                                     const std::string&) {
  require_writable(name);
  throw_errno(EPERM, name);
}

FoundNode RemoteSource::make_special(Request& request, NodeId directory, const std::string& name,
                                     mode_t mode, dev_t) {
  require_writable(name);
  if (!S_ISREG(mode)) throw_errno(EPERM, name);
  const FoundNode made = create_file(request, directory, name, mode);
  if (const auto file = opened(made.id)) services_.contents.changed(file, {});
  return made;
}

FoundNode RemoteSource::make_link(Request&, NodeId, NodeId, const std::string& name) {
  require_writable(name);
  throw_errno(EPERM, name);
}

// --- removing and renaming

/// Looks the name up, and keeps the node as long as the result lives.
std::optional<RemoteSource::Held> RemoteSource::find_held(Request& request, NodeId directory,
                                                          const std::string& name) {
  const auto found = lookup(request, directory, name);
  if (!found) return std::nullopt;
  std::shared_ptr<void> reference(nullptr, [this, id = found->id](void*) { forget(id, 1); });
  return Held{found->id, nodes_.get(found->id), std::move(reference)};
}

RemoteSource::Held RemoteSource::find_to_change(Request& request, NodeId directory,
                                                const std::string& name) {
  auto found = find_held(request, directory, name);
  if (!found) throw_errno(ENOENT, name);
  return *std::move(found);
}

/// Removes a new file that the object store may already have, because a commit is under way or its
/// outcome is unknown. Commits first to find out, so that nothing stays in the object store or
/// arrives there later.
void RemoteSource::remove_sent(const Change& change, NodeId id) {
  try {
    services_.contents.commit(change, {id});
  } catch (const std::system_error& error) {
    // After these errors the outcome of the commit is unknown. After all others the object store
    // has nothing of the commit.
    if (frame::is_one_of(error.code(),
                         {std::errc::io_error, std::errc::timed_out,
                          std::errc::resource_unavailable_try_again, std::errc(ESTALE)}))
      throw;
  }
  const Node node = nodes_.get(id);
  auto sent = objects_.frames().confirmed_own_state(node.path);
  if (!sent && !node.is_new) sent = node.look->state;
  if (!sent) return;
  try {
    objects_.remove_frame(change, node.path, *sent, node.open_file);
  } catch (const std::system_error& error) {
    if (!is_absent(error)) throw;
  }
}

void RemoteSource::remove_file(Request& request, NodeId directory, const std::string& name) {
  writable_directory(request, directory, name);
  const Held held = find_to_change(request, directory, name);
  const Node& found = held.node;
  if (found.look->is_directory()) throw_errno(EISDIR, name);
  const Change change(request);
  if (!found.is_new || !nodes_.mark_removed_if_unsent(held.id)) {
    if (found.is_new) {
      remove_sent(change, held.id);
    } else if (found.look->kind == Kind::sframe) {
      change_state(held.id, found, [&](const frame::ObjectState& base) {
        objects_.remove_frame(change, found.path, base, found.open_file);
        return nullptr;
      });
    } else {
      objects_.remove_object(change, found.path);
    }
    nodes_.mark_removed(held.id);
  }
  services_.contents.removed(found.open_file.lock(), [] { return false; });
}

void RemoteSource::remove_directory(Request& request, NodeId directory, const std::string& name) {
  writable_directory(request, directory, name);
  const Held held = find_to_change(request, directory, name);
  const Node& found = held.node;
  if (!found.look->is_directory()) throw_errno(ENOTDIR, name);
  if (found.look->is_store()) throw_errno(EROFS, name);
  objects_.forget_listing(found.path);
  if (!list(request, held.id, [] { return true; }).value().empty()) throw_errno(ENOTEMPTY, name);
  const Change change(request);
  objects_.remove_directory(request, change, found.path);
}

/// Returns the full name of a sparse frame that is to be shown as `name`. Throws EXDEV if the
/// caller must copy the bytes instead.
std::string RemoteSource::full_name_for(const Node& node, const std::string& name) const {
  if (node.look->shown != ShownAs::array) return name + std::string(kFlatSuffix);
  // An array can only be shown as NAME.npy.
  if (!name.ends_with(kNpySuffix)) throw_errno(EXDEV, name);
  return name.substr(0, name.size() - kNpySuffix.size()) + std::string(kArraySuffix);
}

void RemoteSource::rename(Request& request, NodeId from, const std::string& from_name, NodeId to,
                          const std::string& to_name, unsigned flags) {
  require_writable(from_name);
  if ((flags & ~kNoReplace) != 0) throw_errno(EINVAL, from_name);
  request.need_slot();
  // A rename copies the stored frame, so the changes are stored first.
  if (const auto uncommitted = find_held(request, from, from_name))
    services_.contents.commit(request, {uncommitted->id});
  writable_directory(request, from, from_name);
  const Node target_directory = writable_directory(request, to, to_name);
  const Held held = find_to_change(request, from, from_name);
  const Node& found = held.node;
  if (found.look->kind != Kind::sframe || found.is_new) throw_errno(EXDEV, from_name);
  const std::string full_name = full_name_for(found, to_name);
  require_name(to_name, full_name);
  const auto old = find_held(request, to, to_name);
  if (old) {
    if (old->id == held.id) return;
    if ((flags & kNoReplace) != 0) throw_errno(EEXIST, to_name);
    if (old->node.look->is_directory()) throw_errno(EISDIR, to_name);
    // Both entries would have the same shown name for a moment.
    if (old->node.is_new || old->node.look->kind != Kind::sframe) throw_errno(EXDEV, to_name);
  }
  const auto replaced = old ? old->node.open_file.lock() : nullptr;
  const Change change(request);
  const std::string path = path_in(target_directory.path, full_name);
  const bool replaces_frame = old && old->node.path == path;
  const auto gives_way =
      replaces_frame
          ? std::optional(Objects::Replaced{base_of(old->id, old->node), old->node.open_file})
          : std::nullopt;
  const LookPointer look = change_state(held.id, found, [&](const frame::ObjectState& base) {
    return look_of_change(
        path, found, base,
        objects_.rename_frame(request, change, found.path, base, found.open_file, path, gives_way));
  });
  if (old && !replaces_frame)
    objects_.remove_frame(change, old->node.path, base_of(old->id, old->node), old->node.open_file);
  // Handles of the replaced file keep it open, like those of a removed file.
  if (old) nodes_.mark_removed(old->id);
  nodes_.renamed(held.id, path, to, to_name, look);
  services_.contents.removed(replaced, [] { return false; });
}

void RemoteSource::sync_directory(Request& request, NodeId) {
  if (!writable_) return;
  request.need_slot();
  services_.committer.commit_all();
}

// --- attributes

void RemoteSource::set_attributes(Request& request, NodeId id, NewAttributes wanted) {
  require_writable("set attributes");
  const bool sets_times = wanted.accessed || wanted.modified;
  const bool sets_owner =
      wanted.mode || wanted.group || (wanted.owner && *wanted.owner != kUnchangedOwner);
  if (!sets_times && !sets_owner) return;
  // Directories cannot store attributes. Succeed all the same, for programs that copy trees.
  if (const Node node = nodes_.get(id); !node.part && node.look->kind == Kind::directory) return;
  request.need_slot();
  const Node node = require_changeable(id);
  const auto file = node.open_file.lock();
  if (sets_times && file && file->content->is_writable()) {
    timespec accessed = file->attributes.st_atim, modified = now();
    set_time(accessed, wanted.accessed);
    set_time(modified, wanted.modified);
    file->content->set_times(request, accessed, modified);
    // The pending commit stores the times.
    if (!sets_owner && file->content->needs_commit()) return;
  }
  frame::ObjectFrames& frames = objects_.frames();
  frame::FileAttributes attributes = node.is_new ? node.owner : frames.attributes(node.path);
  if (wanted.mode) attributes.mode = *wanted.mode & 0777;
  if (wanted.owner && *wanted.owner != kUnchangedOwner) attributes.owner = *wanted.owner;
  if (wanted.group) attributes.group = *wanted.group;
  set_time(attributes.accessed, wanted.accessed);
  set_time(attributes.modified, wanted.modified);
  const Node found = nodes_.change(id, [&](Node& known) {
    if (known.is_new && !known.is_removed) known.owner = attributes;
    return known;
  });
  if (found.is_removed) return;
  if (found.is_new) return frames.set_owner(found.path, attributes);
  const Change change(request);
  nodes_.rekey(id, change_state(id, found, [&](const frame::ObjectState& base) {
                 return look_of_change(found.path, found, base,
                                       frames.set_attributes(found.path, attributes, base));
               }));
}

void RemoteSource::resize(Request& request, NodeId node, std::int64_t size) {
  require_writable("truncate");
  request.need_slot();
  require_changeable(node);
  services_.contents.resize(request, node, size);
}

}  // namespace bloscfs::fs
