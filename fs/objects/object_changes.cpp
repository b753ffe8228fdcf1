// What changes in a tree of objects: names, attributes, and which state a node stands for.

#include <algorithm>
#include <cerrno>
#include <climits>
#include <system_error>

#include "frame/sframe/shared_frames.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/objects/object_path.hpp"
#include "fs/objects/objects.hpp"
#include "fs/support/log.hpp"
#include "fs/support/turns.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;
using Kind = ObjectLook::Kind;

bool is_absent(const std::system_error& error) {
  return error.code() == std::errc::no_such_file_or_directory;
}

void require_name(const std::string& name, const std::string& full_name) {
  if (full_name.size() > NAME_MAX) throw_errno(ENAMETOOLONG, name);
  if (name.starts_with(".bloscfs-")) throw_errno(EPERM, name);
}

}  // namespace

// --- which state a node stands for

std::optional<Objects::Node> Objects::find_leading(const std::string& path) const {
  const MutexLock lock(mutex_);
  const auto leading = leading_.find(path);
  if (leading == leading_.end()) return std::nullopt;
  const Node& node = nodes_.at(leading->second);
  const auto file = node.open_file.lock();
  if (!file || node.is_removed || !file->content->leads() || frames_->is_overtaken(path))
    return std::nullopt;
  return node;
}

NodeId Objects::same_as(const Node& node, const std::optional<frame::ObjectState>& stored) {
  if (node.child) return 0;
  const auto leading = leading_.find(node.path);
  if (leading == leading_.end()) return 0;
  Node& known = nodes_.at(leading->second);
  if (known.look == node.look) return 0;  // found by that
  const frame::ObjectState& state = node.look->state;
  const bool is_own =
      (stored && stored->same_bytes(state)) || (known.outcome && known.outcome->same_bytes(state));
  if (is_own && !known.is_removed && !known.is_new) return leading->second;
  leading_.erase(leading);
  return 0;
}

/// Another node may have been found by the same look since.
void Objects::unmap(NodeId id, const Node& node) {
  const auto known = ids_.find(key_of(node));
  if (known != ids_.end() && known->second == id) ids_.erase(known);
}

void Objects::rekey(NodeId id, LookPointer look) {
  Node& node = nodes_.at(id);
  unmap(id, node);
  node.look = std::move(look);
  node.look_is_due = false;
  ids_[key_of(node)] = id;
}

void Objects::look_if_due(NodeId id) {
  const Node known = node(id);
  if (!known.look_is_due || known.child || !known.open_file.expired()) return;
  TurnAtNeed::need();
  LookPointer look = looks_.look(known.path, {true, std::nullopt, {}});
  const MutexLock lock(mutex_);
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) throw_stale(id);
  Node& node = found->second;
  if (!node.outcome || !node.outcome->same_bytes(look->state)) throw_errno(ESTALE, node.path);
  rekey(id, std::move(look));
}

void Objects::record_outcome(NodeId id) {
  std::string path;
  {
    const MutexLock lock(mutex_);
    const auto found = nodes_.find(id);
    if (found == nodes_.end()) return;
    path = found->second.path;
  }
  const auto stored = frames_->state(path);
  Node dropped;  // destroyed behind the lock
  const MutexLock lock(mutex_);
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) return;
  Node& node = found->second;
  if (stored && !stored->same_bytes(node.look->state)) {
    node.outcome = stored;
    node.look_is_due = true;
  }
  if (node.references > 0) return;
  // The kernel has forgotten it while it waited for a commit.
  unmap(id, node);
  leave_names(id, node);
  dropped = std::move(node);
  nodes_.erase(found);
}

bool Objects::has_gone(const std::string& path, bool is_directory) {
  if (!is_directory) return false;
  const LookPointer look = looks_.look(path, {true, std::nullopt, {}});
  if (look->kind == Kind::removed) return true;
  if (look->kind != Kind::directory) return false;
  // A directory is gone when nothing in it is shown, and its own key is not there.
  if (!listing(path)->entries().empty()) return false;
  try {
    tree_->open(path + "/", nullptr);
    return false;
  } catch (const std::system_error& error) {
    if (!is_absent(error)) throw;
    return true;
  }
}

/// A directory may be there for what is left of its files alone; the listing that it is in tells.
bool Objects::may_have_gone(const Node& node) {
  if (node.look->kind != Kind::directory) return false;
  try {
    return listing(node.path)->entries().empty();
  } catch (const std::system_error& error) {
    if (!is_absent(error)) throw;
    return true;
  }
}

