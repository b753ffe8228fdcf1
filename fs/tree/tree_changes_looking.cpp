// Looks at the tree while nobody else changes it.

#include <algorithm>
#include <array>
#include <system_error>

#include <fcntl.h>

#include "frame/header/sframe_format.hpp"
#include "frame/store/peer_lock.hpp"
#include "fs/source/target_name.hpp"
#include "fs/tree/node_table.hpp"
#include "fs/tree/tree_changes.hpp"

namespace bloscfs::fs {
namespace {

/// A lock sidecar holds no more (frame/formats/sidecars.md, "Sidecar").
constexpr off_t kMaxSidecar = 16;

bool is_sidecar(const struct stat& st) { return S_ISREG(st.st_mode) && st.st_size <= kMaxSidecar; }

}  // namespace

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

EntryProbe TreeChanges::probe(NodeId directory, const SourcePath& path,
                              const AfterChange& after_change) {
  return [this, directory, path, after_change](const std::string& name) -> std::optional<ShownAs> {
    tree_.names_.assert_alone();
    // SOURCE as it will be: what arrives is there, what goes is not, and the rest is asked for.
    for (const AfterChange::Arrival& arrival : after_change.arrived)
      if (arrival.directory == directory && arrival.full_name == name) return arrival.shown;
    for (const NamedObject* gone : after_change.gone)
      if (gone != nullptr && gone->directory == directory && gone->full_name == name)
        return std::nullopt;
    return tree_.shown_as(directory, path, name);
  };
}

/// True if an entry of that name would be hidden itself, or hide another one.
bool TreeChanges::hides(NodeId directory, const SourcePath& path, const std::string& full_name,
                        ShownAs shown) {
  tree_.names_.assert_alone();
  if (const auto locked = locked_name(full_name)) {
    const auto frame = tree_.present_entry(directory, path, std::string(*locked));
    if (frame && frame->is_container) return true;
  }
  if (tree_.is_hidden_in_store(directory, path, full_name)) return true;
  if (shown == ShownAs::itself) return false;
  // A sidecar that a removed frame has left serves the new one. Any other file of that name would
  // be hidden as one.
  const auto other = tree_.root_.stat(join_path(path, full_name + frame::kSidecarSuffix));
  return other && !is_sidecar(*other);
}

bool TreeChanges::fits(NodeId directory, const std::string& shown_name,
                       const std::string& full_name, ShownAs shown,
                       const AfterChange& after_change) {
  const SourcePath path = tree_.path(directory);
  const auto is_there = [&](const NamedObject* gone) {
    return gone != nullptr && gone->directory == directory &&
           (gone->stored_name == full_name || (gone->replaces && gone->full_name == full_name));
  };
  // Hidden things count, too: a temporary or a sidecar has the name, though nobody sees it.
  if (std::none_of(after_change.gone.begin(), after_change.gone.end(), is_there) &&
      tree_.root_.stat(join_path(path, full_name)))
    return false;
  if (tree_.is_virtual(directory)) return preferred_name(full_name, shown) == shown_name;
  return shows_as(shown_name, full_name, shown, probe(directory, path, after_change)) &&
         !hides(directory, path, full_name, shown);
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
  if (directory.entry.is_store || directory.entry.has_embedded) return false;
  const auto above = tree_.store_place(directory.directory);
  if (above && !directory.entry.is_store_directory &&
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
