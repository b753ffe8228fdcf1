#include "fs/tree.hpp"

#include <algorithm>
#include <cerrno>
#include <set>
#include <system_error>
#include <utility>

#include <fcntl.h>

namespace bloscfs::fs {
namespace {

/// Entries that are looked at in one go.
constexpr std::size_t kListBatch = 256;

[[noreturn]] void throw_stale(const std::string& what) {
  throw std::system_error(ESTALE, std::generic_category(), what);
}

mode_t shown_type(const SourceEntry& entry) {
  return entry.is_container ? S_IFREG : entry.entry.st_mode & S_IFMT;
}

}  // namespace

Tree::Tree(const SourceRoot& root, Classifier& classifier, std::optional<std::string> single,
           OwnerOverride owner)
    : root_(root),
      classifier_(classifier),
      is_single_(single.has_value()),
      owner_(owner),
      single_(std::move(single)) {}

Tree::~Tree() = default;

Tree::Known Tree::known(NodeId id) const {
  const MutexLock lock(mutex_);
  const Node& node = nodes_.node(id);
  return {id,
          nodes_.paths(node),
          node.identity,
          node.state,
          node.is_container,
          node.is_sframe,
          node.rare().wanted_name.has_value(),
          node.open_file.lock(),
          node.rare().remains};
}

std::string Tree::path(NodeId id) const {
  const MutexLock lock(mutex_);
  return nodes_.path(nodes_.node(id));
}

std::optional<std::string> Tree::single() const {
  const MutexLock lock(mutex_);
  return single_;
}

std::optional<SourceEntry> Tree::look(const std::string& path) {
  auto entry = classifier_.look(path);
  if (!entry || !entry->is_container || entry->is_sframe) return entry;
  const MutexLock lock(mutex_);
  const Node* node = nodes_.current(identity_of(entry->entry));
  if (node != nullptr && node->rare().plain_writers > 0) {
    entry->is_container = entry->is_bloscpack = false;
    entry->shown = ShownAs::itself;
  }
  return entry;
}

std::optional<SourceEntry> Tree::pending_entry(NodeId directory, const std::string& full_name) {
  std::string path;
  {
    const MutexLock lock(mutex_);
    const Node* node = nodes_.pending(directory, full_name);
    if (node == nullptr) return std::nullopt;
    path = nodes_.path(*node);
  }
  const auto st = root_.stat(path);
  if (!st) return std::nullopt;  // somebody has cleared SOURCE up
  SourceEntry entry;
  entry.shown = ShownAs::flat;
  entry.is_container = true;
  entry.source = entry.entry = *st;
  return entry;
}

std::optional<SourceEntry> Tree::visible_entry(NodeId directory, const std::string& path,
                                               const std::string& full_name) {
  if (auto entry = pending_entry(directory, full_name)) return entry;
  if (is_temporary(full_name)) return std::nullopt;
  if (const auto locked = locked_name(full_name)) {
    const auto frame = visible_entry(directory, path, std::string(*locked));
    if (is_temporary(*locked) || (frame && frame->is_container)) return std::nullopt;
  }
  return look(join_path(path, full_name));
}

std::optional<std::string> Tree::resolve(NodeId directory, const std::string& path,
                                         const std::string& name) {
  const auto ask = [&](const std::string& full_name) -> std::optional<ShownAs> {
    const auto entry = visible_entry(directory, path, full_name);
    return entry ? std::optional<ShownAs>(entry->shown) : std::nullopt;
  };
  if (!is_virtual(directory)) return full_name_of(name, ask);
  const std::string only = single().value();
  const auto shown = ask(only);
  if (!shown || preferred_name(only, *shown) != name) return std::nullopt;
  return only;
}

std::optional<Tree::Found> Tree::lookup(NodeId directory, const std::string& name) {
  std::optional<Found> found;
  {
    const ReadLock names(names_);
    const auto full_name = resolve(directory, path(directory), name);
    if (full_name) found = adopt(directory, name, *full_name);
  }
  if (found) found->attributes = with_live(found->attributes, found->id);
  return found;
}

std::optional<Tree::Found> Tree::enter(NodeId directory, const DirectoryEntry& entry) {
  std::optional<Found> found;
  {
    const ReadLock names(names_);
    found = adopt(directory, entry.shown_name, entry.full_name);
    if (!found) {
      // Since it was listed the file may have become an array, say, which is stored elsewhere.
      const auto full_name = resolve(directory, path(directory), entry.shown_name);
      if (full_name) found = adopt(directory, entry.shown_name, *full_name);
    }
  }
  if (found) found->attributes = with_live(found->attributes, found->id);
  return found;
}

std::optional<Tree::Found> Tree::adopt(NodeId directory, const std::string& shown_name,
                                       const std::string& full_name) {
  if (const auto pending = pending_entry(directory, full_name)) {
    const MutexLock lock(mutex_);
    Node& node = *nodes_.pending(directory, full_name);
    node.references++;
    return Found{node.id, attributes_of(*pending), false};
  }
  const auto entry = look(join_path(path(directory), full_name));
  if (!entry) return std::nullopt;
  Found found = adopt_entry(directory, full_name, *entry);
  found.is_fallback = preferred_name(full_name, entry->shown) != shown_name;
  return found;
}

bool Tree::is_live(const SourceEntry& entry) const {
  std::shared_ptr<const OpenFile> file;
  {
    const MutexLock lock(mutex_);
    const Node* node = nodes_.current(identity_of(entry.entry));
    if (node != nullptr) file = node->open_file.lock();
  }
  return file && file->has_changes();
}

Node* Tree::node_of(const SourceEntry& entry, bool is_live) const {
  Node* node = nodes_.current(identity_of(entry.entry));
  if (node == nullptr || node->type != shown_type(entry)) return nullptr;
  if (node->is_container != entry.is_container) return nullptr;
  const bool same_state = !entry.is_container || is_live || node->state == state_of(entry.source);
  return same_state ? node : nullptr;
}

Tree::Found Tree::adopt_entry(NodeId directory, const std::string& full_name,
                              const SourceEntry& entry) {
  Found found{0, attributes_of(entry), false};
  const bool live = is_live(entry);
  NodeTable::Dropped dropped;  // destroyed behind the lock
  const MutexLock lock(mutex_);
  Node& parent = nodes_.node(directory);
  Node* known = node_of(entry, live);
  if (known != nullptr) {
    known->references++;
    dropped = nodes_.add_name(*known, parent, full_name);
  } else {
    known = &nodes_.add(parent, full_name, identity_of(entry.entry));
    known->is_container = entry.is_container;
    known->is_sframe = entry.is_sframe;
    known->type = shown_type(entry);
  }
  known->state = state_of(entry.source);
  found.id = known->id;
  return found;
}

Tree::Found Tree::reference(NodeId id) {
  const struct stat st = attributes(id);
  const MutexLock lock(mutex_);
  nodes_.node(id).references++;
  return {id, st, false};
}

NodeId Tree::parent(NodeId id) const {
  const MutexLock lock(mutex_);
  const Node& node = nodes_.node(id);
  return node.has_name() ? node.name.parent->id : kRootId;
}

void Tree::forget(NodeId id, std::uint64_t references) {
  if (id == kRootId) return;
  NodeTable::Dropped dropped;
  const MutexLock lock(mutex_);
  if (Node* node = nodes_.find(id)) dropped = nodes_.forget(*node, references);
}

void Tree::pin(NodeId id) {
  const MutexLock lock(mutex_);
  nodes_.node(id).pins++;
}

void Tree::unpin(NodeId id) {
  NodeTable::Dropped dropped;
  const MutexLock lock(mutex_);
  dropped = nodes_.unpin(nodes_.node(id));
}

SourceEntry Tree::entry(NodeId id) {
  const ReadLock names(names_);
  return entry_of(known(id));
}

SourceEntry Tree::entry_of(const Known& known) {
  if (known.paths.empty()) return entry_of_remains(known);
  std::optional<SourceEntry> newest;
  for (const std::string& path : known.paths) {
    auto entry = look(path);
    if (!entry) continue;
    if (known.id == kRootId) {
      // What SOURCE is was decided when it was mounted.
      entry->is_container = entry->is_sframe = false;
      entry->source = entry->entry;
      return *entry;
    }
    if (known.is_pending) {
      entry->is_container = true;
      entry->shown = ShownAs::flat;
    }
    const bool same_object =
        identity_of(entry->entry) == known.identity && entry->is_container == known.is_container;
    const bool same_state = !known.is_container ||
                            (known.open_file && known.open_file->has_changes()) ||
                            state_of(entry->source) == known.state;
    if (same_object && same_state) return *entry;
    if (!newest) newest = entry;
  }
  if (!newest || !follow(known.id, *newest)) throw_stale(known.paths.front());
  return *newest;
}

SourceEntry Tree::entry_of_remains(const Known& known) {
  if (!known.remains) throw_stale("inode " + std::to_string(known.id));
  SourceEntry entry;
  entry.is_container = known.is_container;
  entry.is_sframe = known.is_sframe;
  entry.shown = known.is_container ? ShownAs::flat : ShownAs::itself;
  entry.source = entry.entry = known.remains->stat();
  entry.entry.st_ino = known.identity.inode;
  if (!known.open_file) return entry;
  entry.shown_size = known.open_file->attributes.st_size;
  entry.stored_size = known.open_file->attributes.st_blocks * kStatBlock;
  return entry;
}

bool Tree::follow(NodeId id, const SourceEntry& entry) {
  const MutexLock lock(mutex_);
  Node& node = nodes_.node(id);
  if (node.was_opened || !node.is_container || !entry.is_container) return false;
  nodes_.set_identity(node, identity_of(entry.entry));
  node.state = state_of(entry.source);
  node.was_followed = true;
  return true;
}

std::shared_ptr<const SourceObject> Tree::object(NodeId id) {
  const ReadLock names(names_);
  const Known what = known(id);
  if (what.paths.empty()) {
    if (!what.remains) throw_stale("inode " + std::to_string(id));
    return what.remains;
  }
  for (const std::string& path : what.paths) {
    const auto st = root_.stat(path);
    if (!st || !(identity_of(*st) == what.identity || id == kRootId)) continue;
    return std::make_shared<SourceObject>(
        root_.object(what.is_sframe ? join_path(path, kSframeIndex) : path));
  }
  throw_stale(what.paths.front());
}

std::optional<Tree::Sight> Tree::see(NodeId directory, const std::string& full_name) {
  const auto entry = visible_entry(directory, path(directory), full_name);
  if (!entry) return std::nullopt;
  return Sight{entry->shown, shown_type(*entry), entry->entry.st_ino};
}

std::vector<Tree::DirectoryEntry> Tree::list(NodeId directory) {
  std::vector<std::string> present;
  {
    const ReadLock names(names_);
    present = names_in(directory);
    if (present.size() <= kListBatch) return entries_of(directory, std::move(present), {});
  }
  // A large directory takes a while, and others want to change names.
  Sights seen;
  for (std::size_t done = 0; done < present.size();) {
    const ReadLock names(names_);
    const std::size_t end = std::min(present.size(), done + kListBatch);
    for (; done < end; done++)
      if (const auto sight = see(directory, present[done])) seen.emplace(present[done], *sight);
  }
  // Then a file is there once, under the name that it has now.
  const ReadLock names(names_);
  return entries_of(directory, names_in(directory), seen);
}

std::vector<Tree::DirectoryEntry> Tree::entries_of(NodeId directory,
                                                   std::vector<std::string> present,
                                                   const Sights& seen) {
  std::vector<NamedEntry> named;
  std::vector<DirectoryEntry> entries;
  for (std::string& name : present) {
    const auto known = seen.find(name);
    const auto sight = known != seen.end() ? std::optional(known->second) : see(directory, name);
    if (!sight) continue;
    named.push_back({name, sight->shown});
    entries.push_back({{}, std::move(name), sight->type, sight->inode});
  }
  std::vector<std::string> shown = shown_names(named);
  for (std::size_t i = 0; i < entries.size(); i++) entries[i].shown_name = std::move(shown[i]);
  return entries;
}

std::vector<std::string> Tree::names_in(NodeId directory) {
  if (is_virtual(directory)) return {single().value()};
  std::set<std::string> present;
  for (SourceRoot::Entry& entry : root_.list(path(directory)))
    present.insert(std::move(entry.name));
  const MutexLock lock(mutex_);
  for (const Node* node : nodes_.pending_in(directory)) present.insert(*node->rare().wanted_name);
  return {present.begin(), present.end()};
}

bool Tree::take_change(NodeId id, const SourceEntry& entry) {
  const MutexLock lock(mutex_);
  Node& node = nodes_.node(id);
  // A container's node is one state, but for what happened before its first open.
  if (entry.is_container) return node.was_followed;
  const FileState previous = std::exchange(node.state, state_of(entry.source));
  return !(previous == node.state);
}

void Tree::change_was_told(NodeId id) {
  const MutexLock lock(mutex_);
  nodes_.node(id).was_followed = false;
}

std::shared_ptr<const OpenFile> Tree::opened(NodeId id) const {
  const MutexLock lock(mutex_);
  return nodes_.node(id).open_file.lock();
}

std::shared_ptr<const OpenFile> Tree::share_opened(NodeId id, std::shared_ptr<const OpenFile> file,
                                                   const SourceEntry& entry) {
  const MutexLock lock(mutex_);
  Node& node = nodes_.node(id);
  auto other = node.open_file.lock();
  if (other && !other->content == !file->content) return other;
  if (node.is_container && !(node.state == state_of(entry.source)))
    throw_stale("inode " + std::to_string(id));
  node.open_file = file;
  node.was_opened = true;
  return file;
}

void Tree::set_opened(NodeId id, const std::shared_ptr<const OpenFile>& file) {
  const MutexLock lock(mutex_);
  Node& node = nodes_.node(id);
  node.open_file = file;
  node.was_opened = true;
}

void Tree::begin_plain_writing(NodeId id) {
  const MutexLock lock(mutex_);
  nodes_.node(id).make_rare().plain_writers++;
}

bool Tree::has_plain_writers(NodeId id) const {
  const MutexLock lock(mutex_);
  return nodes_.node(id).rare().plain_writers > 0;
}

void Tree::end_plain_writing(NodeId id) {
  const MutexLock lock(mutex_);
  Node& node = nodes_.node(id);
  if (node.rare().plain_writers > 0) node.make_rare().plain_writers--;
  node.trim_rare();
}

bool Tree::is_last_plain_writer(NodeId id) const {
  const MutexLock lock(mutex_);
  return nodes_.node(id).rare().plain_writers == 1;
}

}  // namespace bloscfs::fs