// --- new files

std::optional<Tree::Found> Objects::find_new(const std::string& directory,
                                             const std::string& name) {
  NodeId id = 0;
  {
    const MutexLock lock(mutex_);
    const auto found = new_files_.find({directory, name});
    if (found == new_files_.end()) return std::nullopt;
    id = found->second;
  }
  return reference(id);
}

void Objects::add_new(const std::string& directory,
                      std::vector<Tree::DirectoryEntry>& entries) const {
  const MutexLock lock(mutex_);
  for (auto at = new_files_.lower_bound({directory, std::string()});
       at != new_files_.end() && at->first.first == directory; ++at) {
    const std::string& name = at->first.second;
    const bool is_listed = std::any_of(entries.begin(), entries.end(),
                                       [&](const auto& entry) { return entry.shown_name == name; });
    const std::string& path = nodes_.at(at->second).path;
    if (!is_listed) entries.push_back({name, name_of(path), S_IFREG, inode_of(path)});
  }
}

Objects::Node Objects::writable_directory(NodeId id) const {
  Node found = directory(id);
  if (!tree_->is_writable() || found.child || found.look->is_store())
    throw_errno(EROFS, found.path);
  if (tree_->single()) throw_errno(EPERM, "another file beside a single one");
  return found;
}

Tree::Found Objects::create(NodeId directory, const std::string& name,
                            const frame::FileAttributes& owner, const std::string& suffix) {
  const Node in = writable_directory(directory);
  const std::string full_name = name + suffix;
  require_name(name, full_name);
  if (const auto present = lookup(directory, name)) {
    forget(present->id, 1);
    throw_errno(EEXIST, name);
  }
  Node made;
  made.parent = directory;
  made.path = path_in(in.path, full_name);
  made.shown_name = name;
  made.is_new = true;
  made.owner = owner;
  ObjectLook look;
  look.kind = Kind::sframe;
  look.shown = ShownAs::flat;
  made.look = std::make_shared<const ObjectLook>(std::move(look));
  made.references = 1;
  const std::string path = made.path;
  Tree::Found found;
  {
    const MutexLock lock(mutex_);
    // Somebody else may have come first.
    if (!new_files_.try_emplace({in.path, name}, next_id_).second) throw_errno(EEXIST, name);
    found.id = next_id_++;
    ids_[key_of(made)] = found.id;
    leading_[path] = found.id;
    found.attributes = status(made);
    nodes_.emplace(found.id, std::move(made));
  }
  frames_->set_owner(path, owner);
  return found;
}

void Objects::set_opened(NodeId id, const std::shared_ptr<const OpenContainer>& file) {
  const MutexLock lock(mutex_);
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) throw_stale(id);
  found->second.open_file = file;
  leading_[found->second.path] = id;
}

std::shared_ptr<const OpenContainer> Objects::opened(NodeId id) {
  return node(id).open_file.lock();
}

void Objects::require_changeable(NodeId id) {
  const Node found = node(id);
  if (!tree_->is_writable() || found.child || found.look->kind != Kind::sframe)
    throw_errno(EROFS, found.path);
}

void Objects::require_present(NodeId id) {
  const Node found = node(id);
  if (found.is_new) return;
  if (frames_->is_overtaken(found.path)) throw_errno(ESTALE, found.path);
  const auto file = found.open_file.lock();
  if (file && file->content->leads()) return;
  const LookPointer look = looks_.look_anew(found.path, true);
  const auto stored = frames_->state(found.path);
  const bool is_own = (stored && stored->same_bytes(look->state)) ||
                      (found.outcome && found.outcome->same_bytes(look->state));
  if (look == found.look || look->state.same_bytes(found.look->state) || is_own) return;
  throw_errno(ESTALE, found.path);
}

// --- what homes ask

Objects::Stored Objects::stored(NodeId id) {
  const Node found = node(id);
  Stored stored;
  stored.directory = parent_of(found.path);
  stored.name = name_of(found.path);
  stored.is_new = found.is_new;
  stored.is_removed = found.is_removed;
  stored.is_array = found.look->shown == ShownAs::array;
  stored.shown_name =
      found.shown_name.empty() ? preferred_name(stored.name, found.look->shown) : found.shown_name;
  return stored;
}

bool Objects::is_taken(const std::string& directory, const std::string& full_name) {
  if (listing(directory)->find(full_name) == nullptr) return false;
  const auto known = looks_.known(path_in(directory, full_name));
  return !known || known->kind != Kind::removed;
}

