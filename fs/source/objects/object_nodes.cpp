#include "fs/source/objects/object_nodes.hpp"

#include <algorithm>
#include <cerrno>

#include "frame/store/throw_errno.hpp"
#include "fs/support/relative_path.hpp"

namespace bloscfs::fs {

ObjectNodes::ObjectNodes(Node root) {
  const MutexLock lock(mutex_);
  ids_.emplace(key_of(root), kRootId);
  nodes_.emplace(kRootId, std::move(root));
}

ObjectNodes::Key ObjectNodes::key_of(const Node& node) {
  if (!node.part) return {node.look.get(), {}, false};
  return {node.part->archive.get(), node.part->entry.key, !node.part->entry.is_group()};
}

ObjectNodes::Node& ObjectNodes::at(NodeId id) {
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) throw_stale(id);
  return found->second;
}

std::optional<ObjectNode> ObjectNodes::find(NodeId id) const {
  const MutexLock lock(mutex_);
  const auto found = nodes_.find(id);
  return found == nodes_.end() ? std::nullopt : std::optional(found->second);
}

ObjectNode ObjectNodes::get(NodeId id) const {
  auto found = find(id);
  if (!found) throw_stale(id);
  return *std::move(found);
}

NodeId ObjectNodes::enter(Node node, const std::optional<frame::ObjectState>& stored) {
  const MutexLock lock(mutex_);
  if (const NodeId known = same_as(node, stored)) rekey_locked(known, at(known), node.look);
  NodeId& id = ids_[key_of(node)];
  if (id == 0) {
    id = next_id_++;
    nodes_.emplace(id, std::move(node));
  }
  at(id).references++;
  return id;
}

void ObjectNodes::refer(NodeId id) {
  const MutexLock lock(mutex_);
  at(id).references++;
}

void ObjectNodes::forget(NodeId id, std::uint64_t references) {
  Node dropped;  // destroyed behind the lock
  const MutexLock lock(mutex_);
  const auto found = nodes_.find(id);
  if (found == nodes_.end() || id == kRootId) return;
  Node& node = found->second;
  node.references -= std::min(node.references, references);
  // What waits for a commit keeps its node.
  if (node.references > 0 || !node.open_file.expired()) return;
  unmap(id, node);
  leave_names(id, node);
  dropped = std::move(node);
  nodes_.erase(found);
}

// --- new files

NodeId ObjectNodes::add_new(const std::string& directory, Node node) {
  const MutexLock lock(mutex_);
  // Somebody else may have come first.
  if (!new_files_.try_emplace({directory, node.shown_name}, next_id_).second)
    frame::throw_errno(EEXIST, node.shown_name);
  const NodeId id = next_id_++;
  ids_[key_of(node)] = id;
  leading_[node.path] = id;
  nodes_.emplace(id, std::move(node));
  return id;
}

