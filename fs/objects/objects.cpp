#include "fs/objects/objects.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <variant>

#include <unistd.h>
#include <xxhash.h>

#include "frame/header/sframe_format.hpp"
#include "frame/store/object_index.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/objects/object_path.hpp"
#include "fs/stores/store_attributes.hpp"
#include "fs/support/timestamps.hpp"
#include "fs/support/turns.hpp"
#include "fs/view/attributes.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;
using Kind = ObjectLook::Kind;

/// Stores that stay open though the kernel knows nothing in them.
constexpr std::size_t kMostRecentStores = 4;

/// What a listing alone says.
ShownAs promised(const frame::ObjectEntry& entry, const ObjectLooks::Settings& settings) {
  const ShownAs shown = promised_by(entry.name);
  const bool is_directory_store = entry.is_directory && entry.name.ends_with(".b2d");
  if (shown == ShownAs::store || is_directory_store)
    return settings.stores && entry.is_directory == is_directory_store ? ShownAs::store
                                                                       : ShownAs::itself;
  return shown == ShownAs::array && settings.raw ? ShownAs::flat : shown;
}

}  // namespace

Objects::Objects(std::shared_ptr<frame::ObjectTree> tree, const ObjectLooks::Settings& settings,
                 const OwnerOverride& owner, MemoryBudget& budget,
                 frame::ObjectFrames::RemoveLater remove_later, frame::UploadSettings uploads)
    : tree_(tree),
      remove_later_(std::move(remove_later)),
      frames_(std::make_shared<frame::ObjectFrames>(tree, frame::kSframeIndexName, remove_later_,
                                                    frame::ObjectFrames::kSafeAge,
                                                    std::move(uploads))),
      budget_(budget),
      owner_(owner),
      began_(now()),
      looks_(tree, frames_, settings,
             [this](const std::string& directory, const std::string& name) {
               return listing(directory)->find(name) != nullptr;
             }),
      listings_(std::move(tree), budget, settings.revalidate) {
  Node root;
  ObjectLook look;
  look.kind = Kind::directory;
  root.look = std::make_shared<const ObjectLook>(std::move(look));
  root.references = 1;
  const MutexLock lock(mutex_);
  ids_.emplace(key_of(root), kRootId);
  nodes_.emplace(kRootId, std::move(root));
}

Objects::Key Objects::key_of(const Node& node) {
  if (!node.child) return {node.look.get(), {}, false};
  return {node.store.get(), node.child->key, node.child->leaf.has_value()};
}

Objects::Node Objects::node(NodeId id) const {
  const MutexLock lock(mutex_);
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) throw_stale(id);
  return found->second;
}

Objects::Node Objects::directory(NodeId id) const {
  Node found = node(id);
  const bool is_directory = found.child ? !found.child->leaf : found.look->is_directory();
  if (!is_directory) throw_errno(ENOTDIR, found.path);
  return found;
}

/// Counts one reference.
Tree::Found Objects::enter(Node node) {
  Tree::Found found;
  const auto state = node.child ? std::nullopt : frames_->state(node.path);
  {
    const MutexLock lock(mutex_);
    if (const NodeId known = same_as(node, state)) rekey(known, node.look);
    NodeId& id = ids_[key_of(node)];
    if (id == 0) {
      id = next_id_++;
      nodes_.emplace(id, std::move(node));
    }
    nodes_.at(id).references++;
    found.id = id;
  }
  try {
    found.attributes = attributes(found.id);
  } catch (...) {
    forget(found.id, 1);
    throw;
  }
  // Nothing is kept longer than a state may be trusted.
  found.is_alias = looks_.settings().revalidate == std::chrono::milliseconds::zero();
  return found;
}