void Objects::stored_as(NodeId id, const std::string& full_name) {
  std::string before, path;
  bool was_new = false;
  // Before it is no new file any more: it would be neither new nor listed for a moment.
  rewritten(id);
  forget_listing_of(node(id).path);
  {
    const MutexLock lock(mutex_);
    const auto found = nodes_.find(id);
    if (found == nodes_.end()) throw_stale(id);
    Node& node = found->second;
    before = node.path;
    path = path_in(parent_of(before), full_name);
    was_new = std::exchange(node.is_new, false);
    new_files_.erase({parent_of(before), node.shown_name});
    if (const auto leading = leading_.find(before);
        leading != leading_.end() && leading->second == id)
      leading_.erase(leading);
    node.path = path;
    leading_[path] = id;
  }
  rewritten(id);
  forget_listing_of(path);
  remove_marker(path);
  if (before != path && !was_new) remove_frame(before);
}

void Objects::rewritten(NodeId id) { looks_.forget(node(id).path); }

void Objects::given_up(NodeId id) {
  std::string path;
  {
    const MutexLock lock(mutex_);
    const auto found = nodes_.find(id);
    if (found == nodes_.end()) return;
    Node& node = found->second;
    path = node.path;
    leave_names(id, node);
  }
  frames_->forget_plan(path);
  looks_.forget(path);
  forget_listing_of(path);
}

void Objects::leave_names(NodeId id, Node& node) {
  node.is_removed = true;
  const auto made = new_files_.find({parent_of(node.path), node.shown_name});
  if (made != new_files_.end() && made->second == id) new_files_.erase(made);
  const auto leading = leading_.find(node.path);
  if (leading != leading_.end() && leading->second == id) leading_.erase(leading);
}

void Objects::forget_listing_of(const std::string& path) { listings_.forget(parent_of(path)); }

bool Objects::is_in_place(NodeId id) {
  const Node found = node(id);
  return !found.is_removed && !frames_->is_overtaken(found.path);
}

// --- names

Tree::Found Objects::make_directory(NodeId directory, const std::string& name) {
  const Node in = writable_directory(directory);
  require_name(name, name);
  if (const auto present = lookup(directory, name)) {
    forget(present->id, 1);
    throw_errno(EEXIST, name);
  }
  TurnAtNeed::need_no_more();
  const std::string path = path_in(in.path, name);
  try {
    tree_->put(path + "/", {}, {frame::ObjectCondition::Kind::absent, {}}, {});
  } catch (const std::system_error& error) {
    // What was left of one that was removed; or another host was first.
    if (error.code() != std::errc(ESTALE)) throw;
  }
  looks_.forget(path);
  remove_marker(path);
  forget_listing_of(path);
  auto found = lookup(directory, name);
  if (!found) throw_errno(EIO, name);
  return *std::move(found);
}

std::pair<NodeId, Objects::Node> Objects::find_to_change(NodeId directory,
                                                         const std::string& name) {
  const auto found = lookup(directory, name);
  if (!found) throw_errno(ENOENT, name);
  const std::shared_ptr<void> reference(nullptr, [&](void*) { forget(found->id, 1); });
  return {found->id, node(found->id)};
}

/// Best effort: where there is none, a frame that was removed is listed by others until `gc`.
void Objects::put_marker(const std::string& path) {
  tree_->put(path_in(parent_of(path), removal_marker(name_of(path))), {}, {}, {});
}

void Objects::remove_marker(const std::string& path) {
  const ListingPointer known = listings_.known(parent_of(path));
  if (known && !known->has_marker(name_of(path))) return;
  try {
    tree_->remove(path_in(parent_of(path), removal_marker(name_of(path))), {});
  } catch (const std::system_error&) {
    // Then the name is looked at whenever it is listed.
  }
}

void Objects::remove_frame(const std::string& path) {
  put_marker(path);
  for (const std::string& chunk : frame::remove_shared_frame(*frames_, path)) remove_later_(chunk);
  looks_.forget(path);
  forget_listing_of(path);
}

std::shared_ptr<const OpenContainer> Objects::remove_file(NodeId directory,
                                                          const std::string& name) {
  writable_directory(directory);
  const auto [id, found] = find_to_change(directory, name);
  if (found.look->is_directory()) throw_errno(EISDIR, name);
  TurnAtNeed::need_no_more();
  if (!found.is_new) {
    if (found.look->kind == Kind::sframe) {
      remove_frame(found.path);
    } else {
      tree_->remove(found.path, {});
      looks_.forget(found.path);
      forget_listing_of(found.path);
    }
  }
  const MutexLock lock(mutex_);
  const auto at = nodes_.find(id);
  if (at == nodes_.end()) return nullptr;
  leave_names(id, at->second);
  return at->second.open_file.lock();
}

