#include "fs/source/local/stores/stores.hpp"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <optional>
#include <variant>

#include <fmt/core.h>

#include "frame/store/throw_errno.hpp"
#include "fs/source/archives/store_attributes.hpp"
#include "fs/support/log.hpp"
#include "fs/support/turns.hpp"
#include "fs/view/thread_decoder.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;

constexpr const char* kSystemPrefix = "system.";

}  // namespace

/// Keeps the node of a store's file, whose attributes are those of what is in it.
std::shared_ptr<void> Stores::keep_node(NodeId id) {
  tree_.pin(id);
  return {nullptr, [&tree = tree_, id](void*) { tree.unpin(id); }};
}

/// One for each object of a store, the same whenever that is asked.
ino_t Stores::inode_of(const struct stat& store, const MountedStore::Child& child) {
  const std::size_t hash = std::hash<std::string>()(child.key) * 2 + (child.leaf ? 1 : 0);
  return static_cast<ino_t>(hash ^ (static_cast<std::size_t>(store.st_ino) << 32));
}

Stores::Node Stores::node(NodeId id) const {
  const MutexLock lock(mutex_);
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) throw_stale(id);
  return found->second;
}

std::shared_ptr<const MountedStore> Stores::open_store(NodeId root) {
  const SourcePath path = tree_.store_path(root);
  const SourceEntry entry = tree_.store_entry(root);
  auto charge = charge_for(path);
  auto opened = entry.is_store() ? tree_.open_store(path, entry, charge) : nullptr;
  if (!opened) throw_errno(ESTALE, path.text());
  for (const std::string& message : opened->messages())
    log::warn(fmt::format("{}: {}", path.text(), message));
  return std::make_shared<const MountedStore>(std::move(opened), raw_, std::move(charge),
                                              keep_node(root));
}

std::shared_ptr<MemoryBudget::Listing> Stores::charge_for(const SourcePath& path) {
  return std::make_shared<MemoryBudget::Listing>(budget_, path.text(),
                                                 [this] { return drop_recent(); });
}

/// Of the recent stores the one that was not used for longest, and that the kernel knows nothing
/// in.
bool Stores::drop_recent() {
  std::optional<std::shared_ptr<const MountedStore>> dropped;  // destroyed behind the lock
  const MutexLock lock(mutex_);
  dropped = recent_.take_oldest([](const auto& store) { return store.use_count() == 1; });
  return dropped.has_value();
}

std::shared_ptr<const MountedStore> Stores::store_of(NodeId root) {
  {
    const MutexLock lock(mutex_);
    if (const auto* const known = recent_.find(root)) return *known;
  }
  TurnAtNeed::need();
  auto store = open_store(root);
  std::optional<std::shared_ptr<const MountedStore>> dropped;  // destroyed behind the lock
  const MutexLock lock(mutex_);
  // Somebody else may have come first.
  if (const auto* const known = recent_.find(root)) {
    dropped = std::move(store);
    return *known;
  }
  dropped = recent_.put(root, store);
  return store;
}

Stores::Place Stores::place(NodeId directory) {
  if (!holds(directory)) return {store_of(directory), directory, "/"};
  Node found = node(directory);
  if (found.child.leaf) throw_errno(ENOTDIR, found.child.key);
  // A group is whatever is embedded in it now.
  if (found.embed) found.store = embedded_of({found.root, tree_.path(found.root), found.child.key});
  if (!found.store) throw_stale(directory);
  return {std::move(found.store), found.root, std::move(found.child.key)};
}

NodeId Stores::enter(const Place& place, const MountedStore::Child& child) {
  const MutexLock lock(mutex_);
  NodeId& id = ids_[{place.store.get(), child.key, child.leaf.has_value()}];
  if (id == 0) {
    id = next_id_++;
    nodes_.emplace(id, Node{place.store, place.root, child, place.store->embed()});
  }
  nodes_.at(id).references++;
  return id;
}

void Stores::forget(NodeId id, std::uint64_t references) {
  Node dropped;  // destroyed behind the lock
  const MutexLock lock(mutex_);
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) return;
  Node& node = found->second;
  node.references -= std::min(node.references, references);
  if (node.references > 0) return;
  if (node.store) ids_.erase({node.store.get(), node.child.key, node.child.leaf.has_value()});
  dropped = std::move(node);
  nodes_.erase(found);
  if (dropped.became != 0) tree_.forget(dropped.became, 1);
}

std::optional<FoundNode> Stores::lookup(NodeId directory, const std::string& name) {
  const Place in = place(directory);
  TurnAtNeed::need();
  const auto child = in.store->find(in.group, name);
  if (!child) return std::nullopt;
  const NodeId id = enter(in, *child);
  try {
    return FoundNode{id, attributes(id)};
  } catch (...) {
    forget(id, 1);
    throw;
  }
}

/// One at a time for each user: how much a store holds is known when it has been listed.
std::vector<DirectoryEntry> Stores::list(NodeId directory, const std::function<void()>& if_many) {
  const Place in = place(directory);
  if_many();
  const struct stat store = status_of(in.store->embed().get(), in.root);
  const auto charge = charge_for(tree_.store_path(in.root).text() + ":" + in.group);
  std::vector<DirectoryEntry> entries;
  in.store->for_each(in.group, *charge, [&](MountedStore::Shown shown) {
    const ino_t inode = inode_of(store, shown.child);
    entries.push_back(
        {std::move(shown.name), std::move(shown.child.full_name), shown.child.type(), inode});
  });
  return entries;
}

