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
  Node dropped;  // destroyed after the lock is released
  const MutexLock lock(mutex_);
  const auto found = nodes_.find(id);
  if (found == nodes_.end() || id == kRootId) return;
  Node& node = found->second;
  node.references -= std::min(node.references, references);
  // A node stays while its file is open, and while a commit is pending.
  if (node.references > 0 || !node.open_file.expired()) return;
  unmap(id, node);
  leave_leading(id, node);
  dropped = std::move(node);
  nodes_.erase(found);
}

// --- new files

NodeId ObjectNodes::add_new(Node node) {
  const MutexLock lock(mutex_);
  NodeId& leading = leading_[node.path];
  // Another thread may have created the file in the meantime.
  if (leading != 0 && at(leading).is_new) frame::throw_errno(EEXIST, node.shown_name);
  leading = next_id_++;
  ids_[key_of(node)] = leading;
  nodes_.emplace(leading, std::move(node));
  return leading;
}

std::vector<ObjectNode> ObjectNodes::new_files_in(const std::string& directory) const {
  const MutexLock lock(mutex_);
  std::vector<Node> found;
  const std::string begin = path_in(directory, {});
  for (auto next = leading_.lower_bound(begin);
       next != leading_.end() && next->first.starts_with(begin); ++next) {
    const Node& node = nodes_.at(next->second);
    if (node.is_new && parent_of(node.path) == directory) found.push_back(node);
  }
  return found;
}

bool ObjectNodes::mark_removed_if_unsent(NodeId id) {
  const MutexLock lock(mutex_);
  Node& node = at(id);
  if (node.is_sent) return false;
  node.is_removed = true;
  leave_leading(id, node);
  return true;
}

// --- states

void ObjectNodes::set_opened(NodeId id, const std::shared_ptr<const OpenContainer>& file) {
  const MutexLock lock(mutex_);
  Node& node = at(id);
  node.open_file = file;
  leading_[node.path] = id;
}

std::optional<std::pair<NodeId, ObjectNode>> ObjectNodes::leading(const std::string& path) const {
  const MutexLock lock(mutex_);
  const auto leading = leading_.find(path);
  if (leading == leading_.end()) return std::nullopt;
  return std::pair(leading->second, nodes_.at(leading->second));
}

bool ObjectNodes::owns_path(NodeId id) const {
  const MutexLock lock(mutex_);
  const auto node = nodes_.find(id);
  if (node == nodes_.end()) return false;
  const auto leading = leading_.find(node->second.path);
  return leading != leading_.end() && leading->second == id;
}

/// Returns the leading node of the path if it also stands for the look of `node`, for example
/// because a commit of this mount has stored that state. Returns 0 otherwise. If the leading node
/// stands for another state, it stops leading.
NodeId ObjectNodes::same_as(const Node& node, const std::optional<frame::ObjectState>& stored) {
  if (node.part) return 0;
  const auto leading = leading_.find(node.path);
  if (leading == leading_.end()) return 0;
  const Node& known = at(leading->second);
  if (known.is_new || known.look == node.look) return 0;
  if (!known.is_removed && known.is_own(*node.look, stored)) return leading->second;
  leading_.erase(leading);
  return 0;
}

/// Removes the node's key from ids_, unless another node was entered under the key since.
void ObjectNodes::unmap(NodeId id, const Node& node) {
  const auto known = ids_.find(key_of(node));
  if (known != ids_.end() && known->second == id) ids_.erase(known);
}

void ObjectNodes::rekey_locked(NodeId id, Node& node, LookPointer look) {
  unmap(id, node);
  node.look = std::move(look);
  ids_[key_of(node)] = id;
}

void ObjectNodes::rekey(NodeId id, LookPointer look) {
  const MutexLock lock(mutex_);
  rekey_locked(id, at(id), std::move(look));
}

ObjectNode ObjectNodes::note_stored_state(NodeId id, const std::string& full_name) {
  const MutexLock lock(mutex_);
  Node& node = at(id);
  node.is_new = false;
  leave_leading(id, node);
  node.path = path_in(parent_of(node.path), full_name);
  leading_[node.path] = id;
  return node;
}

void ObjectNodes::renamed(NodeId id, const std::string& path, NodeId parent,
                          const std::string& shown_name, LookPointer look) {
  const MutexLock lock(mutex_);
  Node& node = at(id);
  leading_.erase(node.path);
  node.path = path;
  node.parent = parent;
  node.shown_name = shown_name;
  // Handles keep the frame under its old path. Later opens find it under the new one.
  node.open_file.reset();
  rekey_locked(id, node, std::move(look));
  leading_[path] = id;
}

void ObjectNodes::mark_removed(NodeId id) {
  const MutexLock lock(mutex_);
  Node& node = at(id);
  node.is_removed = true;
  leave_leading(id, node);
}

void ObjectNodes::leave_leading(NodeId id, const Node& node) {
  const auto leading = leading_.find(node.path);
  if (leading != leading_.end() && leading->second == id) leading_.erase(leading);
}

}  // namespace bloscfs::fs
