#include "fs/tree_changes.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>

#include "frame/open.hpp"
#include "fs/target_name.hpp"

namespace bloscfs::fs {
namespace {

constexpr const char* kLockSuffix = ".b2lock";
/// A lock sidecar holds no more (formats/sframe.md 3).
constexpr off_t kMaxSidecar = 16;

bool is_linked(const SourceObject& object) { return object.stat().st_nlink > 0; }

bool is_sidecar(const struct stat& st) { return S_ISREG(st.st_mode) && st.st_size <= kMaxSidecar; }

}  // namespace

bool has_links(const NamedObject& object) {
  const struct stat& file = object.entry.source;
  return !object.is_pending && S_ISREG(file.st_mode) && !object.entry.is_sframe &&
         file.st_nlink > 1;
}

void require_no_links(const NamedObject& object) {
  if (has_links(object))
    throw std::system_error(EOPNOTSUPP, std::generic_category(),
                            object.path() + ": has other names");
}

NamedObject TreeChanges::describe(NodeId directory, const std::string& path,
                                  const std::string& full_name, SourceEntry entry, bool any_state) {
  const bool live = any_state || tree_.is_live(entry);
  NamedObject object{directory, path, full_name, full_name, entry, 0, false, false};
  const MutexLock lock(tree_.mutex_);
  if (const Node* pending = tree_.nodes_.pending(directory, full_name)) {
    object.node = pending->id;
    object.stored_name = pending->name.name;
    object.is_pending = true;
    object.replaces = pending->rare().replaces;
  } else if (const Node* node = tree_.node_of(object.entry, live)) {
    object.node = node->id;
  }
  return object;
}

std::optional<NamedObject> TreeChanges::find(NodeId directory, const std::string& shown_name) {
  const std::string path = tree_.path(directory);
  const auto full_name = tree_.resolve(directory, path, shown_name);
  if (!full_name) return std::nullopt;
  auto entry = tree_.visible_entry(directory, path, *full_name);
  if (!entry) return std::nullopt;
  return describe(directory, path, *full_name, *entry, false);
}

std::optional<NamedObject> TreeChanges::stored(NodeId directory, const std::string& full_name) {
  const std::string path = tree_.path(directory);
  auto entry = tree_.look(join_path(path, full_name));
  if (!entry) return std::nullopt;
  return NamedObject{directory, path, full_name, full_name, *entry, 0, false, false};
}

std::optional<NamedObject> TreeChanges::object_in(NodeId id, bool any_state) {
  Node::Name name;
  std::optional<std::string> wanted;
  NodeId directory = 0;
  bool is_own = false;
  {
    const MutexLock lock(tree_.mutex_);
    const Node& node = tree_.nodes_.node(id);
    if (!node.has_name()) return std::nullopt;
    is_own = any_state && node.is_container && !node.rare().wanted_name;
    name = node.name;
    directory = name.parent->id;
    wanted = node.rare().wanted_name;
  }
  const std::string path = tree_.path(directory);
  const std::string full_name = wanted.value_or(name.name);
  auto entry = is_own ? tree_.classifier_.look_at_own(join_path(path, full_name))
                      : tree_.visible_entry(directory, path, full_name);
  if (!entry) return std::nullopt;
  NamedObject object = describe(directory, path, full_name, *entry, any_state);
  if (object.node != id) return std::nullopt;
  return object;
}

bool TreeChanges::is_unlinked(NodeId node) const {
  const MutexLock lock(tree_.mutex_);
  return node != kRootId && !tree_.nodes_.node(node).has_name();
}

bool TreeChanges::is_known(const struct stat& object) const {
  const MutexLock lock(tree_.mutex_);
  return tree_.nodes_.current(identity_of(object)) != nullptr;
}

std::shared_ptr<const SourceObject> TreeChanges::remains(NodeId node) const {
  const MutexLock lock(tree_.mutex_);
  const Node& found = tree_.nodes_.node(node);
  if (!found.rare().remains)
    throw std::system_error(ESTALE, std::generic_category(), "inode " + std::to_string(node));
  return found.rare().remains;
}

EntryProbe TreeChanges::probe(NodeId directory, const std::string& path, const Ahead& ahead) {
  return [this, directory, path, ahead](const std::string& name) -> std::optional<ShownAs> {
    for (const Ahead::Arrival& arrival : ahead.arrived)
      if (arrival.directory == directory && arrival.full_name == name) return arrival.shown;
    for (const NamedObject* gone : ahead.gone)
      if (gone != nullptr && gone->directory == directory && gone->full_name == name)
        return std::nullopt;
    const auto entry = tree_.visible_entry(directory, path, name);
    return entry ? std::optional<ShownAs>(entry->shown) : std::nullopt;
  };
}

/// True if an entry of that name would be hidden itself, or hide another one.
bool TreeChanges::hides(NodeId directory, const std::string& path, const std::string& full_name,
                        ShownAs shown) {
  if (const auto locked = locked_name(full_name)) {
    const auto frame = tree_.visible_entry(directory, path, std::string(*locked));
    if (frame && frame->is_container) return true;
  }
  if (shown == ShownAs::itself) return false;
  // What is left of the lock of a frame that was removed serves the new one.
  const auto other = tree_.root_.stat(join_path(path, full_name + kLockSuffix));
  return other && !is_sidecar(*other);
}

bool TreeChanges::fits(NodeId directory, const std::string& shown_name,
                       const std::string& full_name, ShownAs shown, const Ahead& ahead) {
  const std::string path = tree_.path(directory);
  const auto is_there = [&](const NamedObject* gone) {
    return gone != nullptr && gone->directory == directory &&
           (gone->stored_name == full_name || (gone->replaces && gone->full_name == full_name));
  };
  if (std::none_of(ahead.gone.begin(), ahead.gone.end(), is_there) &&
      tree_.root_.stat(join_path(path, full_name)))
    return false;
  if (tree_.is_virtual(directory)) return preferred_name(full_name, shown) == shown_name;
  return shows_as(shown_name, full_name, shown, probe(directory, path, ahead)) &&
         !hides(directory, path, full_name, shown);
}

bool TreeChanges::makes_frame(const NamedObject& object, const std::string& full_name) const {
  if (full_name != kSframeIndex || !S_ISREG(object.entry.entry.st_mode)) return false;
  const frame::FileSource file(tree_.root_.object(object.path()).open_quietly(O_RDONLY), nullptr);
  std::array<std::uint8_t, 32> start{};
  const std::size_t size = file.read_at(0, start);
  return frame::recognise(frame::Bytes(start).first(size)).has_value();
}

std::string TreeChanges::shown_name(const NamedObject& object) {
  std::string preferred = preferred_name(object.full_name, object.entry.shown);
  if (tree_.is_virtual(object.directory)) return preferred;
  const auto owner = tree_.resolve(object.directory, object.directory_path, preferred);
  return owner == object.full_name ? preferred : object.full_name;
}

bool TreeChanges::is_empty(const NamedObject& directory) {
  if (!pending_in(directory.node).empty()) return false;
  const std::string path = directory.path();
  const auto entries = tree_.root_.list(path);
  return std::none_of(entries.begin(), entries.end(), [&](const SourceRoot::Entry& entry) {
    return tree_.visible_entry(directory.node, path, entry.name).has_value();
  });
}

std::vector<NodeId> TreeChanges::pending_in(NodeId directory) const {
  std::vector<NodeId> ids;
  const MutexLock lock(tree_.mutex_);
  for (const Node* node : tree_.nodes_.pending_in(directory)) ids.push_back(node->id);
  return ids;
}

NodeId TreeChanges::entered(NodeId directory, const std::string& full_name) {
  const std::string path = join_path(tree_.path(directory), full_name);
  const auto entry = tree_.look(path);
  if (!entry) throw std::system_error(ESTALE, std::generic_category(), path);
  return tree_.adopt_entry(directory, full_name, *entry).id;
}

NodeId TreeChanges::entered_pending(NodeId directory, const std::string& stored_name,
                                    const std::string& wanted_name) {
  const std::string path = join_path(tree_.path(directory), stored_name);
  const auto st = tree_.root_.stat(path);
  if (!st) throw std::system_error(ESTALE, std::generic_category(), path);
  const MutexLock lock(tree_.mutex_);
  Node& parent = tree_.nodes_.node(directory);
  Node& node = tree_.nodes_.add(parent, stored_name, identity_of(*st));
  node.is_container = true;
  node.type = S_IFREG;
  node.state = state_of(*st);
  tree_.nodes_.set_pending(node, wanted_name);
  return node.id;
}

void TreeChanges::take_state(Node& node, const std::string& path) {
  const auto st = tree_.root_.stat(node.is_sframe ? join_path(path, kSframeIndex) : path);
  if (st) node.state = state_of(*st);
}

NodeTable::Dropped TreeChanges::rename_node(Node& node, const NamedObject& object, NodeId directory,
                                            const std::string& name) {
  NodeTable& nodes = tree_.nodes_;
  auto dropped = nodes.clear_pending(node);
  const auto keep = [&dropped](NodeTable::Dropped more) {
    for (auto& one : more) dropped.push_back(std::move(one));
  };
  keep(nodes.add_name(node, nodes.node(directory), name));
  if (object.directory != directory || object.stored_name != name)
    keep(nodes.remove_name(node, nodes.node(object.directory), object.stored_name));
  take_state(node, nodes.path(node));
  return dropped;
}

void TreeChanges::moved(const NamedObject& object, NodeId directory, const std::string& full_name) {
  if (object.node == 0) return;
  NodeTable::Dropped parents, unused;  // destroyed behind the lock
  const MutexLock lock(tree_.mutex_);
  Node& node = tree_.nodes_.node(object.node);
  node.pins++;
  parents = rename_node(node, object, directory, full_name);
  unused = tree_.nodes_.unpin(node);
  if (tree_.single_ && directory == kRootId) tree_.single_ = full_name;
}

void TreeChanges::moved_pending(const NamedObject& object, NodeId directory,
                                const std::string& stored_name, const std::string& wanted_name,
                                bool replaces) {
  NodeTable::Dropped parents;
  const MutexLock lock(tree_.mutex_);
  Node& node = tree_.nodes_.node(object.node);
  node.pins++;
  parents = rename_node(node, object, directory, stored_name);
  tree_.nodes_.set_pending(node, wanted_name);
  node.make_rare().replaces = replaces;
  node.pins--;
}

bool TreeChanges::removed(const NamedObject& object, std::shared_ptr<const SourceObject> remains) {
  if (object.node == 0) return false;
  NodeTable::Dropped parents, unused;
  const MutexLock lock(tree_.mutex_);
  NodeTable& nodes = tree_.nodes_;
  Node& node = nodes.node(object.node);
  node.pins++;
  unused = nodes.clear_pending(node);
  parents = nodes.remove_name(node, nodes.node(object.directory), object.stored_name);
  const bool is_last = !node.has_name();
  if (is_last) {
    const auto& kept = node.make_rare().remains = std::move(remains);
    // Another object may get the inode's number.
    if (!kept || S_ISDIR(node.type) || node.is_sframe || !is_linked(*kept)) nodes.retire(node);
  } else {
    take_state(node, nodes.path(node));
  }
  unused = nodes.unpin(node);
  return is_last;
}

void TreeChanges::touched(const NamedObject& object) {
  if (object.node == 0) return;
  const MutexLock lock(tree_.mutex_);
  take_state(tree_.nodes_.node(object.node), object.path());
}

void TreeChanges::link_lost(const NamedObject& object) {
  const Identity identity = identity_of(object.entry.entry);
  const MutexLock lock(tree_.mutex_);
  Node* node = tree_.nodes_.current(identity);
  if (node == nullptr || !(node->state == state_of(object.entry.source))) return;
  for (const std::string& path : tree_.nodes_.paths(*node))
    if (const auto st = tree_.root_.stat(path); st && identity_of(*st) == identity)
      return take_state(*node, path);
}

void TreeChanges::replaced(NodeId id, NodeId directory, const std::string& stored_name) {
  const std::string path = join_path(tree_.path(directory), stored_name);
  const auto entry = tree_.look(path);
  if (!entry) throw std::system_error(ESTALE, std::generic_category(), path);
  const MutexLock lock(tree_.mutex_);
  take_entry(tree_.nodes_.node(id), *entry);
}

void TreeChanges::rewritten(const NamedObject& object) {
  const auto st = tree_.root_.stat(object.path());
  {
    const MutexLock lock(tree_.mutex_);
    Node& node = tree_.nodes_.node(object.node);
    if (st && !node.is_sframe && identity_of(*st) == node.identity) {
      node.state = state_of(*st);
      return;
    }
  }
  // The commit has made another file of it: only a look tells what the cache knows of that.
  replaced(object.node, object.directory, object.stored_name);
}

void TreeChanges::take_entry(Node& node, const SourceEntry& entry) {
  tree_.nodes_.set_identity(node, identity_of(entry.entry));
  node.is_sframe = entry.is_sframe;
  // Whoever has it open as a plain file keeps that, and nobody else gets it.
  if (entry.is_container && !node.is_container) node.open_file.reset();
  if (!node.rare().wanted_name) node.is_container = entry.is_container;
  if (node.is_container && node.rare_parts) node.rare_parts->plain_writers = 0;
  node.state = state_of(entry.source);
}

void TreeChanges::at_end(NodeId id, std::shared_ptr<void> keeper) {
  using Both = std::pair<std::shared_ptr<void>, std::shared_ptr<void>>;
  const MutexLock lock(tree_.mutex_);
  std::shared_ptr<void>& kept = tree_.nodes_.node(id).make_rare().at_end;
  kept = std::make_shared<Both>(std::move(kept), std::move(keeper));
}

}  // namespace bloscfs::fs