void Objects::forget(NodeId id, std::uint64_t references) {
  Node dropped;  // destroyed behind the lock
  const MutexLock lock(mutex_);
  const auto found = nodes_.find(id);
  if (found == nodes_.end() || id == kRootId) return;
  Node& node = found->second;
  node.references -= std::min(node.references, references);
  // What waits for a commit keeps its node.
  if (node.references > 0 || !node.open_file.expired()) return;
  unmap(id, node);
  leave_names(id, node);
  dropped = std::move(node);
  nodes_.erase(found);
}

// --- names

ObjectListing::Judge Objects::judge_in(const std::string& directory) {
  return [this, directory](const frame::ObjectEntry& entry) {
    const auto known = looks_.known(path_in(directory, entry.name));
    if (known && known->kind != Kind::removed && known->is_object() != entry.is_directory)
      return known->shown;
    return promised(entry, looks_.settings());
  };
}

ListingPointer Objects::listing(const std::string& directory) {
  return listings_.get(directory, judge_in(directory),
                       [this, directory](const frame::ObjectEntry& entry) {
                         return has_gone(path_in(directory, entry.name), entry.is_directory);
                       });
}

std::optional<Objects::Node> Objects::look_at(NodeId parent, const Node& directory,
                                              const frame::ObjectEntry& entry,
                                              const ObjectListing& listing) {
  Node found;
  found.parent = parent;
  found.path = path_in(directory.path, entry.name);
  if (auto leading = find_leading(found.path)) return leading;
  try {
    const ObjectLooks::Listed listed{entry.is_directory, entry.state, listing.begun()};
    found.look = looks_.look(found.path, listed);
    // A commit of this mount has come since that look.
    const auto stored = frames_->state(found.path);
    if (stored && !stored->same_bytes(found.look->state)) {
      looks_.forget(found.path);
      found.look = looks_.look(found.path, {entry.is_directory, std::nullopt, {}});
    }
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::no_such_file_or_directory) return std::nullopt;
    throw;
  }
  if (found.look->kind == Kind::removed) return std::nullopt;
  return found;
}

/// By the name that the listing shows; by that which the bytes give; by its full name where the
/// bytes promise less than that.
std::optional<Objects::Node> Objects::find_in(NodeId parent, const Node& directory,
                                              const std::string& name,
                                              const ObjectListing& listing) {
  if (const auto* const entry = listing.find_shown(name))
    return look_at(parent, directory, *entry, listing);
  for (const std::string& full_name : possible_full_names(name)) {
    const auto* const entry = listing.find(full_name);
    if (entry == nullptr) continue;
    auto found = look_at(parent, directory, *entry, listing);
    if (found && preferred_name(full_name, found->look->shown) == name) return found;
  }
  const auto* const entry = listing.find(name);
  if (entry == nullptr) return std::nullopt;
  auto found = look_at(parent, directory, *entry, listing);
  return found && found->look->shown == ShownAs::itself ? found : std::nullopt;
}

std::optional<Tree::Found> Objects::lookup(NodeId id, const std::string& name) {
  const Node in = directory(id);
  if (in.child || in.look->is_store()) return lookup_in_store(id, in, name);
  if (tree_->single()) {
    auto found = find_in(id, in, name, *single_listing());
    return found ? std::optional(enter(*std::move(found))) : std::nullopt;
  }
  if (auto made = find_new(in.path, name)) return made;
  // A name that is known is asked for itself, so that its listing may be old.
  ListingPointer known = listings_.known(in.path);
  if (!known) known = listing(in.path);
  auto found = find_in(id, in, name, *known);
  if (found && !may_have_gone(*found)) return enter(*std::move(found));
  const ListingPointer present = listing(in.path);
  if (present != known) found = find_in(id, in, name, *present);
  return found ? std::optional(enter(*std::move(found))) : std::nullopt;
}

ListingPointer Objects::single_listing() {
  const std::string& name = *tree_->single();
  frame::ObjectEntry entry{name, false, std::nullopt};
  const auto known = looks_.known(name);
  entry.is_directory = known && !known->is_object();
  return std::make_shared<const ObjectListing>(std::vector{entry}, judge_in(""), nullptr,
                                               ObjectListing::Clock::now(),
                                               ObjectListing::Clock::duration::zero(), budget_);
}