std::optional<NodeId> ObjectNodes::find_new(const std::string& directory,
                                            const std::string& name) const {
  const MutexLock lock(mutex_);
  const auto found = new_files_.find({directory, name});
  return found == new_files_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<ObjectNodes::NewName> ObjectNodes::new_in(const std::string& directory) const {
  const MutexLock lock(mutex_);
  std::vector<NewName> names;
  for (auto next = new_files_.lower_bound({directory, std::string()});
       next != new_files_.end() && next->first.first == directory; ++next)
    names.push_back({next->first.second, nodes_.at(next->second).path});
  return names;
}

void ObjectNodes::begin_storing(NodeId id) {
  const MutexLock lock(mutex_);
  Node& node = at(id);
  if (node.is_removed) frame::throw_errno(ESTALE, node.path);
  node.is_sent = true;
}

bool ObjectNodes::take_unsent_names(NodeId id) {
  const MutexLock lock(mutex_);
  Node& node = at(id);
  if (node.is_sent) return false;
  leave_names(id, node);
  return true;
}

ObjectNode ObjectNodes::set_owner_if_new(NodeId id, const frame::FileAttributes& owner) {
  const MutexLock lock(mutex_);
  Node& node = at(id);
  if (node.is_new && !node.is_removed) node.owner = owner;
  return node;
}

// --- open files

void ObjectNodes::set_opened(NodeId id, const Opened& file) {
  const MutexLock lock(mutex_);
  Node& node = at(id);
  node.open_file = file;
  leading_[node.path] = id;
}

ObjectNodes::Opened ObjectNodes::set_opened_once(NodeId id, const Opened& file) {
  const MutexLock lock(mutex_);
  Node& node = at(id);
  if (auto known = node.open_file.lock()) return known;
  node.open_file = file;
  return file;
}

void ObjectNodes::set_part(NodeId id, std::shared_ptr<const ArchivePart> part) {
  const MutexLock lock(mutex_);
  at(id).part = std::move(part);
}

// --- states

std::optional<ObjectNode> ObjectNodes::leading(const std::string& path) const {
  const MutexLock lock(mutex_);
  const auto leading = leading_.find(path);
  return leading == leading_.end() ? std::nullopt : std::optional(nodes_.at(leading->second));
}

bool ObjectNodes::leads(NodeId id) const {
  const MutexLock lock(mutex_);
  const auto node = nodes_.find(id);
  if (node == nodes_.end()) return false;
  const auto leading = leading_.find(node->second.path);
  return leading != leading_.end() && leading->second == id;
}

/// The node that the same path had before a commit of this mount, if `node` is of what that has
/// stored; 0 if there is none.
NodeId ObjectNodes::same_as(const Node& node, const std::optional<frame::ObjectState>& stored) {
  if (node.part) return 0;
  const auto leading = leading_.find(node.path);
  if (leading == leading_.end()) return 0;
  Node& known = at(leading->second);
  if (known.look == node.look) return 0;  // found by that
  const frame::ObjectState& state = node.look->state;
  const bool is_own =
      (stored && stored->same_bytes(state)) || (known.outcome && known.outcome->same_bytes(state));
  if (is_own && !known.is_removed && !known.is_new) return leading->second;
  leading_.erase(leading);
  return 0;
}

/// Another node may have been found by the same look since.
void ObjectNodes::unmap(NodeId id, const Node& node) {
  const auto known = ids_.find(key_of(node));
  if (known != ids_.end() && known->second == id) ids_.erase(known);
}

void ObjectNodes::rekey_locked(NodeId id, Node& node, LookPointer look) {
  unmap(id, node);
  node.look = std::move(look);
  node.look_is_due = false;
  node.last_stored.reset();
  ids_[key_of(node)] = id;
}

void ObjectNodes::note_stored(NodeId id, const LogicalAttributes& attributes) {
  const MutexLock lock(mutex_);
  const auto found = nodes_.find(id);
  if (found != nodes_.end()) found->second.last_stored = attributes;
}

void ObjectNodes::rekey(NodeId id, LookPointer look) {
  const MutexLock lock(mutex_);
  const auto found = nodes_.find(id);
  if (found != nodes_.end()) rekey_locked(id, found->second, std::move(look));
}

void ObjectNodes::adopt(NodeId id, LookPointer look) {
  const MutexLock lock(mutex_);
  Node& node = at(id);
  if (!node.outcome || !node.outcome->same_bytes(look->state))
    frame::throw_errno(ESTALE, node.path);
  rekey_locked(id, node, std::move(look));
}

void ObjectNodes::record_outcome(NodeId id, const std::optional<frame::ObjectState>& stored) {
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

ObjectNodes::Moved ObjectNodes::stored_as(NodeId id, const std::string& full_name) {
  const MutexLock lock(mutex_);
  Node& node = at(id);
  Moved moved;
  moved.before = node.path;
  moved.path = path_in(parent_of(node.path), full_name);
  moved.was_new = std::exchange(node.is_new, false);
  new_files_.erase({parent_of(node.path), node.shown_name});
  leave_leading(id, node.path);
  node.path = moved.path;
  leading_[moved.path] = id;
  return moved;
}

void ObjectNodes::renamed(NodeId id, const std::string& path, NodeId parent,
                          const std::string& shown_name, LookPointer look) {
  const MutexLock lock(mutex_);
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) return;
  Node& node = found->second;
  leading_.erase(node.path);
  node.path = path;
  node.parent = parent;
  node.shown_name = shown_name;
  node.open_file.reset();
  rekey_locked(id, node, std::move(look));
  leading_[path] = id;
}

std::optional<std::string> ObjectNodes::take_names(NodeId id) {
  const MutexLock lock(mutex_);
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) return std::nullopt;
  leave_names(id, found->second);
  return found->second.path;
}

void ObjectNodes::leave_names(NodeId id, Node& node) {
  node.is_removed = true;
  const auto made = new_files_.find({parent_of(node.path), node.shown_name});
  if (made != new_files_.end() && made->second == id) new_files_.erase(made);
  leave_leading(id, node.path);
}

void ObjectNodes::leave_leading(NodeId id, const std::string& path) {
  const auto leading = leading_.find(path);
  if (leading != leading_.end() && leading->second == id) leading_.erase(leading);
}

}  // namespace bloscfs::fs
