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
          node.open_file.lock(),
          node.rare().remains,
          node.rare().last_size};
}

SourcePath Nodes::path(NodeId id) const {
  const MutexLock lock(mutex_);
  return nodes_.path(nodes_.node(id));
}

std::string Nodes::told_path(NodeId id) const {
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
  NodeTable::Dropped dropped;
  const MutexLock lock(mutex_);
  if (Node* node = nodes_.find(id)) dropped = nodes_.forget(*node, references);
}

void Nodes::pin(NodeId id) {
  const MutexLock lock(mutex_);
  nodes_.node(id).pins++;
}

void Nodes::unpin(NodeId id) {
  NodeTable::Dropped dropped;
  const MutexLock lock(mutex_);
  dropped = nodes_.unpin(nodes_.node(id));
}

std::optional<Nodes::NodeName> Nodes::name_of(NodeId id) const {
  const MutexLock lock(mutex_);
  const Node& node = nodes_.node(id);
  if (!node.has_name()) return std::nullopt;
  const auto& wanted = node.rare().wanted_name;
  NodeName name;
  name.full_name = wanted.value_or(node.name.name);
  name.shown = node.shown;
  if (wanted) name.waiting_as = node.name.name;
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
  return {id, attributes, false};
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
  return first != opened_names_.end() && first->directory == directory;
}

NodeId Nodes::overtaken_node(NodeId directory, const std::string& full_name,
                             const std::optional<Identity>& there) {
  std::vector<std::shared_ptr<const OpenFile>> files;  // destroyed behind the lock
  const MutexLock lock(mutex_);
  for (auto at = opened_names_.lower_bound({directory, full_name, 0});
       at != opened_names_.end() && at->directory == directory && at->full_name == full_name;) {
    const Node* const node = nodes_.find(at->node);
    const auto file = node == nullptr ? nullptr : node->open_file.lock();
    if (file) files.push_back(file);
    // Entries of names that are no longer true are dropped on the way.
    if (!file || !node->has_name() || node->name.parent->id != directory ||
        node->name.name != full_name) {
      at = opened_names_.erase(at);
      continue;
    }
    const bool is_it = there && node->identity == *there;
    if (!is_it && !node->rare().wanted_name && file->leads()) return node->id;
    ++at;
  }
  return 0;
}

bool Nodes::follow(NodeId id, const SourceEntry& entry) {
  const MutexLock lock(mutex_);
  Node& node = nodes_.node(id);
  // Only a node that nobody has opened may become another state: pages that the kernel keeps, and
  // handles, belong to one.
  if (node.was_opened || !node.open_file.expired() || !node.is_container() || !entry.is_container())
    return false;
  nodes_.set_identity(node, identity_of(entry.own_stat));
  node.kind = entry.kind;
  node.shown = entry.shown;
  node.state = state_of(entry.content_stat);
  node.is_untold = true;
  return true;
}

// --- what is open

bool Nodes::take_change(NodeId id, const SourceEntry& entry) {
  const MutexLock lock(mutex_);
  Node& node = nodes_.node(id);
  if (node.is_container() != entry.is_container()) throw_stale(id);
  node.was_opened = true;
  // A container's node is one state, but for what happened before its first open.
  if (!entry.is_container()) {
    const FileState previous = std::exchange(node.state, state_of(entry.content_stat));
    if (!(previous == node.state)) node.is_untold = true;
  }
  return node.is_untold || node.is_being_told;
}

bool Nodes::begin_telling(NodeId id) {
  const MutexLock lock(mutex_);
  Node* const node = nodes_.find(id);
  if (node == nullptr || !std::exchange(node->is_untold, false)) return false;
  node->is_being_told = true;
  return true;
}

void Nodes::end_telling(NodeId id) {
  const MutexLock lock(mutex_);
  if (Node* const node = nodes_.find(id)) node->is_being_told = false;
}

std::shared_ptr<const OpenFile> Nodes::opened(NodeId id) const {
  const MutexLock lock(mutex_);
  return nodes_.node(id).open_file.lock();
}

