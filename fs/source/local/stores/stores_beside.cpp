// What is embedded in stores that are directories.

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>

#include "frame/pystore/store_names.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/local/stores/stores.hpp"
#include "fs/support/lock_breaks.hpp"
#include "fs/support/log.hpp"
#include "fs/support/turns.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;

/// How often a file is opened that others replace meanwhile.
constexpr int kLookTries = 10;

SourcePath embed_path(const StorePlace& place) {
  return join_path(place.root_path, std::string(frame::kEmbedName));
}

/// False where neither a leaf nor a group can have that full name.
bool may_hold(const MountedStore& store, const StorePlace& place, const std::string& full_name) {
  const frame::PythonStore& keys = store.store();
  return keys.find(place.key(full_name)) ||
         keys.find(place.key(std::string(frame::leaf_stem(full_name))));
}

std::string group_of(const std::string& key) {
  const std::size_t slash = key.rfind('/');
  return slash == 0 ? "/" : key.substr(0, slash);
}

}  // namespace

std::shared_ptr<const MountedStore> Stores::open_embedded(
    const StorePlace& place, std::shared_ptr<const SourceObject> embed) {
  SourceEntry entry;
  entry.own_stat = entry.content_stat = embed->stat();
  entry.object = std::move(embed);
  const SourcePath path = embed_path(place);
  auto charge = charge_for(path);
  auto opened = tree_.open_store(path, entry, charge);
  if (!opened) return nullptr;
  for (const std::string& message : opened->messages())
    log::warn(fmt::format("{}: {}", path.text(), message));
  // Inode numbers hang on what stays when embed.b2e is written anew.
  struct stat status = entry.own_stat;
  status.st_ino = root_.directory(place.root_path).stat().st_ino;
  return std::make_shared<const MountedStore>(std::move(opened), raw_, std::move(charge),
                                              keep_node(place.root),
                                              std::make_shared<const struct stat>(status));
}

/// What is in its files, too; whatever that is now.
std::unique_ptr<frame::PythonStore> Stores::open_whole(const StorePlace& place,
                                                       const frame::ChargePointer& charge) const {
  return frame::open_directory_store(root_.open(place.root_path, O_RDONLY | O_DIRECTORY), {},
                                     charge);
}

std::shared_ptr<const MountedStore> Stores::embedded_of(const StorePlace& place) {
  for (int tries = 1;; tries++)
    if (auto store = look_at_embedded(place, tries == kLookTries)) return *std::move(store);
}

/// Nothing where another file has come meanwhile, which would be taken for older than the one that
/// it has replaced: that one's times changed with its name.
std::optional<std::shared_ptr<const MountedStore>> Stores::look_at_embedded(const StorePlace& place,
                                                                            bool is_last) {
  const SourcePath path = embed_path(place);
  const auto embed = root_.find_any(path);
  if (!embed || !S_ISREG(embed->stat().st_mode)) return nullptr;
  const FileState state = state_of(embed->stat());
  // Another program may have changed it in place, and so soon that its times do not tell.
  const auto known = known_embedded(place.root, state);
  if (known && (!*known || (*known)->store().embed()->is_as_taken())) return *known;
  const auto found = std::make_shared<std::optional<std::shared_ptr<const MountedStore>>>();
  const MountedStore* const outdated = known ? known->get() : nullptr;
  Attempts::without_lock([this, place, path, embed, state, outdated, is_last, found] {
    TurnAtNeed::need();
    auto store = open_embedded(place, embed);
    const auto now = root_.stat(path);
    if (now && state_of(*now) == state)
      *found = remember_embedded(place.root, state, std::move(store), outdated);
    else if (is_last)
      *found = std::move(store);
  });
  return *found;
}