/// Null where there is none: a web server shows no directory where a single object was named.
LookPointer Objects::look_at_directory(const std::string& name) {
  try {
    return looks_.look(name, {true, std::nullopt, {}});
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::no_such_file_or_directory &&
        error.code() != std::errc::not_a_directory)
      throw;
    return nullptr;
  }
}

/// Of a single object nobody has told what it is.
void Objects::require_shown() {
  if (!tree_->single()) return static_cast<void>(listing(""));
  const std::string& name = *tree_->single();
  LookPointer look;
  try {
    look = looks_.look(name, {false, std::nullopt, {}});
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::no_such_file_or_directory) throw;
    look = look_at_directory(name);
    if (!look || (!look->is_container() && !look->is_store())) throw;
  }
  if (look->kind == Kind::plain)
    throw std::invalid_argument("no Blosc2 frame, Bloscpack file or store");
}

mode_t Objects::guessed_type(const std::string& path, const frame::ObjectEntry& entry) {
  const auto known = looks_.known(path);
  if (known && known->is_object() != entry.is_directory)
    return known->is_directory() ? S_IFDIR : S_IFREG;
  const ShownAs shown = promised(entry, looks_.settings());
  if (shown == ShownAs::store) return S_IFDIR;
  return entry.is_directory && shown == ShownAs::itself ? S_IFDIR : S_IFREG;
}

std::vector<Tree::DirectoryEntry> Objects::list(NodeId id, const std::function<void()>& if_many) {
  const Node in = directory(id);
  std::vector<Tree::DirectoryEntry> entries;
  if (in.child || in.look->is_store()) {
    const auto store = store_of(in);
    if_many();
    for (MountedStore::Shown& shown : store->list(group_of(in))) {
      Node child = in;
      child.child = shown.child;
      entries.push_back(
          {std::move(shown.name), shown.child.full_name, shown.child.type(), inode_of(child)});
    }
    return entries;
  }
  const ListingPointer found = tree_->single() ? single_listing() : listing(in.path);
  if_many();
  for (std::size_t i = 0; i < found->entries().size(); i++) {
    const frame::ObjectEntry& entry = found->entries()[i];
    const std::string path = path_in(in.path, entry.name);
    entries.push_back({found->shown()[i], entry.name, guessed_type(path, entry), inode_of(path)});
  }
  add_new(in.path, entries);
  return entries;
}

Tree::Found Objects::reference(NodeId id) {
  {
    const MutexLock lock(mutex_);
    const auto found = nodes_.find(id);
    if (found == nodes_.end()) throw_stale(id);
    found->second.references++;
  }
  try {
    return {id, attributes(id)};
  } catch (...) {
    forget(id, 1);
    throw;
  }
}

NodeId Objects::parent(NodeId id) { return node(id).parent; }

// --- stores

std::string Objects::group_of(const Node& node) const { return node.child ? node.child->key : "/"; }

std::shared_ptr<const MountedStore> Objects::store_of(const Node& node) {
  if (node.store) return node.store;
  {
    const MutexLock lock(mutex_);
    for (auto at = stores_.begin(); at != stores_.end(); ++at)
      if (at->first == node.look) {
        stores_.splice(stores_.begin(), stores_, at);
        return at->second;
      }
  }
  auto opened = std::make_shared<const MountedStore>(looks_.open_store(node.path, *node.look),
                                                     looks_.settings().raw, budget_, nullptr);
  std::shared_ptr<const MountedStore> dropped;  // destroyed behind the lock
  const MutexLock lock(mutex_);
  // Somebody else may have come first.
  for (const auto& [look, store] : stores_)
    if (look == node.look) {
      dropped = std::move(opened);
      return store;
    }
  stores_.emplace_front(node.look, opened);
  if (stores_.size() > kMostRecentStores) {
    dropped = std::move(stores_.back().second);
    stores_.pop_back();
  }
  return opened;
}

