#include "fs/source/local/tree/nodes.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <typeinfo>
#include <utility>

#include "frame/store/throw_errno.hpp"

namespace bloscfs::fs {
namespace {

bool is_same_kind(const OpenFile& one, const OpenFile& other) {
  return typeid(one) == typeid(other);
}

}  // namespace

// --- what is known

Nodes::~Nodes() {
  // An archive unpins its node when it is destroyed, so archives must go before the table does.
  const DroppingLock lock(*this);
  for (Node* const node : nodes_.parts()) nodes_.set_part(*node, nullptr);
}

Nodes::Known Nodes::known(NodeId id) const {
  const MutexLock lock(mutex_);
  const Node& node = nodes_.node(id);
  return {{node.kind},
          id,
          nodes_.paths(node),
          node.identity,
          node.state,
          node.shown_change,
          node.rare().wanted_name.has_value(),
          node.rare().made,
          node.open_file.lock(),
          node.rare().remains,
          node.rare().last_size};
}

SourcePath Nodes::path(NodeId id) const {
  const MutexLock lock(mutex_);
  return nodes_.path(nodes_.node(id));
}

std::string Nodes::display_path(NodeId id) const {
  try {
    return path(id).text();
  } catch (const std::system_error&) {
    return "a file without a name";
  }
}

NodeId Nodes::parent(NodeId id) const {
  const MutexLock lock(mutex_);
  const Node& node = nodes_.node(id);
  return node.has_name() ? node.name.parent->id : kRootId;
}

void Nodes::forget(NodeId id, std::uint64_t references) {
  if (id == kRootId) return;
  const DroppingLock lock(*this);
  if (Node* node = nodes_.find(id)) nodes_.forget(*node, references);
}

void Nodes::pin(NodeId id) {
  const MutexLock lock(mutex_);
  nodes_.node(id).pins++;
}

void Nodes::unpin(NodeId id) {
  const DroppingLock lock(*this);
  nodes_.unpin(nodes_.node(id));
}

std::uint32_t Nodes::name_changes(NodeId directory) const {
  const MutexLock lock(mutex_);
  const Node* const node = nodes_.find(directory);
  return node == nullptr ? 0 : node->name_changes;
}

void Nodes::note_change(NodeId directory) {
  const MutexLock lock(mutex_);
  if (Node* const node = nodes_.find(directory)) node->name_changes++;
}

std::optional<Nodes::NodeName> Nodes::name_of(NodeId id) const {
  const MutexLock lock(mutex_);
  const Node& node = nodes_.node(id);
  if (!node.has_name()) return std::nullopt;
  const auto& wanted = node.rare().wanted_name;
  NodeName name;
  name.full_name = wanted.value_or(node.name.name);
  name.shown = node.shown;
  if (wanted) name.pending_stored_name = node.name.name;
  const std::vector<SourcePath> above = nodes_.paths(*node.name.parent);
  name.is_lost = above.empty();
  if (name.is_lost) return name;
  name.directory = node.name.parent->id;
  name.directory_path = above.front();
  return name;
}

bool Nodes::has_name(NodeId id) const {
  const MutexLock lock(mutex_);
  return id == kRootId || nodes_.node(id).has_name();
}

FoundNode Nodes::reference(NodeId id, const struct stat& attributes) {
  const MutexLock lock(mutex_);
  nodes_.node(id).references++;
  return {id, attributes};
}

Node* Nodes::node_of(const SourceEntry& entry, bool is_live) const {
  Node* node = nodes_.current(identity_of(entry.own_stat));
  if (node == nullptr || node->type != entry.shown_type()) return nullptr;
  if (node->is_container() != entry.is_container()) return nullptr;
  const bool is_one_state = entry.is_container() || entry.is_store();
  const bool same_state = !is_one_state || is_live || node->state == state_of(entry.content_stat);
  return same_state ? node : nullptr;
}

bool Nodes::may_have_opened_in(NodeId directory) const {
  const MutexLock lock(mutex_);
  const auto first = opened_names_.lower_bound({directory, {}, 0});
  return first != opened_names_.end() && std::get<0>(*first) == directory;
}

NodeId Nodes::overtaken_node(NodeId directory, const std::string& full_name,
                             const std::optional<Identity>& there) {
  const DroppingLock lock(*this);
  const auto end = opened_names_.upper_bound({directory, full_name, ~NodeId{0}});
  for (auto at = opened_names_.lower_bound({directory, full_name, 0}); at != end;) {
    const Node* const node = nodes_.find(std::get<2>(*at));
    const auto file = node == nullptr ? nullptr : open_file(*node);
    // Drops outdated names on the way.
    if (!file || !node->has_name() || node->name.parent->id != directory ||
        node->name.name != full_name) {
      at = opened_names_.erase(at);
      continue;
    }
    // True if SOURCE still has the node's object under the name.
    const bool is_it = there && node->identity == *there;
    if (!is_it && !node->rare().wanted_name && file->is_authoritative()) return node->id;
    ++at;
  }
  return 0;
}

bool Nodes::follow(NodeId id, const SourceEntry& entry) {
  const MutexLock lock(mutex_);
  Node& node = nodes_.node(id);
  // Only a node that was never opened may take another state: handles and the kernel's cached pages
  // belong to one state.
  if (node.was_opened || !node.open_file.expired() || !node.is_container() || !entry.is_container())
    return false;
  nodes_.set_identity(node, identity_of(entry.own_stat));
  node.kind = entry.kind;
  node.shown = entry.shown;
  node.state = state_of(entry.content_stat);
  node.has_unnotified_change = true;
  return true;
}

// --- what is open

bool Nodes::take_change(NodeId id, const SourceEntry& entry) {
  const MutexLock lock(mutex_);
  Node& node = nodes_.node(id);
  if (node.is_container() != entry.is_container()) throw_stale(id);
  node.was_opened = true;
  // A plain file's node takes over the present state. A container's node stands for one state from
  // its first open on.
  if (!entry.is_container()) {
    const FileState previous = std::exchange(node.state, state_of(entry.content_stat));
    if (!(previous == node.state)) node.has_unnotified_change = true;
  }
  return node.has_unnotified_change || node.is_being_notified;
}

bool Nodes::begin_notifying_kernel(NodeId id) {
  const MutexLock lock(mutex_);
  Node* const node = nodes_.find(id);
  if (node == nullptr || !std::exchange(node->has_unnotified_change, false)) return false;
  node->is_being_notified = true;
  return true;
}

void Nodes::end_notifying_kernel(NodeId id) {
  const MutexLock lock(mutex_);
  if (Node* const node = nodes_.find(id)) node->is_being_notified = false;
}

std::shared_ptr<const OpenFile> Nodes::opened(NodeId id) const {
  const MutexLock lock(mutex_);
  const Node* const node = nodes_.find(id);
  return node == nullptr ? nullptr : node->open_file.lock();
}

std::shared_ptr<const OpenFile> Nodes::share(NodeId id, std::shared_ptr<const OpenFile> file,
                                             const SourceEntry& entry) {
  const DroppingLock lock(*this);
  Node& node = nodes_.node(id);
  if (node.rare().part) node.was_opened = true;  // for objects of SOURCE take_change() does this
  auto other = open_file(node);
  // If two opens meet, all handles share the file of the first. A file that was opened as plain
  // cannot serve a container.
  if (other && is_same_kind(*other, *file)) return other;
  // The node has another state by now than the one that was opened. The kernel looks the name up
  // again.
  if (node.is_container() && !(node.state == state_of(entry.content_stat))) throw_stale(id);
  node.open_file = file;
  note_opened(node);
  return file;
}

void Nodes::set_opened(NodeId id, const std::shared_ptr<const OpenFile>& file) {
  const MutexLock lock(mutex_);
  Node& node = nodes_.node(id);
  node.open_file = file;
  node.was_opened = true;
}

void Nodes::begin_plain_writing(NodeId id) {
  const MutexLock lock(mutex_);
  Node& node = nodes_.node(id);
  if (node.is_container()) throw_stale(id);
  node.make_rare().plain_writers++;
}

std::uint32_t Nodes::plain_writers(NodeId id) const {
  const MutexLock lock(mutex_);
  return nodes_.node(id).rare().plain_writers;
}

void Nodes::end_plain_writing(NodeId id) {
  const MutexLock lock(mutex_);
  Node& node = nodes_.node(id);
  if (node.rare().plain_writers > 0) node.make_rare().plain_writers--;
  node.trim_rare();
}

void Nodes::keep_last_size(NodeId id, std::int64_t size) {
  const MutexLock lock(mutex_);
  Node& node = nodes_.node(id);
  if (!node.has_name()) node.make_rare().last_size = size;
}

std::shared_ptr<const OpenFile> Nodes::open_file(const Node& node) {
  auto file = node.open_file.lock();
  if (file) nodes_.drop(file);
  return file;
}

/// Notes the name by which the node is open. Now and then drops the names of closed nodes.
void Nodes::note_opened(const Node& node) {
  if (!node.has_name() || node.rare().wanted_name) return;
  if (opened_names_.size() >= names_prune_limit_) {
    std::erase_if(opened_names_, [&](const OpenedName& named) REQUIRES(mutex_) {
      const Node* const known = nodes_.find(std::get<2>(named));
      return known == nullptr || known->open_file.expired();
    });
    names_prune_limit_ = 64 + 2 * opened_names_.size();
  }
  opened_names_.insert({node.name.parent->id, node.name.name, node.id});
}

void Nodes::retire_opened(NodeId id, const OpenFile& file) {
  const DroppingLock lock(*this);
  Node& node = nodes_.node(id);
  if (open_file(node).get() != &file) return;
  node.open_file.reset();
  node.has_unnotified_change = true;
}

// --- what is in archives

std::shared_ptr<const ArchivePart> Nodes::part(NodeId id) const {
  const MutexLock lock(mutex_);
  const Node* const node = nodes_.find(id);
  return node == nullptr ? nullptr : node->rare().part;
}

NodeId Nodes::enter_part(NodeId directory, const std::shared_ptr<const ArchivePart>& part) {
  const MutexLock lock(mutex_);
  return nodes_.enter_part(nodes_.node(directory), part).id;
}

bool Nodes::replace_part(NodeId id, const ArchivePart& before,
                         const std::shared_ptr<const ArchivePart>& part) {
  const DroppingLock lock(*this);
  Node* const node = nodes_.find(id);
  if (node == nullptr || node->rare().part.get() != &before) return false;
  if (node->was_opened && before.archive != part->archive) return false;
  nodes_.set_part(*node, part);
  return true;
}

void Nodes::release_other_states(NodeId root, const Archive* present) {
  const DroppingLock lock(*this);
  for (Node* const node : nodes_.parts()) {
    const auto& part = node->rare().part;
    if (part->root != root || !part->embed || part->archive.get() == present) continue;
    auto left = std::make_shared<ArchivePart>(*part);
    left->archive = nullptr;
    nodes_.set_part(*node, std::move(left));
  }
}

void Nodes::become_directory(NodeId id, const struct stat& st) {
  const DroppingLock lock(*this);
  Node* const node = nodes_.find(id);
  if (node == nullptr || !node->rare().part) return;
  // A lookup has given the directory a node of its own already. That node cannot be replaced: files
  // may wait in it for their names.
  if (nodes_.current(identity_of(st)) != nullptr) throw_stale(id);
  nodes_.set_part(*node, nullptr);
  nodes_.set_identity(*node, identity_of(st));
  node->state = state_of(st);
}

}  // namespace bloscfs::fs
