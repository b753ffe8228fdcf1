#include "fs/node_table.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include <boost/range/adaptor/reversed.hpp>

#include "fs/classifier.hpp"
#include "fs/source_root.hpp"

namespace bloscfs::fs {
namespace {

/// Names remembered of a file with many hard links. Others are learnt again when they are used.
constexpr std::size_t kMaxNames = 16;

[[noreturn]] void throw_stale(NodeId id) {
  throw std::system_error(ESTALE, std::generic_category(), "inode " + std::to_string(id));
}

}  // namespace

Identity identity_of(const struct stat& st) { return {st.st_dev, st.st_ino}; }

FileState state_of(const struct stat& st) { return {frame::stamp_of(st), nanoseconds(st.st_ctim)}; }

NodeTable::NodeTable() {
  auto root = std::make_unique<Node>();
  root->id = kRootId;
  root->references = 1;
  root->type = S_IFDIR;
  nodes_.emplace(kRootId, std::move(root));
}

Node* NodeTable::find(NodeId id) const {
  const auto found = nodes_.find(id);
  return found == nodes_.end() ? nullptr : found->second.get();
}

Node& NodeTable::node(NodeId id) const {
  Node* found = find(id);
  if (found == nullptr) throw_stale(id);
  return *found;
}

Node* NodeTable::current(const Identity& identity) const {
  const auto found = current_.find(identity);
  return found == current_.end() ? nullptr : &node(found->second);
}

Node& NodeTable::add(Node& parent, const std::string& name, const Identity& identity) {
  auto made = std::make_unique<Node>();
  made->id = next_id_++;
  made->references = 1;
  made->identity = identity;
  made->names.push_back({&parent, name});
  parent.children++;
  current_[identity] = made->id;
  Node& result = *made;
  nodes_.emplace(result.id, std::move(made));
  return result;
}

void NodeTable::set_identity(Node& node, const Identity& identity) {
  if (node.identity == identity) return;
  retire(node);
  current_.try_emplace(identity, node.id);
  node.identity = identity;
}

void NodeTable::retire(const Node& node) {
  const auto current = current_.find(node.identity);
  if (current != current_.end() && current->second == node.id) current_.erase(current);
}

NodeTable::Dropped NodeTable::add_name(Node& node, Node& parent, const std::string& name) {
  Dropped dropped;
  const auto is_it = [&](const Node::Name& known) {
    return known.parent == &parent && known.name == name;
  };
  const auto found = std::find_if(node.names.begin(), node.names.end(), is_it);
  if (found != node.names.end()) {
    std::rotate(found, found + 1, node.names.end());
    return dropped;
  }
  parent.children++;
  std::vector<Node::Name> outdated;
  if (S_ISDIR(node.type)) {
    outdated = std::exchange(node.names, {});
  } else if (node.names.size() == kMaxNames) {
    outdated.push_back(std::move(node.names.front()));
    node.names.erase(node.names.begin());
  }
  node.names.push_back({&parent, name});
  for (const Node::Name& old : outdated) leave(old.parent, dropped);
  return dropped;
}

NodeTable::Dropped NodeTable::remove_name(Node& node, const Node& parent, const std::string& name) {
  Dropped dropped;
  const auto is_it = [&](const Node::Name& known) {
    return known.parent == &parent && known.name == name;
  };
  const auto found = std::find_if(node.names.begin(), node.names.end(), is_it);
  if (found == node.names.end()) return dropped;
  Node* left = found->parent;
  node.names.erase(found);
  leave(left, dropped);
  return dropped;
}

std::optional<std::string> NodeTable::path_by(const Node::Name& name) {
  if (name.parent->id == kRootId) return name.name;
  if (name.parent->names.empty()) return std::nullopt;
  const auto directory = path_by(name.parent->names.back());
  if (!directory) return std::nullopt;
  return join_path(*directory, name.name);
}

std::string NodeTable::path(const Node& node) const {
  if (node.id == kRootId) return {};
  auto path = node.names.empty() ? std::nullopt : path_by(node.names.back());
  if (!path) throw_stale(node.id);
  return *std::move(path);
}

std::vector<std::string> NodeTable::paths(const Node& node) const {
  if (node.id == kRootId) return {{}};
  std::vector<std::string> result;
  for (const auto& name : boost::adaptors::reverse(node.names))
    if (auto path = path_by(name)) result.push_back(*std::move(path));
  return result;
}

void NodeTable::leave(Node* parent, Dropped& dropped) {
  parent->children--;
  drop_if_unused(parent, dropped);
}

void NodeTable::drop_if_unused(Node* candidate, Dropped& dropped) {
  if (candidate->id == kRootId || candidate->references != 0 || candidate->pins != 0 ||
      candidate->children != 0 || candidate->wanted_name)
    return;
  retire(*candidate);
  const auto found = nodes_.find(candidate->id);
  dropped.push_back(std::move(found->second));
  nodes_.erase(found);
  for (const Node::Name& name : candidate->names) leave(name.parent, dropped);
}

NodeTable::Dropped NodeTable::forget(Node& node, std::uint64_t references) {
  Dropped dropped;
  node.references -= std::min(references, node.references);
  drop_if_unused(&node, dropped);
  return dropped;
}

NodeTable::Dropped NodeTable::unpin(Node& node) {
  Dropped dropped;
  node.pins--;
  drop_if_unused(&node, dropped);
  return dropped;
}

Node* NodeTable::pending(NodeId directory, const std::string& wanted_name) const {
  const auto found = pending_.find({directory, wanted_name});
  return found == pending_.end() ? nullptr : &node(found->second);
}

void NodeTable::set_pending(Node& node, const std::string& wanted_name) {
  node.wanted_name = wanted_name;
  pending_[{node.names.back().parent->id, wanted_name}] = node.id;
}

NodeTable::Dropped NodeTable::clear_pending(Node& node) {
  Dropped dropped;
  if (!node.wanted_name) return dropped;
  pending_.erase({node.names.back().parent->id, *node.wanted_name});
  node.wanted_name.reset();
  node.replaces = false;
  drop_if_unused(&node, dropped);
  return dropped;
}

std::vector<Node*> NodeTable::pending_in(NodeId directory) const {
  std::vector<Node*> found;
  for (auto at = pending_.lower_bound({directory, {}});
       at != pending_.end() && at->first.first == directory; ++at)
    found.push_back(&node(at->second));
  return found;
}

void NodeTable::for_each(const std::function<void(Node&)>& visit) const {
  for (const auto& [id, node] : nodes_) visit(*node);
}

}  // namespace bloscfs::fs