/// Opens a leaf whose size is not known yet.
void Stores::measure(NodeId id, const Node& node) {
  if (node.size || node.child.type() != S_IFREG) return;
  if (!node.store) throw_stale(id);
  TurnAtNeed::need();
  const auto snapshot = node.store->open(*node.child.leaf);
  if (!snapshot) throw_errno(EIO, told_path(id) + ": no frame");
  const std::int64_t size = view_shape(snapshot->info(), raw_).file_size();
  const MutexLock lock(mutex_);
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) throw_stale(id);
  found->second.size = size;
  found->second.stored_size = snapshot->info().cbytes;
}

struct stat Stores::attributes(NodeId id) {
  measure(id, node(id));
  return look_at(node(id));
}

/// That of the file that holds all of a store, as which a directory's embed.b2e counts.
struct stat Stores::status_of(const struct stat* embed, NodeId root) const {
  return embed != nullptr ? tree_.owned(*embed) : tree_.attributes(root);
}

struct stat Stores::look_at(const Node& node) const {
  // Owner and times are the store's, and what may be done.
  const mode_t type = node.child.type();
  struct stat st = status_of(node.embed.get(), node.root);
  const mode_t may = node.embed ? 0666 : 0444;
  st.st_ino = inode_of(st, node.child);
  if (type == S_IFDIR && node.embed) {
    const ino_t inode = st.st_ino;
    st = tree_.attributes(node.root);
    st.st_ino = inode;
  }
  if (type == S_IFDIR && !node.embed) st.st_mode &= ~mode_t{0222};
  if (type == S_IFDIR) return st;
  st.st_nlink = 1;
  st.st_mode = type | (type == S_IFLNK ? 0777 : st.st_mode & may);
  st.st_size = node.size.value_or(0);
  st.st_blocks = (node.stored_size + kStatBlock - 1) / kStatBlock;
  if (const auto* const link = std::get_if<frame::ReferencedLeaf>(&*node.child.leaf)) {
    st.st_size = static_cast<off_t>(link->url().size());
    st.st_blocks = 0;
  }
  return st;
}

std::string Stores::read_link(NodeId id) {
  const Node found = node(id);
  const auto* const link =
      found.child.leaf ? std::get_if<frame::ReferencedLeaf>(&*found.child.leaf) : nullptr;
  if (link == nullptr) throw_errno(EINVAL, found.child.key);
  return link->url();
}

std::string Stores::told_path(NodeId id) const {
  const Node found = node(id);
  return tree_.told_path(found.root) + ":" + found.child.key;
}

std::shared_ptr<const OpenContainer> Stores::open(NodeId id, const ContentServices& services) {
  const Node found = present_leaf(id);
  if (const mode_t type = found.child.type(); type != S_IFREG)
    throw_errno(type == S_IFDIR ? EISDIR : ELOOP, found.child.key);
  const struct stat shown = attributes(id);
  if (auto known = found.open_file.lock()) return known;
  TurnAtNeed::need();
  auto snapshot = found.store->open(*found.child.leaf);
  if (!snapshot) throw_errno(EIO, told_path(id) + ": no frame");
  auto opened = std::make_shared<const OpenContainer>(
      shown, std::make_shared<Content>(services, std::move(snapshot)));
  const MutexLock lock(mutex_);
  const auto at = nodes_.find(id);
  if (at == nodes_.end()) throw_stale(id);
  at->second.was_opened = true;
  // Somebody else may have come first.
  if (auto known = at->second.open_file.lock()) return known;
  at->second.open_file = opened;
  return opened;
}

std::shared_ptr<const frame::Snapshot> Stores::frame_of(NodeId id) {
  TurnAtNeed::need();
  if (!holds(id)) return store_of(id)->store().attributes("/");
  const Node found = node(id);
  if (!found.store) throw_stale(id);
  if (!found.child.leaf) return found.store->store().attributes(found.child.key);
  if (found.child.type() != S_IFREG) return nullptr;
  if (const auto known = found.open_file.lock()) return known->content->snapshot();
  return found.store->open(*found.child.leaf);
}

std::optional<std::string> Stores::access_list(NodeId id, const std::string& name) {
  if (!holds(id) || !name.starts_with(kSystemPrefix)) return std::nullopt;
  const Node found = node(id);
  if (!found.embed) {
    if (!found.child.leaf) return std::nullopt;
    return tree_.object(found.root)->attribute(name);
  }
  const SourcePath root = tree_.path(found.root);
  return root_.object(found.child.leaf ? join_path(root, std::string(frame::kEmbedName)) : root)
      .attribute(name);
}

std::optional<std::string> Stores::group_attribute(NodeId id, const std::string& name) {
  const Place group = place(id);
  return fs::group_attribute(group.store->store(), group.group, name);
}

std::shared_ptr<const frame::Snapshot> Stores::frame_of(const StorePlace& group) {
  TurnAtNeed::need();
  const auto store = open_whole(group, charge_for(group.path()));
  return store ? store->attributes(group.group) : nullptr;
}

std::optional<std::string> Stores::group_attribute(const StorePlace& group,
                                                   const std::string& name) {
  TurnAtNeed::need();
  const auto store = open_whole(group, charge_for(group.path()));
  return store ? fs::group_attribute(*store, group.group, name) : std::nullopt;
}

}  // namespace bloscfs::fs
