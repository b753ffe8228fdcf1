// What SOURCE has under paths and names, as the mount shows it.

#include <algorithm>
#include <system_error>
#include <utility>

#include "fs/tree.hpp"

namespace bloscfs::fs {
namespace {

/// Entries that are looked at in one go.
constexpr std::size_t kListBatch = 256;

}  // namespace

std::optional<SourceEntry> Tree::look(const SourcePath& path) {
  const auto object = root_.find_any(path);
  if (!object) return std::nullopt;
  if (auto own = own_entry(object, Own::leading)) return own;
  SourceEntry entry = classifier_.look(path, object);
  // A commit may have begun meanwhile; it cannot have ended, since that changes names.
  if (auto own = own_entry(object, Own::leading)) return own;
  if (!entry.is_container || entry.is_sframe) return entry;
  const MutexLock lock(mutex_);
  const Node* node = nodes_.current(identity_of(entry.entry));
  if (node != nullptr && node->rare().plain_writers > 0) {
    entry.is_container = entry.is_bloscpack = false;
    entry.shown = ShownAs::itself;
  }
  return entry;
}

std::optional<SourceEntry> Tree::look_whole(const SourcePath& path) {
  auto entry = look(path);
  if (entry && entry->unreadable) throw std::system_error(entry->unreadable, path.text());
  return entry;
}

std::optional<SourceEntry> Tree::own_entry(const std::shared_ptr<const SourceObject>& object,
                                           Own which) {
  const struct stat st = object->stat();
  std::shared_ptr<const OpenFile> file;
  bool is_sframe = false, is_pending = false;
  ShownAs shown_as = ShownAs::flat;
  FileState state;
  {
    const MutexLock lock(mutex_);
    const Node* node = nodes_.current(identity_of(st));
    if (node == nullptr || !node->is_container) return std::nullopt;
    file = node->open_file.lock();
    is_sframe = node->is_sframe;
    is_pending = node->rare().wanted_name.has_value();
    shown_as = node->shown;
    state = node->state;
  }
  if (!file || !file->content || (which == Own::leading && !file->content->leads()))
    return std::nullopt;
  SourceEntry entry;
  entry.is_container = true;
  entry.is_sframe = is_sframe;
  entry.object = object;
  entry.entry = entry.source = st;
  if (is_sframe) {
    const auto index = object->stat(kSframeIndex);
    if (!index) return std::nullopt;
    entry.source = *index;
  }
  const Content::Shown shown = file->content->shown();
  entry.shown = shown_as;
  entry.is_bloscpack = shown.is_bloscpack;
  entry.shown_size = shown.size;
  entry.stored_size = shown.stored_chunks + entry.source.st_size;
  // A commit changes the state, until the tree is told of the one that it leaves.
  entry.is_outdated =
      !is_pending && (file->content->is_committing() ? !file->content->is_file_current()
                                                     : !(state == state_of(entry.source)));
  return entry;
}

std::optional<SourceEntry> Tree::waiting_entry(const SourcePath& path) const {
  const auto object = root_.find_any(path);
  if (!object) return std::nullopt;  // somebody has cleared SOURCE up
  SourceEntry entry;
  entry.shown = ShownAs::flat;
  entry.is_container = true;
  entry.object = object;
  entry.source = entry.entry = object->stat();
  return entry;
}

std::optional<SourceEntry> Tree::pending_entry(NodeId directory, const std::string& full_name) {
  SourcePath path;
  {
    const MutexLock lock(mutex_);
    const Node* node = nodes_.pending(directory, full_name);
    if (node == nullptr) return std::nullopt;
    path = nodes_.path(*node);
  }
  return waiting_entry(path);
}

std::optional<SourceEntry> Tree::visible_entry(NodeId directory, const SourcePath& path,
                                               const std::string& full_name) {
  if (auto entry = pending_entry(directory, full_name)) return entry;
  if (is_temporary(full_name) || is_lock_file(full_name)) return std::nullopt;
  if (const auto locked = locked_name(full_name)) {
    const auto frame = visible_entry(directory, path, std::string(*locked));
    if (is_temporary(*locked) || (frame && frame->is_container)) return std::nullopt;
  }
  return look(join_path(path, full_name));
}

std::optional<std::string> Tree::resolve(NodeId directory, const SourcePath& path,
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

std::optional<Tree::Sight> Tree::see(NodeId directory, const SourcePath& path,
                                     const std::string& full_name) {
  const auto entry = visible_entry(directory, path, full_name);
  if (!entry) return std::nullopt;
  return Sight{entry->shown, entry->shown_type(), entry->entry.st_ino};
}

std::vector<Tree::DirectoryEntry> Tree::list(NodeId directory) {
  std::vector<std::string> present;
  {
    const ReadLock names(names_);
    const SourcePath path = this->path(directory);
    present = names_in(directory, path);
    if (present.size() <= kListBatch) return entries_of(directory, path, std::move(present), {});
  }
  // A large directory takes a while, and others want to change names.
  Sights seen;
  for (std::size_t done = 0; done < present.size();) {
    const ReadLock names(names_);
    const SourcePath path = this->path(directory);
    const std::size_t end = std::min(present.size(), done + kListBatch);
    for (; done < end; done++)
      if (const auto sight = see(directory, path, present[done]))
        seen.emplace(present[done], *sight);
  }
  present = {};
  // Then a file is there once, under the name that it has now.
  const ReadLock names(names_);
  const SourcePath path = this->path(directory);
  return entries_of(directory, path, names_in(directory, path), seen);
}

std::vector<Tree::DirectoryEntry> Tree::entries_of(NodeId directory, const SourcePath& path,
                                                   std::vector<std::string> present,
                                                   const Sights& seen) {
  std::vector<NamedEntry> named;
  std::vector<DirectoryEntry> entries;
  for (std::string& name : present) {
    const auto known = seen.find(name);
    const auto sight =
        known != seen.end() ? std::optional(known->second) : see(directory, path, name);
    if (!sight) continue;
    named.push_back({std::move(name), sight->shown});
    entries.push_back({{}, {}, sight->type, sight->inode});
  }
  std::vector<std::string> shown = shown_names(named);
  for (std::size_t i = 0; i < entries.size(); i++) {
    entries[i].shown_name = std::move(shown[i]);
    entries[i].full_name = std::move(named[i].full_name);
  }
  return entries;
}

std::vector<std::string> Tree::names_in(NodeId directory, const SourcePath& path) {
  if (is_virtual(directory)) return {single().value()};
  std::vector<std::string> present;
  for (SourceRoot::Entry& entry : root_.list(path)) present.push_back(std::move(entry.name));
  {
    const MutexLock lock(mutex_);
    for (const Node* node : nodes_.pending_in(directory))
      present.push_back(*node->rare().wanted_name);
  }
  std::sort(present.begin(), present.end());
  present.erase(std::unique(present.begin(), present.end()), present.end());
  return present;
}

}  // namespace bloscfs::fs
