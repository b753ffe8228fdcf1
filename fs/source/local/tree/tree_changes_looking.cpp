// Looks at the tree while nobody else changes it.

#include <algorithm>
#include <array>
#include <system_error>

#include <fcntl.h>

#include "frame/header/sframe_format.hpp"
#include "fs/source/local/files/target_name.hpp"
#include "fs/source/local/tree/node_table.hpp"
#include "fs/source/local/tree/tree_changes.hpp"

namespace bloscfs::fs {

std::optional<NamedObject> TreeChanges::find(NodeId directory, const std::string& shown_name) {
  tree_.names_.assert_alone();
  const SourcePath path = tree_.path(directory);
  const auto shown = tree_.resolve_entry(directory, path, shown_name);
  if (!shown || !shown->entry) return std::nullopt;
  const SourceEntry& entry = *shown->entry;
  if (entry.unreadable) throw std::system_error(entry.unreadable, shown->full_name);
  return describe(directory, path, shown->full_name, entry, false);
}

std::optional<NamedObject> TreeChanges::stored(NodeId directory, const std::string& full_name) {
  tree_.names_.assert_alone();
  const SourcePath path = tree_.path(directory);
  auto entry = tree_.look_whole(join_path(path, full_name));
  if (!entry) return std::nullopt;
  return NamedObject{directory, path, full_name, full_name, *entry, 0, false, std::nullopt};
}

bool TreeChanges::is_known(const struct stat& object) const {
  const MutexLock lock(tree_.mutex_);
  return tree_.nodes_.current(identity_of(object)) != nullptr;
}

std::shared_ptr<const SourceObject> TreeChanges::remains(NodeId node) const {
  const MutexLock lock(tree_.mutex_);
  const Node& found = tree_.nodes_.node(node);
  if (!found.rare().remains) throw_stale(node);
  return found.rare().remains;
}

bool TreeChanges::makes_frame(const NamedObject& object, const std::string& full_name) const {
  if (full_name != frame::kSframeIndexName || !S_ISREG(object.entry.own_stat.st_mode)) return false;
  const frame::FileSource file(tree_.root_.object(object.path()).open_quietly(O_RDONLY), nullptr);
  std::array<std::uint8_t, 32> start{};
  const std::size_t size = file.read_at(0, start);
  return frame::recognise(frame::Bytes(start).first(size)).has_value();
}

std::string TreeChanges::shown_name(const NamedObject& object) {
  tree_.names_.assert_alone();
  std::string preferred = preferred_name(object.full_name, object.entry.shown);
  if (tree_.is_virtual(object.directory)) return preferred;
  const auto owner = tree_.resolve(object.directory, object.directory_path, preferred);
  return owner == object.full_name ? preferred : object.full_name;
}

bool TreeChanges::is_empty(const NamedObject& directory) {
  if (directory.entry.is_store() || directory.entry.has_embedded) return false;
  const auto above = tree_.store_place(directory.directory);
  if (above && !directory.entry.is_store_directory() &&
      tree_.beside_->has_any(above->inside(directory.stored_name)))
    return false;
  if (!pending_in(directory.node).empty()) return false;
  const SourcePath path = directory.path();
  const auto entries = tree_.root_.list(path);
  return std::none_of(entries.begin(), entries.end(), [&](const SourceRoot::Entry& entry) {
    tree_.names_.assert_alone();
    return tree_.present_entry(directory.node, path, entry.name).has_value();
  });
}

std::vector<NodeId> TreeChanges::pending_in(NodeId directory) const {
  std::vector<NodeId> ids;
  const MutexLock lock(tree_.mutex_);
  for (const Node* node : tree_.nodes_.pending_in(directory)) ids.push_back(node->id);
  return ids;
}

}  // namespace bloscfs::fs