std::optional<Tree::Found> Objects::lookup_in_store(NodeId parent, const Node& in,
                                                    const std::string& name) {
  Node found = in;
  found.parent = parent;
  found.store = store_of(in);
  found.references = 0;
  found.size = -1;
  found.open_file.reset();
  TurnAtNeed::need();
  found.child = found.store->find(group_of(in), name);
  return found.child ? std::optional(enter(std::move(found))) : std::nullopt;
}

void Objects::require_listed(NodeId directory) {
  const Node in = node(directory);
  if (in.child || in.look->is_store()) store_of(in)->require_complete(in.path);
}

std::optional<Objects::StoreGroup> Objects::store_group(NodeId id) {
  const Node found = node(id);
  if (found.child ? found.child->leaf.has_value() : !found.look->is_store()) return std::nullopt;
  return StoreGroup{store_of(found), group_of(found)};
}

// --- attributes

ino_t Objects::inode_of(const std::string& path) const {
  const std::string url = tree_->url(path);
  // None that NFS or old programs take for none.
  return static_cast<ino_t>(XXH3_64bits(url.data(), url.size()) | 2);
}

ino_t Objects::inode_of(const Node& node) const {
  if (!node.child) return node.path.empty() ? kRootId : inode_of(node.path);
  return inode_of(node.path + (node.child->leaf ? ":" : "/:") + node.child->key);
}

/// Opens a leaf whose size is not known yet.
void Objects::measure(NodeId id, const Node& node) {
  if (!node.child || node.size >= 0 || node.child->type() != S_IFREG) return;
  TurnAtNeed::need();
  const auto snapshot = node.store->open(*node.child->leaf);
  if (!snapshot) throw_errno(EIO, told(node) + ": no frame");
  const std::int64_t size = view_shape(snapshot->info(), looks_.settings().raw).file_size();
  const MutexLock lock(mutex_);
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) throw_stale(id);
  found->second.size = size;
  found->second.stored_size = snapshot->info().cbytes;
}

struct stat Objects::base_status(const Node& node) const {
  struct stat st {};
  const frame::ObjectState& state = node.look->state;
  const frame::FileAttributes put = node.is_new ? node.owner : frame::attributes_of(state);
  st.st_uid = owner_.uid.value_or(put.owner);
  st.st_gid = owner_.gid.value_or(put.group);
  st.st_mtim = put.modified.tv_sec == 0 ? began_ : put.modified;
  st.st_atim = st.st_ctim = st.st_mtim;
  st.st_mode = tree_->is_writable() ? put.mode : put.mode & ~mode_t{0222};
  return st;
}

struct stat Objects::status(const Node& node) const {
  struct stat st = base_status(node);
  st.st_ino = inode_of(node);
  st.st_nlink = 1;
  st.st_blksize = 4096;
  const bool is_directory = node.child ? !node.child->leaf : node.look->is_directory();
  if (is_directory) {
    st.st_mode = S_IFDIR | (tree_->is_writable() && !node.look->is_store() ? 0755 : 0555);
    st.st_nlink = 2;
    return st;
  }
  if (const auto file = node.open_file.lock();
      file && !node.child && file->content->is_writable()) {
    const LogicalAttributes live = file->content->attributes();
    st.st_mode |= S_IFREG;
    st.st_size = live.size;
    st.st_blocks = (file->content->shown().stored_chunks + kStatBlock - 1) / kStatBlock;
    if (live.modified) st.st_mtim = *live.modified;
    if (live.accessed) st.st_atim = *live.accessed;
    st.st_ctim = live.changed.value_or(st.st_mtim);
    if (node.is_removed) st.st_nlink = 0;
    return st;
  }
  std::int64_t stored = node.look->stored_size;
  st.st_mode |= S_IFREG;
  st.st_size = node.look->size;
  if (node.child) {
    st.st_mode = S_IFREG | (st.st_mode & 0444);
    st.st_size = std::max<std::int64_t>(node.size, 0);
    stored = node.stored_size;
    if (const auto* const link = std::get_if<frame::ReferencedLeaf>(&*node.child->leaf)) {
      st.st_mode = S_IFLNK | 0777;
      st.st_size = static_cast<off_t>(link->url().size());
      stored = 0;
    }
  }
  st.st_blocks = (stored + kStatBlock - 1) / kStatBlock;
  return st;
}

