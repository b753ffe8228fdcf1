// Aliases: nodes that stand for a frame's own bytes, under the name that it has in SOURCE.

#include <algorithm>
#include <cerrno>
#include <utility>

#include "frame/header/sframe_format.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/support/lock_breaks.hpp"
#include "fs/tree/tree_changes.hpp"

namespace bloscfs::fs {
namespace {

/// No filesystem numbers its inodes from here on, so that an alias shares its number with no shown
/// file, and has the same one after a new mount.
constexpr ino_t kAliasInodes = ino_t{1} << 63;
constexpr mode_t kWriteBits = 0222;

SourceEntry alias_of(std::shared_ptr<const SourceObject> object) {
  SourceEntry entry;
  entry.is_alias = entry.is_read_only = true;
  entry.content_stat = entry.own_stat = object->stat();
  entry.object = std::move(object);
  return entry;
}

/// A directory stands for all states of the frame in it.
FileState alias_state(const SourceEntry& entry) {
  return S_ISDIR(entry.own_stat.st_mode) ? FileState() : state_of(entry.own_stat);
}

/// Of a sparse frame what belongs to it, of a store all that it holds.
bool is_shown_inside(const std::string& name, mode_t type, bool is_in_store) {
  if (is_in_store)
    return (S_ISREG(type) || S_ISDIR(type)) && !is_temporary(name) && !is_lock_file(name);
  return S_ISREG(type) && (name == frame::kSframeIndexName || frame::chunk_file_number(name));
}

}  // namespace

bool Tree::is_alias(NodeId id) const {
  const MutexLock lock(mutex_);
  const Node* const node = nodes_.find(id);
  return node != nullptr && node->is_alias;
}

struct stat Tree::alias_attributes(struct stat st) {
  st.st_ino ^= kAliasInodes;
  st.st_mode &= ~kWriteBits;
  return st;
}

std::optional<SourceEntry> Tree::alias_entry(NodeId directory, const SourcePath& path,
                                             const std::string& name) {
  if (is_virtual(directory) && name != single().value()) return std::nullopt;
  if (is_temporary(name) || is_lock_file(name)) return std::nullopt;
  const auto entry = look_whole(join_path(path, name));
  if (!entry || !(entry->is_container || entry->is_store || entry->is_store_directory))
    return std::nullopt;
  SourceEntry alias = alias_of(entry->object);
  alias.is_store_directory = entry->is_store_directory;
  return alias;
}

bool Tree::is_alias_of_store(NodeId directory) const {
  const MutexLock lock(mutex_);
  return nodes_.node(directory).is_store_directory;
}

std::optional<SourceEntry> Tree::entry_inside(NodeId directory, const SourcePath& path,
                                              const std::string& name) {
  const bool is_in_store = is_alias_of_store(directory);
  auto object = root_.find_any(join_path(path, name));
  if (!object || !is_shown_inside(name, object->stat().st_mode, is_in_store)) return std::nullopt;
  SourceEntry alias = alias_of(std::move(object));
  alias.is_store_directory = is_in_store && S_ISDIR(alias.own_stat.st_mode);
  return alias;
}

std::optional<Tree::Found> Tree::adopt_alias(NodeId directory, const SourcePath& path,
                                             const std::string& name) {
  const auto entry = is_alias(directory) ? entry_inside(directory, path, name)
                                         : alias_entry(directory, path, name);
  if (!entry) return std::nullopt;
  Found found{0, attributes_of(*entry)};
  found.is_alias = true;
  const MutexLock lock(mutex_);
  Node& alias = nodes_.refer_to_alias(nodes_.node(directory), name, identity_of(entry->own_stat),
                                      alias_state(*entry));
  alias.type = entry->shown_type();
  alias.is_store_directory = entry->is_store_directory;
  found.id = alias.id;
  return found;
}

/// One that nobody has open stands for what is there now: no page of it is the kernel's.
SourceEntry Tree::entry_of_alias(const Known& known) const {
  const SourcePath& path = known.paths.front();
  if (auto object = root_.find_any(path)) {
    SourceEntry entry = alias_of(std::move(object));
    const bool same_state = !known.open_file || alias_state(entry) == known.state;
    if (identity_of(entry.own_stat) == known.identity && same_state) return entry;
  }
  frame::throw_errno(ESTALE, path.text());
}

bool TreeLooks::is_alias(NodeId directory, const std::string& name) {
  tree_.names_.assert_shared();
  if (!tree_.has_aliases_) return false;
  const SourcePath path = tree_.path(directory);
  return !tree_.resolve(directory, path, name) && tree_.alias_entry(directory, path, name);
}

std::vector<Tree::DirectoryEntry> Tree::list_alias(NodeId directory,
                                                   const std::function<void()>& if_many) {
  const bool is_in_store = is_alias_of_store(directory);
  std::vector<DirectoryEntry> entries;
  for (SourceRoot::Entry& entry : root_.list(path(directory), if_many))
    if (const auto type = static_cast<mode_t>(DTTOIF(entry.type));
        is_shown_inside(entry.name, type, is_in_store))
      entries.push_back({entry.name, entry.name, type, entry.inode ^ kAliasInodes});
  std::sort(entries.begin(), entries.end(),
            [](const auto& one, const auto& other) { return one.full_name < other.full_name; });
  return entries;
}

}  // namespace bloscfs::fs
