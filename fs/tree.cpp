#include "fs/tree.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace bloscfs::fs {
namespace {

constexpr std::int64_t kStatBlock = 512;

[[noreturn]] void throw_stale(const std::string& path) {
  throw std::system_error(ESTALE, std::generic_category(), path);
}

}  // namespace

struct Tree::Node {
  NodeId id = 0;
  Node* parent = nullptr;
  std::string name;  ///< full name in SOURCE
  std::uint64_t references = 0;
  std::uint32_t children = 0;
  bool is_container = false;
  mode_t type = 0;
  Identity identity{};
  State state;
  bool was_opened = false;  ///< the kernel may have pages of this state
  std::weak_ptr<const OpenFile> open_file;
};

Tree::State Tree::state_of(const SourceEntry& entry) {
  return {frame::stamp_of(entry.source), nanoseconds(entry.source.st_ctim)};
}

Tree::Tree(const SourceRoot& root, Classifier& classifier, std::optional<std::string> single,
           OwnerOverride owner)
    : root_(root), classifier_(classifier), single_(std::move(single)), owner_(owner) {
  auto root_node = std::make_unique<Node>();
  root_node->id = kRootId;
  root_node->references = 1;
  root_node->type = S_IFDIR;
  const MutexLock lock(mutex_);
  nodes_.emplace(kRootId, std::move(root_node));
}

Tree::~Tree() = default;

Tree::Node& Tree::node(NodeId id) const {
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) throw_stale("inode " + std::to_string(id));
  return *found->second;
}

std::string Tree::path_of(const Node& node) const {
  if (node.parent == nullptr) return {};
  return join_path(path_of(*node.parent), node.name);
}

std::string Tree::path(NodeId id) const {
  const MutexLock lock(mutex_);
  return path_of(node(id));
}

std::optional<SourceEntry> Tree::visible_entry(const std::string& directory,
                                               const std::string& full_name) {
  if (is_temporary(full_name)) return std::nullopt;
  if (const auto locked = locked_name(full_name)) {
    const auto frame = classifier_.look(join_path(directory, std::string(*locked)));
    if (frame && frame->is_container) return std::nullopt;
  }
  return classifier_.look(join_path(directory, full_name));
}

std::optional<ShownAs> Tree::probe(const std::string& directory, const std::string& full_name) {
  const auto entry = visible_entry(directory, full_name);
  if (!entry) return std::nullopt;
  return entry->shown;
}

std::optional<std::string> Tree::resolve(NodeId directory_id, const std::string& directory,
                                         const std::string& name) {
  const auto ask = [&](const std::string& full_name) { return probe(directory, full_name); };
  if (!single_ || directory_id != kRootId) return full_name_of(name, ask);
  const auto shown = ask(*single_);
  if (!shown || preferred_name(*single_, *shown) != name) return std::nullopt;
  return single_;
}

std::optional<Tree::Found> Tree::lookup(NodeId directory, const std::string& name) {
  const auto full_name = resolve(directory, path(directory), name);
  if (!full_name) return std::nullopt;
  return enter(directory, *full_name);
}

std::optional<Tree::Found> Tree::enter(NodeId directory, const std::string& full_name) {
  const auto entry = classifier_.look(join_path(path(directory), full_name));
  if (!entry) return std::nullopt;
  return adopt(directory, full_name, *entry);
}

Tree::Found Tree::adopt(NodeId directory, const std::string& full_name, const SourceEntry& entry) {
  const Identity identity{entry.entry.st_dev, entry.entry.st_ino};
  const mode_t type = entry.is_container ? S_IFREG : entry.entry.st_mode & S_IFMT;
  const MutexLock lock(mutex_);
  Node& parent = node(directory);
  const auto [current, is_new] = current_.try_emplace(identity, 0);
  if (!is_new) {
    Node& known = node(current->second);
    const bool same_state = !entry.is_container || known.state == state_of(entry);
    if (known.type == type && known.is_container == entry.is_container && same_state) {
      known.references++;
      if (known.parent != &parent) {
        parent.children++;
        Node* previous = std::exchange(known.parent, &parent);
        previous->children--;
        drop_if_unused(*previous);
      }
      known.name = full_name;
      known.state = state_of(entry);
      return {known.id, shown_attributes(entry)};
    }
  }
  auto made = std::make_unique<Node>();
  made->id = next_id_++;
  made->parent = &parent;
  parent.children++;
  made->name = full_name;
  made->references = 1;
  made->is_container = entry.is_container;
  made->type = type;
  made->identity = identity;
  made->state = state_of(entry);
  current->second = made->id;
  const NodeId id = made->id;
  nodes_.emplace(id, std::move(made));
  return {id, shown_attributes(entry)};
}

Tree::Found Tree::reference(NodeId id) {
  const struct stat st = attributes(id);
  const MutexLock lock(mutex_);
  node(id).references++;
  return {id, st};
}

NodeId Tree::parent(NodeId id) const {
  const MutexLock lock(mutex_);
  const Node& known = node(id);
  return known.parent == nullptr ? kRootId : known.parent->id;
}