struct stat Objects::attributes(NodeId id) {
  look_if_due(id);
  measure(id, node(id));
  return status(node(id));
}

std::string Objects::read_link(NodeId id) {
  const Node found = node(id);
  const auto* const link = found.child && found.child->leaf
                               ? std::get_if<frame::ReferencedLeaf>(&*found.child->leaf)
                               : nullptr;
  if (link == nullptr) throw_errno(EINVAL, found.path);
  return link->url();
}

std::string Objects::told(const Node& node) const {
  return tree_->url(node.path) + (node.child ? ":" + node.child->key : std::string());
}

std::string Objects::told_path(NodeId id) { return told(node(id)); }

// --- opening

Objects::Opened Objects::open(NodeId id, const ContentServices& services) {
  const Node found = node(id);
  const struct stat shown = attributes(id);
  if (!S_ISREG(shown.st_mode)) throw_errno(S_ISDIR(shown.st_mode) ? EISDIR : ELOOP, found.path);
  // What was opened in the state that is still there is the same.
  const bool is_directory = !found.look->is_object();
  if (auto known = found.open_file.lock(); known && known->content->leads())
    return {std::move(known), nullptr, shown};
  if (looks_.look(found.path, {is_directory, std::nullopt, {}}) != found.look && !found.child)
    throw_errno(ESTALE, found.path);
  if (found.look->kind == Kind::plain)
    return {nullptr, looks_.source(found.path, *found.look), shown};
  if (auto known = found.open_file.lock()) return {std::move(known), nullptr, shown};
  TurnAtNeed::need();
  auto snapshot =
      found.child ? found.store->open(*found.child->leaf) : looks_.open(found.path, *found.look);
  if (!snapshot) throw_errno(EIO, told(found) + ": no frame");
  auto opened = std::make_shared<const OpenContainer>(
      shown, std::make_shared<Content>(services, std::move(snapshot)));
  const MutexLock lock(mutex_);
  const auto at = nodes_.find(id);
  if (at == nodes_.end()) throw_stale(id);
  // Somebody else may have come first.
  if (auto known = at->second.open_file.lock()) return {std::move(known), nullptr, shown};
  at->second.open_file = opened;
  return {std::move(opened), nullptr, shown};
}

std::shared_ptr<const frame::Snapshot> Objects::frame_of(NodeId id) {
  TurnAtNeed::need();
  if (const auto group = store_group(id)) return group->store->store().attributes(group->group);
  const Node found = node(id);
  if (const auto known = found.open_file.lock()) return known->content->snapshot();
  if (found.child)
    return found.child->type() == S_IFREG ? found.store->open(*found.child->leaf) : nullptr;
  return found.look->is_container() ? looks_.open(found.path, *found.look) : nullptr;
}

std::optional<std::string> Objects::attribute(NodeId id, const std::string& name) {
  TurnAtNeed::need();
  if (const auto group = store_group(id))
    return group_attribute(group->store->store(), group->group, name);
  // Listings ask for access lists, for which no frame is to be opened.
  if (!layer_of(name) && !is_computed(name)) return std::nullopt;
  const auto frame = frame_of(id);
  return frame ? attribute_of_frame(*frame, name) : std::nullopt;
}

}  // namespace bloscfs::fs