std::shared_ptr<const OpenFile> Nodes::share(NodeId id, std::shared_ptr<const OpenFile> file,
                                             const SourceEntry& entry) {
  std::shared_ptr<const OpenFile> other;  // destroyed behind the lock
  const MutexLock lock(mutex_);
  Node& node = nodes_.node(id);
  other = node.open_file.lock();
  // Two opens met: the first one's file is everybody's. One that was opened as a plain file serves
  // no container.
  if (other && is_same_kind(*other, *file)) return other;
  // The state that was opened is not the node's any more: the kernel looks the name up again.
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

bool Nodes::has_plain_writers(NodeId id) const {
  const MutexLock lock(mutex_);
  return nodes_.node(id).rare().plain_writers > 0;
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

bool Nodes::is_last_plain_writer(NodeId id) const {
  const MutexLock lock(mutex_);
  return nodes_.node(id).rare().plain_writers == 1;
}

/// Names that nothing is open of any more are forgotten now and then.
void Nodes::note_opened(const Node& node) {
  if (!node.has_name() || node.rare().wanted_name) return;
  if (opened_names_.size() >= names_to_look_through_) {
    std::erase_if(opened_names_, [&](const OpenedName& named) REQUIRES(mutex_) {
      const Node* const known = nodes_.find(named.node);
      return known == nullptr || known->open_file.expired();
    });
    names_to_look_through_ = 64 + 2 * opened_names_.size();
  }
  opened_names_.insert({node.name.parent->id, node.name.name, node.id});
}

void Nodes::retire_opened(NodeId id, const OpenFile& file) {
  std::shared_ptr<const OpenFile> opened;  // destroyed behind the lock
  const MutexLock lock(mutex_);
  Node& node = nodes_.node(id);
  opened = node.open_file.lock();
  if (opened.get() != &file) return;
  node.open_file.reset();
  node.is_untold = true;
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

void Nodes::set_part(NodeId id, const std::shared_ptr<const ArchivePart>& part) {
  std::shared_ptr<const ArchivePart> before;  // destroyed behind the lock
  const MutexLock lock(mutex_);
  Node& node = nodes_.node(id);
  if (node.rare().part) before = nodes_.set_part(node, part);
}

bool Nodes::set_part_if_unopened(NodeId id, const std::shared_ptr<const ArchivePart>& part) {
  std::shared_ptr<const ArchivePart> before;  // destroyed behind the lock
  const MutexLock lock(mutex_);
  Node* const node = nodes_.find(id);
  if (node == nullptr || node->was_opened || !node->rare().part) return false;
  before = nodes_.set_part(*node, part);
  return true;
}

std::shared_ptr<const OpenContainer> Nodes::share_part(
    NodeId id, const std::shared_ptr<const OpenContainer>& file) {
  const MutexLock lock(mutex_);
  Node& node = nodes_.node(id);
  node.was_opened = true;
  // Somebody else may have come first.
  if (auto known = std::dynamic_pointer_cast<const OpenContainer>(node.open_file.lock()))
    return known;
  node.open_file = file;
  return file;
}

void Nodes::leave_states(NodeId root, const Archive* present) {
  std::vector<std::shared_ptr<const ArchivePart>> before;  // destroyed behind the lock
  const MutexLock lock(mutex_);
  for (Node* const node : nodes_.parts()) {
    const auto& part = node->rare().part;
    if (part->root != root || !part->embed || part->archive.get() == present) continue;
    auto left = std::make_shared<ArchivePart>(*part);
    left->archive = nullptr;
    before.push_back(nodes_.set_part(*node, std::move(left)));
  }
}

void Nodes::become_directory(NodeId id, const struct stat& st) {
  std::shared_ptr<const ArchivePart> before;  // destroyed behind the lock
  const MutexLock lock(mutex_);
  Node* const node = nodes_.find(id);
  if (node == nullptr || !node->rare().part) return;
  before = nodes_.set_part(*node, nullptr);
  nodes_.set_identity(*node, identity_of(st));
  node->state = state_of(st);
}

/// Archives release nodes when they are destroyed.
void Nodes::drop_parts() {
  std::vector<std::shared_ptr<const ArchivePart>> before;  // destroyed behind the lock
  const MutexLock lock(mutex_);
  for (Node* const node : nodes_.parts()) before.push_back(nodes_.set_part(*node, nullptr));
}

}  // namespace bloscfs::fs