void Objects::remove_directory(NodeId directory, const std::string& name) {
  writable_directory(directory);
  const auto [id, found] = find_to_change(directory, name);
  if (!found.look->is_directory()) throw_errno(ENOTDIR, name);
  if (found.look->is_store()) throw_errno(EROFS, name);
  listings_.forget(found.path);
  std::vector<Tree::DirectoryEntry> entries = list(id, [] {});
  if (!entries.empty()) throw_errno(ENOTEMPTY, name);
  TurnAtNeed::need_no_more();
  put_marker(found.path);
  try {
    tree_->remove(found.path + "/", {});
  } catch (const std::system_error& error) {
    if (!is_absent(error)) throw;
  }
  looks_.forget(found.path);
  listings_.forget(found.path);
  forget_listing_of(found.path);
}

void Objects::rename(NodeId from, const std::string& from_name, NodeId to,
                     const std::string& to_name, bool may_replace) {
  writable_directory(from);
  const Node target_directory = writable_directory(to);
  const auto [id, found] = find_to_change(from, from_name);
  if (found.look->is_directory()) throw_errno(EXDEV, from_name);
  if (found.look->kind != Kind::sframe || found.is_new) throw_errno(EXDEV, from_name);
  const bool is_array = found.look->shown == ShownAs::array;
  std::string full_name = to_name + std::string(kFlatSuffix);
  if (is_array) {
    // Of another name it would be another file: its bytes are copied then.
    if (!to_name.ends_with(kNpySuffix)) throw_errno(EXDEV, to_name);
    full_name = to_name.substr(0, to_name.size() - kNpySuffix.size()) + std::string(kArraySuffix);
  }
  require_name(to_name, full_name);
  std::string replaced;
  if (const auto present = lookup(to, to_name)) {
    const std::shared_ptr<void> reference(nullptr, [&](void*) { forget(present->id, 1); });
    const Node old = node(present->id);
    if (present->id == id) return;
    if (!may_replace) throw_errno(EEXIST, to_name);
    if (old.look->is_directory()) throw_errno(EISDIR, to_name);
    // Two representations would be two names for a moment, and one of them ours.
    if (old.is_new || old.look->kind != Kind::sframe) throw_errno(EXDEV, to_name);
    if (name_of(old.path) != full_name) replaced = old.path;
  }
  TurnAtNeed::need_no_more();
  const std::string path = path_in(target_directory.path, full_name);
  put_marker(found.path);
  for (const std::string& chunk :
       frame::rename_shared_frame(*frames_, found.path, path, may_replace))
    remove_later_(chunk);
  if (!replaced.empty()) remove_frame(replaced);
  looks_.forget(found.path);
  looks_.forget(path);
  forget_listing_of(found.path);
  forget_listing_of(path);
  remove_marker(path);
  LookPointer look = looks_.look(path, {true, std::nullopt, {}});
  const MutexLock lock(mutex_);
  const auto at = nodes_.find(id);
  if (at == nodes_.end()) return;
  leading_.erase(found.path);
  at->second.path = path;
  at->second.parent = to;
  at->second.shown_name = to_name;
  at->second.open_file.reset();
  rekey(id, std::move(look));
  leading_[path] = id;
}

// --- attributes

bool Objects::is_directory(NodeId id) const {
  const Node found = node(id);
  return !found.child && found.look->kind == Kind::directory;
}

frame::FileAttributes Objects::frame_attributes(NodeId id) {
  const Node found = node(id);
  return found.is_new ? found.owner : frames_->attributes(found.path);
}

void Objects::set_attributes(NodeId id, const frame::FileAttributes& attributes) {
  require_changeable(id);
  std::string path;
  {
    const MutexLock lock(mutex_);
    Node& node = nodes_.at(id);
    path = node.path;
    if (node.is_removed) return;
    if (node.is_new) node.owner = attributes;
    if (!node.is_new) path.clear();
  }
  if (!path.empty()) return frames_->set_owner(path, attributes);
  TurnAtNeed::need_no_more();
  path = node(id).path;
  frames_->set_attributes(path, attributes);
  looks_.forget(path);
  LookPointer look = looks_.look(path, {true, std::nullopt, {}});
  const MutexLock lock(mutex_);
  if (nodes_.count(id) != 0) rekey(id, std::move(look));
}

}  // namespace bloscfs::fs
