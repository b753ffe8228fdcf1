// Finds what SOURCE has under paths and names, as the mount shows it, and what store directories
// have embedded in addition.

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include "frame/pystore/store_names.hpp"
#include "frame/store/sframe_names.hpp"
#include "frame/store/wait_context.hpp"
#include "fs/options/container_suffixes.hpp"
#include "fs/source/local/tree/tree.hpp"

namespace bloscfs::fs {
namespace {

/// How many entries are looked at under one hold of the lock.
constexpr std::size_t kListBatch = 256;
/// How often a directory is listed while its names change. After that an entry may be missing, or
/// appear twice, as in any other filesystem.
constexpr int kListTries = 10;

/// Adds the key of the embedded leaf that a listed file hides. Must agree with is_leaf_hidden(),
/// which decides whether any file hides a given leaf.
void add_keys(const std::string& name, ShownAs shown, mode_t type,
              std::set<std::string, std::less<>>& keys) {
  const bool is_container =
      shown == ShownAs::array || shown == ShownAs::flat || shown == ShownAs::frame_store;
  const bool is_leaf = S_ISREG(type) && frame::leaf_form(name) != frame::LeafForm::other;
  const std::string_view key = frame::leaf_stem(name);
  if ((is_container || is_leaf) && key == stem(name, shown)) keys.emplace(key);
}

}  // namespace

std::optional<SourceEntry> Tree::look(NamesWork& work, const SourcePath& path, IfUnread if_unread) {
  const auto object = root_.find_any(path, &work);
  if (!object) return std::nullopt;
  SourceEntry found = found_entry(object);
  if (auto own = own_entry(found, Own::authoritative)) return own;
  SourceEntry entry = if_unread == IfUnread::read
                          ? classifier_.look(work, path, std::move(found))
                          : classifier_.quick_look(work, path, std::move(found));
  return entry.trust == EntryOrigin::unread ? std::move(entry) : look_at(std::move(entry));
}

SourceEntry Tree::look_at(SourceEntry entry) {
  // A commit may have begun since the entry was judged. It cannot have ended, since that changes
  // names.
  if (auto own = own_entry(entry, Own::authoritative)) return *std::move(own);
  if (entry.kind != EntryKind::frame && !entry.is_store()) return entry;
  const MutexLock lock(mutex_);
  const Node* node = nodes_.current(identity_of(entry.own_stat));
  if (node != nullptr && node->rare().plain_writers > 0) {
    entry.kind = EntryKind::itself;
    entry.is_read_only = false;
    entry.shown = ShownAs::itself;
  }
  return entry;
}

std::optional<SourceEntry> Tree::look_or_throw(NamesWork& work, const SourcePath& path) {
  auto entry = look(work, path);
  if (entry && entry->unreadable) throw std::system_error(entry->unreadable, path.text());
  return entry;
}

std::optional<SourceEntry> Tree::own_entry(const SourceEntry& found, Own which) {
  SourceEntry entry;
  std::shared_ptr<const OpenFile> opened;
  bool is_pending = false;
  FileState state;
  {
    const MutexLock lock(mutex_);
    const Node* node = nodes_.current(identity_of(found.own_stat));
    if (node == nullptr || !node->is_container()) return std::nullopt;
    entry = found;
    entry.kind = node->kind;
    entry.shown = node->shown;
    opened = node->open_file.lock();
    is_pending = node->rare().wanted_name.has_value();
    state = node->state;
  }
  const auto* const file = dynamic_cast<const OpenContainer*>(opened.get());
  if (file == nullptr || (which == Own::authoritative && !file->is_authoritative()))
    return std::nullopt;
  if (entry.is_sframe()) {
    const auto index = entry.object->stat(frame::kSframeIndexName);
    if (!index) return std::nullopt;
    entry.content_stat = *index;
  }
  // Asks the content, not the bytes: during a commit the file may not hold a whole frame.
  const Content::Shown shown = file->content->shown();
  entry.is_read_only = shown.is_read_only;
  entry.shown_size = shown.size;
  entry.stored_size = shown.stored_chunks + entry.content_stat.st_size;
  // During a commit the file's state differs from the node's, until the commit reports its result
  // to the tree.
  const bool is_current = file->content->is_committing() ? file->content->is_file_current()
                                                         : state == state_of(entry.content_stat);
  entry.trust = is_pending || is_current ? EntryOrigin::content : EntryOrigin::outdated;
  return entry;
}

std::optional<SourceEntry> Tree::pending_entry(
    NamesWork& work, const SourcePath& path,
    const std::shared_ptr<const SourceObject>& made) const {
  const auto object = root_.find_any(path, &work, made);
  if (!object) return std::nullopt;  // another program has removed the temporary
  SourceEntry entry = found_entry(object);
  entry.shown = ShownAs::flat;
  entry.kind = EntryKind::frame;
  entry.trust = EntryOrigin::content;
  return entry;
}

std::optional<SourceEntry> Tree::present_entry(NamesWork& work, const Directory& in,
                                               const std::string& full_name, IfUnread if_unread) {
  std::optional<SourcePath> waiting;
  std::shared_ptr<const SourceObject> made;
  {
    const MutexLock lock(mutex_);
    if (const Node* node = nodes_.pending(in.id, full_name)) {
      waiting = nodes_.path(*node);
      made = node->rare().made;
    }
  }
  if (waiting) return pending_entry(work, *waiting, made);
  if (is_hidden(work, in, full_name)) return std::nullopt;
  return look(work, join_path(in.path, full_name), if_unread);
}

std::optional<SourceEntry> Tree::visible_entry(NamesWork& work, const Directory& in,
                                               const std::string& full_name) {
  auto entry = present_entry(work, in, full_name);
  return entry && !entry->is_left_out() ? std::move(entry) : std::nullopt;
}

bool Tree::is_hidden(NamesWork& work, const Directory& in, const std::string& full_name) {
  if (is_temporary(full_name) || is_lock_file(full_name)) return true;
  // F.b2lock is hidden if F is a container, a store or a temporary. Otherwise it is a file like any
  // other.
  const auto locked = locked_name(full_name);
  if (!locked) return is_hidden_in_store(work, in, full_name);
  const auto frame = present_entry(work, in, std::string(*locked));
  return is_temporary(*locked) || (frame && (frame->is_container() || frame->is_store())) ||
         is_hidden_in_store(work, in, full_name);
}

std::optional<Tree::Shown> Tree::resolve(NamesWork& work, const Directory& in,
                                         const std::string& name) {
  std::vector<Shown> seen;
  const auto ask = [&](const std::string& full_name) -> std::optional<ShownAs> {
    names_.assert_shared();
    auto entry = visible_entry(work, in, full_name);
    if (entry) {
      seen.push_back({full_name, std::move(entry)});
      return seen.back().entry->shown;
    }
    const auto embedded = embedded_entry(work, in, full_name);
    return embedded ? std::optional(embedded->shown) : std::nullopt;
  };
  std::optional<std::string> owner;
  if (is_virtual(in.id)) {
    owner = single().value();
    const auto shown = ask(*owner);
    if (!shown || preferred_name(*owner, *shown) != name) return std::nullopt;
  } else {
    owner = full_name_of(name, ask);
  }
  if (!owner) return std::nullopt;
  for (Shown& shown : seen)
    if (shown.full_name == *owner) return std::move(shown);
  return Shown{*std::move(owner), std::nullopt};
}

/// Lists again while names change, so that each file appears once, under the name that it has at
/// the end. The lock is released between batches. Without another try, a file that is renamed from
/// `a` to `z` after the directory was read, and before `a` was looked at, would be missing.
std::optional<std::vector<DirectoryEntry>> Tree::list(Request& request, NodeId directory,
                                                      const OnManyEntries& on_many_entries) {
  // Reads the counter under the lock, so that no change of names is under way.
  const auto changes = [&] {
    const ReadNames names(names_);
    return name_changes(directory);
  };
  ListedEntries seen;
  for (int tries = 1;; tries++) {
    const std::uint32_t before = changes();
    std::optional<std::vector<std::string>> present;
    // Embedded entries are listed before the files. If a leaf becomes a file in between, both are
    // listed, and the file hides the leaf. In the other order it would be missing.
    const auto place = store_place(directory);
    auto embedded =
        place ? embedded_->list(request, *place, on_many_entries) : EmbeddedEntries::Listed();
    if (!embedded) return std::nullopt;
    try {
      present = names_in(this->directory(directory), on_many_entries);
    } catch (const std::system_error& error) {
      // A directory above was renamed between path() and the read, so that the path leads nowhere.
      const bool is_gone = error.code() == std::errc(ENOENT) || error.code() == std::errc(ESTALE);
      if (!is_gone || tries == kListTries) throw;
      continue;
    }
    if (!present) return std::nullopt;
    // A small directory fits into one batch, and is looked at anew in each try. In a large one,
    // names that were seen are not looked at again.
    if (present->size() <= kListBatch) seen.clear();
    for (std::size_t done = 0; done < present->size(); done += kListBatch) {
      frame::Interruption::check();
      const std::span batch = std::span(*present).subspan(done);
      see_all(request, directory, batch.first(std::min(batch.size(), kListBatch)), seen);
    }
    if (changes() == before || tries == kListTries)
      return entries_of(*std::move(present), seen, *std::move(embedded));
  }
}

/// Reads all unread files of the batch together, without the lock.
void Tree::see_all(Request& request, NodeId directory, std::span<const std::string> names,
                   ListedEntries& seen) {
  const auto note = [&seen](const std::string& name, const SourceEntry& entry) {
    if (!entry.is_left_out()) seen.emplace(name, entry);
  };
  std::optional<Directory> in;
  NamesWork work(request);
  auto unread = work.run([&] {
    const ReadNames shared(names_, &work);
    in = this->directory(directory);
    std::vector<std::pair<std::string, SourceEntry>> left;
    for (const std::string& name : names) {
      if (seen.contains(name)) continue;
      auto entry = present_entry(work, *in, name, IfUnread::leave);
      if (entry && entry->trust == EntryOrigin::unread)
        left.emplace_back(name, *std::move(entry));
      else if (entry)
        note(name, *entry);
    }
    return left;
  });
  if (unread.empty()) return;
  request.need_slot();
  for (auto& [name, entry] : unread)
    entry = classifier_.read(request, join_path(in->path, name), std::move(entry));
  const ReadNames shared(names_);
  for (const auto& [name, entry] : unread) note(name, look_at(entry));
}

std::vector<DirectoryEntry> Tree::entries_of(std::vector<std::string> present,
                                             const ListedEntries& seen,
                                             EmbeddedEntries::Listed embedded) {
  std::vector<NamedEntry> named;
  std::vector<DirectoryEntry> entries;
  std::set<std::string, std::less<>> keys;  // keys of files, which hide embedded leaves
  if (!embedded.entries.empty())
    for (const auto& [name, listed] : seen) add_keys(name, listed.shown, listed.type, keys);
  for (ArchiveEntry& entry : embedded.entries) {
    if (seen.count(entry.full_name) != 0) continue;
    if (!entry.is_group() && keys.contains(frame::last_part(entry.key))) continue;
    named.push_back({std::move(entry.full_name), entry.shown});
    entries.push_back({{}, {}, entry.type, inode_in_archive(*embedded.embed, entry), true});
  }
  for (std::string& name : present) {
    const auto found = seen.find(name);
    if (found == seen.end()) continue;
    const ListedEntry& listed = found->second;
    named.push_back({std::move(name), listed.shown});
    entries.push_back({{}, {}, listed.type, listed.inode, false});
  }
  std::vector<std::string> shown = shown_names(named);
  for (std::size_t i = 0; i < entries.size(); i++) {
    entries[i].shown_name = std::move(shown[i]);
    entries[i].full_name = std::move(named[i].full_name);
  }
  return entries;
}

std::optional<std::vector<std::string>> Tree::names_in(const Directory& in,
                                                       const OnManyEntries& on_many_entries) {
  if (is_virtual(in.id)) return std::vector{single().value()};
  auto entries = root_.list(in.path, on_many_entries);
  if (!entries) return std::nullopt;
  std::vector<std::string> present;
  for (SourceRoot::Entry& entry : *entries) present.push_back(std::move(entry.name));
  root_.expect_lookups(in.path, present.size());
  {
    const MutexLock lock(mutex_);
    for (const Node* node : nodes_.pending_in(in.id)) present.push_back(*node->rare().wanted_name);
  }
  std::sort(present.begin(), present.end());
  present.erase(std::unique(present.begin(), present.end()), present.end());
  return present;
}

// --- embedded entries of store directories

bool Tree::is_in_store(NodeId id) const {
  if (!has_store_directories_) return false;
  const MutexLock lock(mutex_);
  for (const Node* node = nodes_.find(id); node != nullptr; node = node->name.parent)
    if (node->is_store_directory()) return true;
  return false;
}

std::optional<StorePlace> Tree::store_place(NodeId directory) const {
  if (!has_store_directories_ || embedded_ == nullptr) return std::nullopt;
  std::string group;
  const MutexLock lock(mutex_);
  const Node* node = nodes_.find(directory);
  if (node == nullptr || !S_ISDIR(node->type)) return std::nullopt;
  while (!node->is_store_directory()) {
    if (!node->has_name() || node->is_store()) return std::nullopt;
    group.insert(0, node->name.name).insert(0, "/");
    node = node->name.parent;
  }
  return StorePlace{node->id, nodes_.path(*node), group.empty() ? "/" : std::move(group)};
}

bool Tree::is_hidden_in_store(NamesWork& work, const Directory& in, const std::string& full_name) {
  if (!has_store_directories_ || !frame::is_hidden_in_store(full_name, true)) return false;
  const auto place = store_place(in.id);
  if (!place || !frame::is_hidden_in_store(full_name, place->group == "/")) return false;
  const auto st = root_.stat(join_path(in.path, full_name), &work);
  return !st || S_ISREG(st->st_mode);
}

bool Tree::is_leaf_hidden(NamesWork& work, const Directory& in, const std::string& key_name) {
  const auto hides = [&](const std::string& name) {
    names_.assert_shared();
    const auto entry = present_entry(work, in, name);
    if (!entry) return false;
    const bool is_leaf = frame::leaf_form(name) != frame::LeafForm::other;
    return entry->is_container() || entry->shown == ShownAs::frame_store ||
           (is_leaf && S_ISREG(entry->own_stat.st_mode));
  };
  if (frame::leaf_stem(key_name) == key_name && hides(key_name)) return true;
  for (const std::string_view suffix : kHiddenSuffixes)
    if (hides(key_name + std::string(suffix))) return true;
  const auto store = present_entry(work, in, key_name + std::string(kFrameStoreSuffix));
  return store && store->shown == ShownAs::frame_store;
}

std::optional<ArchiveEntry> Tree::embedded_entry(NamesWork& work, const Directory& in,
                                                 const std::string& full_name) {
  const auto place = store_place(in.id);
  if (!place) return std::nullopt;
  auto entry = embedded_->find(work, *place, full_name);
  if (!entry || entry->is_group()) return entry;
  const std::string key_name(frame::last_part(entry->key));
  return is_leaf_hidden(work, in, key_name) ? std::nullopt : std::move(entry);
}

std::optional<ArchiveEntry> Tree::find_embedded(Request& request, NodeId directory,
                                                const std::string& name) {
  if (!store_place(directory)) return std::nullopt;
  NamesWork work(request);
  return work.run([&] {
    const ReadNames names(names_, &work);
    const Directory in = this->directory(directory);
    const auto shown = resolve(work, in, name);
    return shown && !shown->entry ? embedded_entry(work, in, shown->full_name) : std::nullopt;
  });
}

std::optional<FoundNode> Tree::find_embedded_part(Request& request, NodeId directory,
                                                  const std::string& name) {
  const auto place = store_place(directory);
  if (!place) return std::nullopt;
  const auto entry = find_embedded(request, directory, name);
  if (!entry) embedded_->require_complete(request, *place, name);
  const auto part = entry ? embedded_->part(request, *place, entry->full_name) : nullptr;
  if (!part) return std::nullopt;
  const struct stat attributes = embedded_->attributes(request, *part);
  const bool is_fallback = preferred_name(entry->full_name, entry->shown) != name;
  return FoundNode{enter_part(directory, part), attributes, is_fallback};
}

}  // namespace bloscfs::fs