void Tree::forget(NodeId id, std::uint64_t references) {
  const MutexLock lock(mutex_);
  const auto found = nodes_.find(id);
  if (found == nodes_.end() || id == kRootId) return;
  Node& known = *found->second;
  known.references -= std::min(references, known.references);
  drop_if_unused(known);
}

void Tree::drop_if_unused(Node& unused) {
  Node* candidate = &unused;
  while (candidate != nullptr && candidate->id != kRootId && candidate->references == 0 &&
         candidate->children == 0) {
    Node* parent = candidate->parent;
    const auto current = current_.find(candidate->identity);
    if (current != current_.end() && current->second == candidate->id) current_.erase(current);
    nodes_.erase(candidate->id);
    parent->children--;
    candidate = parent;
  }
}

SourceEntry Tree::entry(NodeId id) {
  std::string path;
  Identity identity{};
  State state;
  bool is_container = false;
  {
    const MutexLock lock(mutex_);
    const Node& known = node(id);
    path = path_of(known);
    identity = known.identity;
    state = known.state;
    is_container = known.is_container;
  }
  auto entry = classifier_.look(path);
  if (!entry) throw_stale(path);
  if (id == kRootId) {
    // What SOURCE is was decided when it was mounted.
    entry->is_container = entry->is_sframe = false;
    entry->source = entry->entry;
    return *entry;
  }
  const Identity found{entry->entry.st_dev, entry->entry.st_ino};
  const bool same_object = found == identity && entry->is_container == is_container;
  const bool same_state = !is_container || state_of(*entry) == state;
  if (!(same_object && same_state) && !follow(id, *entry)) throw_stale(path);
  return *entry;
}

bool Tree::follow(NodeId id, const SourceEntry& entry) {
  const Identity identity{entry.entry.st_dev, entry.entry.st_ino};
  const MutexLock lock(mutex_);
  Node& known = node(id);
  if (known.was_opened || !known.is_container || !entry.is_container) return false;
  if (!(known.identity == identity)) {
    const auto current = current_.find(known.identity);
    if (current != current_.end() && current->second == id) current_.erase(current);
    current_.try_emplace(identity, id);
    known.identity = identity;
  }
  known.state = state_of(entry);
  return true;
}

struct stat Tree::attributes(NodeId id) {
  if (id == kRootId && single_) return single_root_attributes();
  try {
    return shown_attributes(entry(id));
  } catch (const std::system_error& error) {
    // Whoever has the old state open keeps seeing it.
    if (error.code() != std::errc(ESTALE)) throw;
    const auto file = opened(id);
    if (!file) throw;
    return file->attributes;
  }
}

struct stat Tree::shown_attributes(const SourceEntry& entry) const {
  struct stat st = entry.source;
  if (entry.is_container) {
    st.st_ino = entry.entry.st_ino;
    st.st_size = entry.shown_size;
    if (entry.is_sframe) st.st_blocks = (entry.stored_size + kStatBlock - 1) / kStatBlock;
  }
  return owned(st);
}

struct stat Tree::owned(struct stat st) const {
  if (owner_.uid) st.st_uid = *owner_.uid;
  if (owner_.gid) st.st_gid = *owner_.gid;
  return st;
}

struct stat Tree::single_root_attributes() {
  struct stat st {};
  st.st_nlink = 2;
  st.st_ino = kRootId;
  st.st_mode = S_IFDIR | 0755;
  if (const auto entry = classifier_.look(*single_)) {
    const struct stat file = shown_attributes(*entry);
    st.st_uid = file.st_uid;
    st.st_gid = file.st_gid;
    st.st_atim = file.st_atim;
    st.st_mtim = file.st_mtim;
    st.st_ctim = file.st_ctim;
  }
  return st;
}

std::vector<Tree::DirectoryEntry> Tree::list(NodeId directory) {
  const std::string parent = path(directory);
  std::vector<NamedEntry> named;
  std::vector<DirectoryEntry> entries;
  const auto add = [&](const std::string& full_name) {
    const auto entry = visible_entry(parent, full_name);
    if (!entry) return;
    named.push_back({full_name, entry->shown});
    const mode_t type = entry->is_container ? S_IFREG : entry->entry.st_mode & S_IFMT;
    entries.push_back({{}, full_name, type, entry->entry.st_ino});
  };
  if (single_ && directory == kRootId) {
    add(*single_);
  } else {
    for (const SourceRoot::Entry& entry : root_.list(parent)) add(entry.name);
  }
  std::vector<std::string> names = shown_names(named);
  for (std::size_t i = 0; i < entries.size(); i++) entries[i].shown_name = std::move(names[i]);
  return entries;
}

bool Tree::take_change(NodeId id, const SourceEntry& entry) {
  const MutexLock lock(mutex_);
  Node& known = node(id);
  const State previous = std::exchange(known.state, state_of(entry));
  return !(previous == known.state);
}

std::shared_ptr<const OpenFile> Tree::opened(NodeId id) const {
  const MutexLock lock(mutex_);
  return node(id).open_file.lock();
}

void Tree::set_opened(NodeId id, const std::shared_ptr<const OpenFile>& file) {
  const MutexLock lock(mutex_);
  Node& known = node(id);
  known.open_file = file;
  known.was_opened = true;
}

}  // namespace bloscfs::fs
