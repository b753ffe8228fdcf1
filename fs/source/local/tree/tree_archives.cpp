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

bool Tree::is_hidden_in_store(const Directory& in, const std::string& full_name) {
  if (!has_store_directories_ || !frame::is_hidden_in_store(full_name, true)) return false;
  const auto place = store_place(in.id);
  if (!place || !frame::is_hidden_in_store(full_name, place->group == "/")) return false;
  const auto st = root_.stat(join_path(in.path, full_name));
  return !st || S_ISREG(st->st_mode);
}

bool TreeChanges::belongs_to_store(const NamedObject& directory, const std::string& name) const {
  const auto place = tree_.store_place(directory.node);
  if (!place) return false;
  return (place->group == "/" && name == frame::kEmbedName) ||
         frame::leaf_stem(name) == frame::kGroupAttributes;
}

bool Tree::is_leaf_hidden(const Directory& in, const std::string& key_name) {
  const auto hides = [&](const std::string& name) {
    names_.assert_shared();
    const auto entry = present_entry(in, name);
    if (!entry) return false;
    const bool is_leaf = frame::leaf_form(name) != frame::LeafForm::other;
    return entry->is_container() || (is_leaf && S_ISREG(entry->own_stat.st_mode));
  };
  if (frame::leaf_stem(key_name) == key_name && hides(key_name)) return true;
  for (const std::string_view suffix : kHiddenSuffixes)
    if (hides(key_name + std::string(suffix))) return true;
  return false;
}

std::optional<ArchiveEntry> Tree::beside_entry(const Directory& in, const std::string& full_name) {
  const auto place = store_place(in.id);
  if (!place) return std::nullopt;
  auto entry = beside_->find(*place, full_name);
  if (!entry || entry->is_group()) return entry;
  const std::string key_name(frame::last_part(entry->key));
  return is_leaf_hidden(in, key_name) ? std::nullopt : std::move(entry);
}

std::optional<ArchiveEntry> Tree::find_beside(NodeId directory, const std::string& name) {
  if (!store_place(directory)) return std::nullopt;
  return Attempts::run([&] {
    const ReadNames names(names_);
    const Directory in = this->directory(directory);
    const auto shown = resolve(in, name);
    return shown && !shown->entry ? beside_entry(in, shown->full_name) : std::nullopt;
  });
}

std::optional<FoundNode> Tree::find_part_beside(NodeId directory, const std::string& name) {
  const auto place = store_place(directory);
  if (!place) return std::nullopt;
  const auto entry = find_beside(directory, name);
  if (!entry) beside_->require_complete(*place, name);
  const auto part = entry ? beside_->part(*place, entry->full_name) : nullptr;
  if (!part) return std::nullopt;
  const struct stat attributes = beside_->attributes(*part);
  const bool is_fallback = preferred_name(entry->full_name, entry->shown) != name;
  return FoundNode{enter_part(directory, part), attributes, is_fallback};
}

}  // namespace bloscfs::fs
