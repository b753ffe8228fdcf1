// What is in archives, and beside the entries of stores that are directories.

#include <cerrno>
#include <string_view>
#include <utility>

#include "frame/pystore/store_names.hpp"
#include "fs/options/container_suffixes.hpp"
#include "fs/source/local/tree/tree_changes.hpp"
#include "fs/support/lock_breaks.hpp"

namespace bloscfs::fs {

bool Tree::is_in_store(NodeId id) const {
  if (!has_store_directories_) return false;
  const MutexLock lock(mutex_);
  for (const Node* node = nodes_.find(id); node != nullptr; node = node->name.parent)
    if (node->is_store_directory()) return true;
  return false;
}

std::optional<StorePlace> Tree::store_place(NodeId directory) const {
  if (!has_store_directories_ || beside_ == nullptr) return std::nullopt;
  std::string group;
  const MutexLock lock(mutex_);
  const Node* node = nodes_.find(directory);
  if (node == nullptr || !S_ISDIR(node->type)) return std::nullopt;
  while (!node->is_store_directory()) {
    if (!node->has_name() || node->is_store()) return std::nullopt;
    group.insert(0, node->name.name).insert(0, "/");
    node = node->name.parent;
  }
  return StorePlace{node->id, nodes_.path(*node), group.empty() ? "/" : std::move(group)};
}

bool Tree::is_hidden_in_store(NodeId directory, const SourcePath& path,
                              const std::string& full_name) {
  if (!has_store_directories_ || !frame::is_hidden_in_store(full_name, true)) return false;
  const auto place = store_place(directory);
  if (!place || !frame::is_hidden_in_store(full_name, place->group == "/")) return false;
  const auto st = root_.stat(join_path(path, full_name));
  return !st || S_ISREG(st->st_mode);
}

bool TreeChanges::belongs_to_store(const NamedObject& directory, const std::string& name) const {
  const auto place = tree_.store_place(directory.node);
  if (!place) return false;
  return (place->group == "/" && name == frame::kEmbedName) ||
         frame::leaf_stem(name) == frame::kGroupAttributes;
}

bool Tree::is_leaf_hidden(NodeId directory, const SourcePath& path, const std::string& key_name) {
  const auto hides = [&](const std::string& name) {
    names_.assert_shared();
    const auto entry = present_entry(directory, path, name);
    if (!entry) return false;
    const bool is_leaf = frame::leaf_form(name) != frame::LeafForm::other;
    return entry->is_container() || (is_leaf && S_ISREG(entry->own_stat.st_mode));
  };
  if (frame::leaf_stem(key_name) == key_name && hides(key_name)) return true;
  for (const std::string_view suffix : kHiddenSuffixes)
    if (hides(key_name + std::string(suffix))) return true;
  return false;
}

std::optional<ArchiveEntry> Tree::beside_entry(NodeId directory, const SourcePath& path,
                                               const std::string& full_name) {
  const auto place = store_place(directory);
  if (!place) return std::nullopt;
  auto entry = beside_->find(*place, full_name);
  if (!entry || entry->is_group()) return entry;
  const std::string key_name(frame::last_part(entry->key));
  return is_leaf_hidden(directory, path, key_name) ? std::nullopt : std::move(entry);
}

std::optional<ShownAs> Tree::shown_as(NodeId directory, const SourcePath& path,
                                      const std::string& full_name) {
  if (const auto entry = visible_entry(directory, path, full_name)) return entry->shown;
  if (const auto entry = beside_entry(directory, path, full_name)) return entry->shown;
  return std::nullopt;
}

std::optional<ArchiveEntry> Tree::find_beside(NodeId directory, const std::string& name) {
  if (!store_place(directory)) return std::nullopt;
  return Attempts::run([&]() -> std::optional<ArchiveEntry> {
    const ReadNames names(names_);
    const SourcePath path = this->path(directory);
    const auto full_name = resolve(directory, path, name);
    if (!full_name || present_entry(directory, path, *full_name)) return std::nullopt;
    return beside_entry(directory, path, *full_name);
  });
}

std::optional<FoundNode> Tree::entered_beside(NodeId directory, const std::string& name,
                                              std::optional<Adopted> found) {
  if (found && !found->beside) return found;
  const auto place = store_place(directory);
  if (!place) return std::nullopt;
  if (!found) {
    beside_->require_complete(*place, name);
    return std::nullopt;
  }
  const auto part = beside_->part(*place, *found->beside);
  if (!part) return std::nullopt;
  found->attributes = beside_->attributes(*part);
  found->id = enter_part(directory, part);
  return found;
}

Beside::Listed Tree::list_beside(NodeId directory, const std::function<void()>& if_many) {
  const auto place = store_place(directory);
  return place ? beside_->list(*place, if_many) : Beside::Listed();
}

// --- nodes of parts

std::shared_ptr<const ArchivePart> Tree::part(NodeId id) const {
  const MutexLock lock(mutex_);
  const Node* const node = nodes_.find(id);
  return node == nullptr ? nullptr : node->rare().part;
}

NodeId Tree::enter_part(NodeId directory, const std::shared_ptr<const ArchivePart>& part) {
  const MutexLock lock(mutex_);
  return nodes_.enter_part(nodes_.node(directory), part).id;
}

void Tree::set_part(NodeId id, const std::shared_ptr<const ArchivePart>& part) {
  std::shared_ptr<const ArchivePart> before;  // destroyed behind the lock
  const MutexLock lock(mutex_);
  Node& node = nodes_.node(id);
  if (node.rare().part) before = nodes_.set_part(node, part);
}

bool Tree::set_part_if_unopened(NodeId id, const std::shared_ptr<const ArchivePart>& part) {
  std::shared_ptr<const ArchivePart> before;  // destroyed behind the lock
  const MutexLock lock(mutex_);
  Node* const node = nodes_.find(id);
  if (node == nullptr || node->was_opened || !node->rare().part) return false;
  before = nodes_.set_part(*node, part);
  return true;
}

std::shared_ptr<const OpenContainer> Tree::share_part(
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

void Tree::leave_states(NodeId root, const Archive* present) {
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

void Tree::become_directory(NodeId id, const struct stat& st) {
  std::shared_ptr<const ArchivePart> before;  // destroyed behind the lock
  const MutexLock lock(mutex_);
  Node* const node = nodes_.find(id);
  if (node == nullptr || !node->rare().part) return;
  before = nodes_.set_part(*node, nullptr);
  nodes_.set_identity(*node, identity_of(st));
  node->state = state_of(st);
}

/// Archives release nodes when they are destroyed.
void Tree::drop_parts() {
  std::vector<std::shared_ptr<const ArchivePart>> before;  // destroyed behind the lock
  const MutexLock lock(mutex_);
  for (Node* const node : nodes_.parts()) before.push_back(nodes_.set_part(*node, nullptr));
}

}  // namespace bloscfs::fs