std::optional<std::shared_ptr<const MountedStore>> Stores::known_embedded(NodeId root,
                                                                          const FileState& state) {
  const MutexLock lock(mutex_);
  const auto found = embedded_.find(root);
  if (found == embedded_.end() || !(found->second.state == state)) return std::nullopt;
  if (found->second.is_none) return nullptr;
  auto store = found->second.store.lock();
  return store ? std::optional(std::move(store)) : std::nullopt;
}

std::shared_ptr<const MountedStore> Stores::remember_embedded(
    NodeId root, const FileState& state, std::shared_ptr<const MountedStore> store,
    const MountedStore* outdated) {
  std::vector<std::shared_ptr<const MountedStore>> dropped;  // destroyed behind the lock
  const MutexLock lock(mutex_);
  EmbeddedState& last = embedded_[root];
  // Somebody else may have come first.
  auto other = last.store.lock();
  if (other && other.get() != outdated && last.state == state) return other;
  dropped.push_back(std::move(other));
  leave_state(root, store.get(), dropped);
  last = {state, store, store == nullptr};
  dropped.push_back((store ? recent_.put(root, store) : recent_.take(root)).value_or(nullptr));
  if (embedded_.size() >= embedded_to_look_through_) {
    std::erase_if(embedded_, [](const auto& one) { return one.second.store.expired(); });
    embedded_to_look_through_ = 64 + 2 * embedded_.size();
  }
  return store;
}

/// What the kernel knows of other states keeps no more of these than it shows of it: each change of
/// embed.b2e makes a state.
void Stores::leave_state(NodeId root, const MountedStore* present,
                         std::vector<std::shared_ptr<const MountedStore>>& dropped) {
  for (auto& [id, node] : nodes_) {
    if (node.root != root || !node.embed || node.store == nullptr || node.store.get() == present)
      continue;
    ids_.erase({node.store.get(), node.child.key, node.child.leaf.has_value()});
    dropped.push_back(std::move(node.store));
  }
}

Beside::Entry Stores::entry_of(const MountedStore& store, MountedStore::Child child) const {
  Entry entry;
  entry.shown = child.shown;
  entry.type = child.type();
  entry.inode = inode_of(*store.embed(), child);
  entry.key_name = std::string(frame::last_part(child.key));
  entry.full_name = std::move(child.full_name);
  return entry;
}

std::optional<Beside::Entry> Stores::find(const StorePlace& place, const std::string& full_name) {
  const auto store = embedded_of(place);
  if (!store || !may_hold(*store, place, full_name)) return std::nullopt;
  // Whether a leaf is an array its bytes tell; the store remembers that.
  if (Attempts::current() != nullptr)
    Attempts::once_without_lock(
        fmt::format("{}:{}:{}", static_cast<const void*>(store.get()), place.group, full_name),
        [store, group = place.group, full_name] {
          TurnAtNeed::need();
          store->find_full(group, full_name);
        });
  auto child = store->find_full(place.group, full_name);
  return child ? std::optional(entry_of(*store, *std::move(child))) : std::nullopt;
}

bool Stores::has_any(const StorePlace& place) {
  const auto store = embedded_of(place);
  if (!store) return false;
  const std::string prefix = place.group == "/" ? place.group : place.group + "/";
  const frame::EmbedMap& map = store->store().embed_map();
  for (std::size_t at = map.lower_bound(prefix); at < map.size(); at++) {
    if (!map.key(at).starts_with(prefix)) return false;
    if (frame::last_part(map.key(at)) != frame::kGroupAttributes) return true;
  }
  return false;
}

std::vector<Beside::Entry> Stores::list(const StorePlace& place,
                                        const std::function<void()>& if_any) {
  const auto store = embedded_of(place);
  std::vector<Entry> entries;
  if (!store || (place.group != "/" && !store->store().find(place.group))) return entries;
  if (store->store().embed_map().size() == 0) return entries;
  if_any();
  const auto charge = charge_for(place.path());
  for (MountedStore::Child& child : store->children(place.group, *charge))
    entries.push_back(entry_of(*store, std::move(child)));
  return entries;
}

