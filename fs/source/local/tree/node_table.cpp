#include "fs/source/local/tree/node_table.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <boost/range/adaptor/reversed.hpp>

#include "frame/store/throw_errno.hpp"
#include "fs/source/local/files/source_root.hpp"

namespace bloscfs::fs {
namespace {

/// How many names of a file with many hard links are remembered. A lookup of any other name adds
/// that name again.
constexpr std::size_t kMaxNames = 16;
constexpr std::size_t kFewestBuckets = 64;

}  // namespace

const Node::Rare& Node::rare() const {
  static const Rare kNothing;
  return rare_parts ? *rare_parts : kNothing;
}

Node::Rare& Node::make_rare() {
  if (!rare_parts) rare_parts = std::make_unique<Rare>();
  return *rare_parts;
}

void Node::trim_rare() {
  if (rare_parts && *rare_parts == Rare{}) rare_parts.reset();
}

std::size_t NodeTable::Hash::operator()(const Identity& id) const {
  // The index uses only the low bits of the hash, so the high bits are mixed into them.
  const std::uint64_t mixed = (id.inode ^ id.device << 32) * 0x9E3779B97F4A7C15u;
  return static_cast<std::size_t>(mixed ^ mixed >> 32);
}

NodeTable::NodeTable()
    : id_buckets_(kFewestBuckets),
      identity_buckets_(kFewestBuckets),
      nodes_({id_buckets_.data(), id_buckets_.size()}),
      current_({identity_buckets_.data(), identity_buckets_.size()}) {
  auto root = std::make_unique<Node>();
  root->id = kRootId;
  root->references = 1;
  root->type = S_IFDIR;
  nodes_.insert(*root.release());
}

NodeTable::~NodeTable() {
  current_.clear();
  nodes_.clear_and_dispose(std::default_delete<Node>());
}

/// Doubles the tables when they are full, so that each bucket has at most one node on average.
void NodeTable::grow() {
  if (nodes_.size() < id_buckets_.size()) return;
  std::vector<ById::bucket_type> more_ids(2 * id_buckets_.size());
  std::vector<ByIdentity::bucket_type> more_identities(more_ids.size());
  nodes_.rehash({more_ids.data(), more_ids.size()});
  current_.rehash({more_identities.data(), more_identities.size()});
  id_buckets_ = std::move(more_ids);
  identity_buckets_ = std::move(more_identities);
}

Node* NodeTable::find(NodeId id) const {
  const auto found = nodes_.find(id);
  return found == nodes_.end() ? nullptr : const_cast<Node*>(&*found);
}

Node& NodeTable::node(NodeId id) const {
  Node* found = find(id);
  if (found == nullptr) throw_stale(id);
  return *found;
}

Node* NodeTable::current(const Identity& identity) const {
  const auto found = current_.find(identity);
  return found == current_.end() ? nullptr : const_cast<Node*>(&*found);
}

Node& NodeTable::make_node(Node& parent, const std::string& name, const Identity& identity) {
  grow();
  auto made = std::make_unique<Node>();
  made->references = 1;
  made->identity = identity;
  made->name = {&parent, name};
  made->id = next_id_++;
  parent.children++;
  Node& result = *made.release();
  nodes_.insert(result);
  return result;
}

Node& NodeTable::add(Node& parent, const std::string& name, const Identity& identity) {
  Node& made = make_node(parent, name, identity);
  if (Node* const previous = current(identity)) retire(*previous);
  current_.insert(made);
  return made;
}

void NodeTable::set_identity(Node& node, const Identity& identity) {
  if (node.identity == identity && node.by_identity.is_linked()) return;
  retire(node);
  // Another node with this identity stands for a file that is gone, since inode numbers are reused.
  if (Node* const previous = current(identity)) retire(*previous);
  node.identity = identity;
  current_.insert(node);
}

void NodeTable::retire(Node& node) {
  if (node.by_identity.is_linked()) current_.erase(current_.iterator_to(node));
}

Node& NodeTable::enter_part(Node& parent, const std::shared_ptr<const ArchivePart>& part) {
  if (const auto known = parts_.find(key_of(*part)); known != parts_.end()) {
    known->second->references++;
    return *known->second;
  }
  Node& made = make_node(parent, part->entry.full_name, {});
  made.type = part->entry.type;
  made.make_rare().part = part;
  parts_.emplace(key_of(*part), &made);
  return made;
}

void NodeTable::set_part(Node& node, std::shared_ptr<const ArchivePart> part) {
  leave_part(node);
  if (part && part->archive) parts_.emplace(key_of(*part), &node);
  drop(std::exchange(node.make_rare().part, std::move(part)));
  node.trim_rare();
}

void NodeTable::leave_part(const Node& node) {
  if (!node.rare().part) return;
  auto [known, end] = parts_.equal_range(key_of(*node.rare().part));
  known = std::find_if(known, end, [&](const auto& one) { return one.second == &node; });
  if (known != end) parts_.erase(known);
}

std::vector<Node*> NodeTable::parts() const {
  std::vector<Node*> found;
  for (const auto& [key, node] : parts_) found.push_back(node);
  return found;
}

void NodeTable::add_name(Node& node, Node& parent, const std::string& name) {
  const Node::Name seen{&parent, name};
  if (node.name == seen) return;
  const bool keeps_front = node.rare().wanted_name.has_value();
  parent.children++;
  Node* left = nullptr;  // the directory of a name that is forgotten below
  // A directory has one name, so a new name is a move. A file may have several: the newest comes to
  // the front, and the oldest of too many is forgotten.
  if (S_ISDIR(node.type)) {
    left = node.name.parent;
  } else if (node.has_name()) {
    std::vector<Node::Name>& others = node.make_rare().other_names;
    const auto known = std::find(others.begin(), others.end(), seen);
    const bool is_full = others.size() + 1 == kMaxNames;
    if (known != others.end() || is_full) {
      const auto leaving = known != others.end() ? known : others.begin();
      left = leaving->parent;
      others.erase(leaving);
    }
    if (keeps_front)
      others.push_back(seen);
    else
      others.push_back(std::move(node.name));
  }
  if (!keeps_front) node.name = seen;
  if (left != nullptr) leave(*left);
}

void NodeTable::remove_name(Node& node, Node& parent, const std::string& name) {
  const Node::Name gone{&parent, name};
  const bool is_front = node.name == gone;
  if (!is_front && node.rare().other_names.empty()) return;
  std::vector<Node::Name>& others = node.make_rare().other_names;
  if (is_front) {
    node.name = {};
    if (!others.empty()) {
      node.name = std::move(others.back());
      others.pop_back();
    }
  } else if (std::erase(others, gone) == 0) {
    return;
  }
  node.trim_rare();
  leave(parent);
}

/// Collects the parts before joining them. Building one string for each directory would take time
/// quadratic in the depth.
std::optional<std::string> NodeTable::text_by(const Node::Name& name) {
  std::vector<const std::string*> parts{&name.name};
  for (const Node* above = name.parent; above->id != kRootId; above = above->name.parent) {
    if (!above->has_name()) return std::nullopt;
    parts.push_back(&above->name.name);
  }
  std::string text;
  for (const std::string* part : boost::adaptors::reverse(parts)) {
    if (!text.empty()) text += '/';
    text += *part;
  }
  return text;
}

std::optional<SourcePath> NodeTable::path_by(const Node& node, const Node::Name& name) {
  const Node& above = *name.parent;
  if (above.id == kRootId) return SourcePath({name.name}, node.identity);
  auto directory = above.has_name() ? text_by(above.name) : std::nullopt;
  if (!directory) return std::nullopt;
  return SourcePath(join_path(SourcePath(*std::move(directory), above.identity), name.name),
                    node.identity);
}

SourcePath NodeTable::path(const Node& node) const {
  if (node.id == kRootId) return {};
  auto path = node.has_name() ? path_by(node, node.name) : std::nullopt;
  if (!path) throw_stale(node.id);
  return *std::move(path);
}

std::vector<SourcePath> NodeTable::paths(const Node& node) const {
  if (node.id == kRootId) return {{}};
  std::vector<SourcePath> result;
  if (!node.has_name()) return result;
  if (auto path = path_by(node, node.name)) result.push_back(*std::move(path));
  for (const auto& name : boost::adaptors::reverse(node.rare().other_names))
    if (auto path = path_by(node, name)) result.push_back(*std::move(path));
  return result;
}

void NodeTable::leave(Node& parent) {
  parent.children--;
  maybe_unused_.push_back(parent.id);
}

NodeTable::Dropped NodeTable::drop_unused() {
  while (!maybe_unused_.empty()) {
    Node* const node = find(maybe_unused_.back());
    maybe_unused_.pop_back();
    // A node stays while the kernel knows it, while it is pinned, while names below lead through
    // it, or while it waits for a name. Without it, the directories above may become unused, too.
    if (node == nullptr || node->id == kRootId || node->references != 0 || node->pins != 0 ||
        node->children != 0 || node->rare().wanted_name)
      continue;
    retire(*node);
    leave_part(*node);
    nodes_.erase(nodes_.iterator_to(*node));
    dropped_.nodes.emplace_back(node);
    if (node->has_name()) leave(*node->name.parent);
    for (const Node::Name& name : node->rare().other_names) leave(*name.parent);
  }
  return std::exchange(dropped_, {});
}

void NodeTable::forget(Node& node, std::uint64_t references) {
  node.references -= std::min(references, node.references);
  maybe_unused_.push_back(node.id);
}

void NodeTable::unpin(Node& node) {
  node.pins--;
  maybe_unused_.push_back(node.id);
}

Node* NodeTable::pending(NodeId directory, const std::string& wanted_name) const {
  const auto found = pending_.find({directory, wanted_name});
  return found == pending_.end() ? nullptr : &node(found->second);
}

void NodeTable::set_pending(Node& node, const std::string& wanted_name) {
  node.make_rare().wanted_name = wanted_name;
  pending_[{node.name.parent->id, wanted_name}] = node.id;
}

void NodeTable::clear_pending(Node& node) {
  if (!node.rare().wanted_name) return;
  Node::Rare& rare = node.make_rare();
  pending_.erase({node.name.parent->id, *rare.wanted_name});
  rare.wanted_name.reset();
  rare.replaces.reset();
  dropped_.others.push_back(std::move(rare.made));
  node.trim_rare();
  maybe_unused_.push_back(node.id);
}

std::vector<Node*> NodeTable::pending_in(NodeId directory) const {
  std::vector<Node*> found;
  for (auto at = pending_.lower_bound({directory, {}});
       at != pending_.end() && at->first.first == directory; ++at)
    found.push_back(&node(at->second));
  return found;
}

}  // namespace bloscfs::fs