void Stores::require_complete(const StorePlace& place, const std::string& name) {
  if (const auto store = embedded_of(place)) store->require_complete(name);
}

void Stores::require_listed(NodeId directory) {
  if (is_part(directory)) return place(directory).store->require_complete("listing");
  if (const auto group = tree_.store_place(directory)) require_complete(*group, "listing");
}

NodeId Stores::enter(const StorePlace& place, const std::string& full_name,
                     struct stat& attributes) {
  TurnAtNeed::need();
  const auto store = embedded_of(place);
  const auto child = store ? store->find_full(place.group, full_name) : std::nullopt;
  if (!child) return 0;
  const NodeId id = enter({store, place.root, place.group}, *child);
  try {
    attributes = this->attributes(id);
  } catch (...) {
    forget(id, 1);
    throw;
  }
  return id;
}

Stores::Node Stores::present_leaf(NodeId id) {
  Node found = node(id);
  if (!found.embed || !found.child.leaf) return found;
  const StorePlace place{found.root, tree_.path(found.root), group_of(found.child.key)};
  auto store = embedded_of(place);
  if (store != nullptr && store == found.store) return found;
  // Pages that the kernel has, and handles, belong to one state.
  const auto child = store == nullptr || found.was_opened
                         ? std::nullopt
                         : store->find_full(place.group, found.child.full_name);
  if (!child || !child->leaf) throw_errno(ESTALE, found.child.key);
  std::shared_ptr<const MountedStore> dropped;  // destroyed behind the lock
  const MutexLock lock(mutex_);
  const auto at = nodes_.find(id);
  if (at == nodes_.end() || at->second.was_opened) throw_errno(ESTALE, found.child.key);
  Node& node = at->second;
  if (node.store) ids_.erase({node.store.get(), node.child.key, true});
  ids_.try_emplace({store.get(), child->key, true}, id);
  dropped = std::exchange(node.store, std::move(store));
  node.embed = node.store->embed();
  node.child = *child;
  node.size.reset();
  return node;
}

std::optional<Stores::Embedded> Stores::embedded(NodeId id) {
  Node found = node(id);
  if (!found.embed) return std::nullopt;
  return Embedded{{found.root, tree_.path(found.root), group_of(found.child.key)},
                  std::move(found.child)};
}

NodeId Stores::find_directory(NodeId root, const std::string& group) {
  NodeId at = root;
  for (std::size_t begin = 1; begin < group.size();) {
    const std::size_t end = std::min(group.find('/', begin), group.size());
    const auto found = tree_.lookup(at, group.substr(begin, end - begin));
    if (at != root) tree_.forget(at, 1);
    if (!found) return 0;
    if (holds(found->id) || !S_ISDIR(found->attributes.st_mode)) {
      holds(found->id) ? forget(found->id, 1) : tree_.forget(found->id, 1);
      return 0;
    }
    at = found->id;
    begin = end + 1;
  }
  return at;
}

NodeId Stores::present(NodeId id) {
  if (!holds(id)) return id;
  const Node found = node(id);
  if (found.child.leaf || !found.embed) return id;
  if (found.became != 0) return found.became;
  const StorePlace place{found.root, tree_.path(found.root), found.child.key};
  const auto st = root_.stat(place.path());
  if (!st || !S_ISDIR(st->st_mode)) return id;
  const NodeId became = find_directory(found.root, found.child.key);
  if (became == 0) return id;
  const auto known = [&]() -> std::optional<NodeId> {
    const MutexLock lock(mutex_);
    const auto at = nodes_.find(id);
    if (at == nodes_.end()) return 0;
    if (at->second.became != 0) return at->second.became;
    at->second.became = became;
    return std::nullopt;
  }();
  if (!known) return became;
  tree_.forget(became, 1);
  if (*known == 0) throw_stale(id);
  return *known;
}

}  // namespace bloscfs::fs
