#include "fs/source/local/tree/tree.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "frame/store/sframe_names.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/local/tree/node_table.hpp"
#include "fs/support/timestamps.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;

/// Returns the mode of a store that is shown as a directory: users who may read the file may search
/// it.
mode_t directory_mode(mode_t file_mode) {
  return S_IFDIR | (file_mode & 0666) | ((file_mode & 0444) >> 2);
}

}  // namespace

Tree::Tree(const SourceRoot& root, Classifier& classifier, std::optional<std::string> single,
           OwnerOverride owner)
    : root_(root),
      classifier_(classifier),
      is_single_(single.has_value()),
      owner_(owner),
      single_(std::move(single)) {
  if (is_single_) return;
  // The root is judged once. It is a store directory, or none, for as long as it is mounted.
  const auto object = root_.find_any({});
  Request request;
  NamesWork work(request);
  if (!object || !classifier_.look(work, {}, found_entry(object)).is_store_directory()) return;
  has_store_directories_ = true;
  const MutexLock lock(mutex_);
  nodes_.node(kRootId).kind = EntryKind::store_directory;
}

std::optional<std::string> Tree::single() const {
  const MutexLock lock(mutex_);
  return single_;
}

// --- names

std::optional<FoundNode> Tree::lookup(Request& request, NodeId directory, const std::string& name,
                                      const std::string* listed_as) {
  // If another program has overtaken the content that owned the name, that content follows the
  // change (follower_) without the lock on names. Then the name is looked up again.
  auto found = adopt(request, directory, name, listed_as, follower_ ? First::owner : First::look);
  if (found && found->trust == EntryOrigin::outdated && follower_) {
    const std::shared_ptr<void> counted(nullptr, [this, id = found->id](void*) { forget(id, 1); });
    follower_(request, found->id);
    found = adopt(request, directory, name, listed_as, First::look);
  }
  if (!found) return find_embedded_part(request, directory, name);
  found->attributes = with_open_attributes(request, {found->attributes, found->trust}, found->id);
  return found;
}

std::optional<Tree::Adopted> Tree::adopt(Request& request, NodeId directory,
                                         const std::string& name, const std::string* listed_as,
                                         First first) {
  NamesWork work(request);
  return work.run([&]() -> std::optional<Adopted> {
    const ReadNames names(names_, &work);
    const Directory in = this->directory(directory);
    // Throws ESTALE if the directory is gone. The kernel then looks the directory up again.
    root_.require(in.path, &work);
    if (const NodeId lost = first == First::owner ? lost_node(work, directory, name) : 0)
      return Adopted{reference(lost, {}), EntryOrigin::outdated};
    std::optional<Shown> shown;
    if (listed_as != nullptr) shown = {*listed_as, visible_entry(work, in, *listed_as)};
    // Since the listing, the file may have got another full name, for example by becoming an array.
    if (!shown || !shown->entry) shown = resolve(work, in, name);
    if (!shown || !shown->entry) return std::nullopt;
    return adopt_shown(work, in, name, *shown, first);
  });
}

Tree::Adopted Tree::adopt_shown(NamesWork& work, const Directory& in, const std::string& shown_name,
                                const Shown& shown, First first) {
  const SourceEntry& entry = *shown.entry;
  const SourcePath path = join_path(in.path, shown.full_name);
  if (entry.unreadable) throw std::system_error(entry.unreadable, path.text());
  NodeId waiting = 0;
  {
    const MutexLock lock(mutex_);
    if (const Node* const node = nodes_.pending(in.id, shown.full_name)) waiting = node->id;
  }
  if (waiting != 0) {
    const EntryOrigin trust =
        is_name_taken(work, waiting) ? EntryOrigin::outdated : EntryOrigin::content;
    return {reference(waiting, attributes_of(entry)), trust};
  }
  if (const NodeId overtaken = first == First::owner ? overtaken_node(in.id, shown.full_name,
                                                                      identity_of(entry.own_stat))
                                                     : 0)
    return {reference(overtaken, {}), EntryOrigin::outdated};
  // Done before a reference is counted, since following the link may throw ReadFirst.
  const struct stat linked = with_link_size(work, attributes_of(entry), entry, path.text());
  Adopted found{adopt_entry(in.id, shown.full_name, entry), entry.trust};
  found.attributes.st_size = linked.st_size;
  found.is_fallback = preferred_name(shown.full_name, entry.shown) != shown_name;
  return found;
}

NodeId Tree::lost_node(OneLook& within, NodeId directory, const std::string& shown_name) {
  if (!may_have_opened_in(directory)) return 0;
  for (const std::string& full_name : possible_full_names(shown_name)) {
    const NodeId node = overtaken_node(directory, full_name, std::nullopt);
    // The file is open with uncommitted changes or writers, and another program has removed or
    // moved it.
    if (node != 0 && !root_.stat(join_path(path(directory), full_name), &within)) return node;
  }
  return 0;
}

/// True if the entry's node has an open content that is authoritative
/// (Content::is_authoritative()). Also true if the node's state has changed but its content is
/// current: then only attributes or the number of links have changed.
bool Tree::is_live(const SourceEntry& entry) const {
  std::shared_ptr<const OpenFile> file;
  bool same_state = false;
  {
    const MutexLock lock(mutex_);
    const Node* node = nodes_.current(identity_of(entry.own_stat));
    if (node == nullptr) return false;
    file = node->open_file.lock();
    same_state = node->state == state_of(entry.content_stat);
  }
  if (!file || file->is_authoritative()) return file != nullptr;
  const auto* const container = dynamic_cast<const OpenContainer*>(file.get());
  return !same_state && container != nullptr && container->content->is_file_current();
}

FoundNode Tree::adopt_entry(NodeId directory, const std::string& full_name,
                            const SourceEntry& entry) {
  FoundNode found{0, attributes_of(entry)};
  const bool live = is_live(entry);
  std::shared_ptr<const OpenFile> found_again;  // of a node that had no name any more
  {
    const DroppingLock lock(*this);
    Node& parent = nodes_.node(directory);
    Node* known = node_of(entry, live);
    if (known != nullptr) {
      known->references++;
      if (!known->has_name()) found_again = known->open_file.lock();
      nodes_.add_name(*known, parent, full_name);
      if (known->rare().link_text && !(known->state == state_of(entry.content_stat))) {
        known->make_rare().link_text.reset();
        known->trim_rare();
      }
    } else {
      known = &nodes_.add(parent, full_name, identity_of(entry.own_stat));
      known->kind = entry.kind;
      known->type = entry.shown_type();
      if (entry.shown_change_ns != 0)
        known->shown_change = {state_of(entry.content_stat).ctime_ns, entry.shown_change_ns};
    }
    // A directory can become a store directory, or stop being one.
    if (!entry.is_container() && !entry.is_store()) known->kind = entry.kind;
    if (entry.is_store_directory()) has_store_directories_ = true;
    known->shown = entry.shown;
    known->state = state_of(entry.content_stat);
    found.attributes = with_shown_change(found.attributes, known->shown_change);
    found.id = known->id;
  }
  if (const auto* const container = dynamic_cast<const OpenContainer*>(found_again.get()))
    container->content->restore_name();
  return found;
}

// --- entries

bool Tree::is_store(NodeId id) {
  if (is_virtual(id)) {
    Request request;
    // If the container is gone, the root is an ordinary directory, so that it can be opened and
    // unmounted.
    const auto single = single_entry(request);
    return single && single->is_store();
  }
  const MutexLock lock(mutex_);
  const Node* const node = nodes_.find(id);
  return node != nullptr && node->is_store();
}

SourcePath Tree::store_path(NodeId id) const {
  return is_virtual(id) ? SourcePath(single().value()) : path(id);
}

SourceEntry Tree::store_entry(Request& request, NodeId id) {
  if (!is_virtual(id)) return entry(request, id);
  const auto found = single_entry(request);
  if (!found) throw_stale(id);
  return *found;
}

SourceEntry Tree::entry(Request& request, NodeId id) {
  const auto look = [&] {
    NamesWork work(request);
    return work.run([&] {
      const ReadNames names(names_, &work);
      return entry_of(work, known(id));
    });
  };
  SourceEntry entry = look();
  if (entry.trust != EntryOrigin::outdated || !follower_) return entry;
  follower_(request, id);
  return look();
}

bool Tree::is_in_place(NodeId id) {
  const ReadNames names(names_);
  OneLook look;
  if (is_name_taken(look, id)) return false;
  const Known what = known(id);
  if (what.paths.empty()) return !name_of(id);
  return place_of(look, what).has_value();
}

std::optional<SourcePath> Tree::place_of(OneLook& within, const Known& known) const {
  for (const SourcePath& path : known.paths)
    if (root_.leads_to(path, known.identity, &within)) return path;
  return std::nullopt;
}

/// True if another program has taken the name that a node waits for, or has changed the file that
/// the node is to replace there. Also true if the directory is gone.
bool Tree::is_name_taken(OneLook& within, NodeId id) const {
  const auto name = name_of(id);
  if (!name || !name->pending_stored_name) return false;
  if (name->is_lost) return true;
  const SourcePath path = name->path();
  auto present = root_.stat(path, &within);
  if (present && S_ISDIR(present->st_mode))
    if (const auto index = root_.stat(join_path(path, frame::kSframeIndexName), &within))
      present = index;
  // The name is free if SOURCE has nothing under it, or the very state that is to be replaced.
  const MutexLock lock(mutex_);
  return present && frame::stamp_of(*present) != nodes_.node(id).rare().replaces;
}

std::optional<SourceEntry> Tree::successor(Request& request, const NodeName& name) {
  NamesWork work(request);
  return work.run([&]() -> std::optional<SourceEntry> {
    const ReadNames names(names_, &work);
    const SourcePath path = name.path();
    const auto object = name.is_lost ? nullptr : root_.find_any(path, &work);
    if (!object) return std::nullopt;
    SourceEntry entry = classifier_.look(work, path, found_entry(object));
    if (entry.unreadable) throw std::system_error(entry.unreadable, path.text());
    return entry;
  });
}

std::optional<FileState> Tree::state_of_known(const Known& known) const {
  OneLook look;
  const auto path = place_of(look, known);
  const auto st = path ? root_.stat(content_path(*path, known), &look) : std::nullopt;
  return st ? std::optional(state_of(*st)) : std::nullopt;
}

std::optional<FileState> Tree::state_in_source(NodeId id) {
  const ReadNames names(names_);
  return state_of_known(known(id));
}

void Tree::confirm_state(NodeId id, const FileState& state) {
  // The lock keeps commits from ending here. Such a commit would set a newer state, which this one
  // would overwrite.
  const ReadNames names(names_);
  if (state_of_known(known(id)) != state) return;
  const MutexLock lock(mutex_);
  nodes_.node(id).state = state;
}

SourceEntry Tree::entry_of(NamesWork& work, const Known& known) {
  if (known.paths.empty()) return entry_of_remains(known);
  std::optional<SourceEntry> newest;
  for (const SourcePath& path : known.paths) {
    auto entry =
        known.is_pending ? pending_entry(work, path, known.made) : look_or_throw(work, path);
    if (!entry) continue;
    if (known.id == kRootId) {
      // The root stays a directory, even if it holds a chunks.b2frame by now.
      entry->kind = EntryKind::itself;
      entry->content_stat = entry->own_stat;
      return *entry;
    }
    const bool same_object = identity_of(entry->own_stat) == known.identity &&
                             entry->is_container() == known.is_container();
    const bool same_state = !known.is_container() ||
                            (known.open_file && known.open_file->is_authoritative()) ||
                            state_of(entry->content_stat) == known.state;
    if (same_object && same_state) return *entry;
    // No name so far leads to the node's state. The first entry found is the one to follow.
    if (!newest) newest = entry;
  }
  const bool is_authoritative = known.open_file && known.open_file->is_authoritative();
  if (newest && is_authoritative && follower_) {
    newest->trust = EntryOrigin::outdated;
    return *newest;
  }
  if (!newest || !follow(known.id, *newest)) throw_errno(ESTALE, known.paths.front().text());
  return *newest;
}

SourceEntry Tree::entry_of_remains(const Known& known) {
  if (!known.remains) throw_stale(known.id);
  SourceEntry entry;
  entry.kind = known.kind;
  entry.shown = known.is_container() ? ShownAs::flat : ShownAs::itself;
  entry.content_stat = entry.own_stat = known.remains->stat();
  entry.own_stat.st_ino = known.identity.inode;
  entry.shown_size = known.last_size;
  if (!known.open_file) return entry;
  entry.shown_size = known.open_file->attributes.st_size;
  entry.stored_size = known.open_file->attributes.st_blocks * kStatBlock;
  return entry;
}

std::shared_ptr<const SourceObject> Tree::object(NodeId id, const SourceEntry& entry) {
  return entry.object && !entry.is_sframe() ? entry.object : object(id);
}

std::shared_ptr<const SourceObject> Tree::object(NodeId id) {
  const ReadNames names(names_);
  const Known what = known(id);
  if (what.paths.empty()) {
    if (!what.remains) throw_stale(id);
    return what.remains;
  }
  OneLook look;
  for (const SourcePath& path : what.paths)
    if (auto found = root_.find(content_path(path, what), &look)) return found;
  throw_errno(ESTALE, what.paths.front().text());
}

void Tree::remember_commit(NodeId id, const frame::Snapshot& snapshot) {
  std::string name;
  KnownVerdict known;
  {
    const MutexLock lock(mutex_);
    const Node* const node = nodes_.find(id);
    if (node == nullptr || !node->has_name() || node->rare().wanted_name ||
        !(node->state.stamp == snapshot.stamp()))
      return;
    if (node->is_sframe()) known.role = Role::index;
    name = node->name.name;
    known.state = judged_state(node->state);
    if (node->shown_change.stored_ns == node->state.ctime_ns)
      known.shown_change_ns = node->shown_change.shown_ns;
  }
  try {
    classifier_.remember(snapshot, name, known);
  } catch (const std::exception&) {
    // The commit is durable all the same. The next look reads the file, and reports errors.
  }
}

// --- attributes

struct stat Tree::attributes(Request& request, NodeId id) {
  if (is_virtual(id)) return single_root_attributes(request);
  StoredAttributes stored = stored_attributes(request, id);
  if (stored.trust == EntryOrigin::outdated && follower_) {
    follower_(request, id);
    stored = stored_attributes(request, id);
  }
  return with_open_attributes(request, stored, id);
}

Tree::StoredAttributes Tree::stored_attributes(Request& request, NodeId id) {
  NamesWork work(request);
  return work.run([&]() -> StoredAttributes {
    const ReadNames names(names_, &work);
    const Known what = known(id);
    try {
      const SourceEntry entry = entry_of(work, what);
      const struct stat st = with_shown_change(attributes_of(entry), what.shown_change);
      const bool is_open = entry.trust == EntryOrigin::file && what.open_file;
      return {what.paths.empty() ? st : with_link_size(work, st, entry, what.paths.front().text()),
              is_open ? EntryOrigin::content : entry.trust};
    } catch (const std::system_error& error) {
      // ESTALE: the node's state is gone. While a handle has that state open, its attributes are
      // shown.
      if (error.code() != std::errc(ESTALE) || !what.open_file) throw;
      return {what.open_file->attributes, EntryOrigin::content};
    }
  });
}

struct stat Tree::attributes_of(const SourceEntry& entry) const {
  struct stat st = entry.content_stat;
  if (entry.is_container()) {
    st.st_ino = entry.own_stat.st_ino;
    st.st_size = entry.shown_size;
    if (entry.is_sframe()) st.st_blocks = (entry.stored_size + kStatBlock - 1) / kStatBlock;
  }
  if (entry.is_store()) st.st_mode = directory_mode(st.st_mode);
  return owned(st);
}

struct stat Tree::with_open_attributes(Request& request, StoredAttributes stored, NodeId id) {
  struct stat st = stored.st;
  auto file = opened_as<OpenContainer>(id);
  if (!file && stored.trust != EntryOrigin::file) {
    // A content that is closed by now may have been in its last commit when the attributes were
    // read.
    st = stored_attributes(request, id).st;
    file = opened_as<OpenContainer>(id);
  }
  if (!file) return st;
  // `counts`: the content's size and times are shown instead of the file's. An orphan is never
  // committed, so only its content has them.
  const bool counts = !has_name(id) || file->content->overrides_file_attributes();
  const LogicalAttributes live = file->content->attributes();
  if (!counts) {
    // The attributes may have been read during a commit, before the commit has set the file's time
    // of modification.
    if (!live.modified || nanoseconds(*live.modified) == nanoseconds(st.st_mtim)) return st;
    return stored_attributes(request, id).st;
  }
  st.st_size = live.size;
  st.st_blocks =
      std::max<blkcnt_t>(st.st_blocks, (live.uncommitted_data_bytes + kStatBlock - 1) / kStatBlock);
  st.st_atim = live.accessed.value_or(st.st_atim);
  st.st_mtim = live.modified.value_or(st.st_mtim);
  st.st_ctim = live.changed.value_or(st.st_ctim);
  return st;
}

struct stat Tree::with_shown_change(struct stat st, const ShownChange& change) {
  if (change.shown_ns != 0 && nanoseconds(st.st_ctim) == change.stored_ns)
    st.st_ctim = time_of(change.shown_ns);
  return st;
}

struct stat Tree::owned(struct stat st) const {
  if (owner_.uid) st.st_uid = *owner_.uid;
  if (owner_.gid) st.st_gid = *owner_.gid;
  return st;
}

std::optional<SourceEntry> Tree::single_entry(Request& request) {
  NamesWork work(request);
  return work.run([&] {
    const ReadNames names(names_, &work);
    return look(work, single().value());
  });
}

struct stat Tree::single_root_attributes(Request& request) {
  struct stat st {};
  st.st_nlink = 2;
  st.st_ino = kRootId;
  st.st_mode = S_IFDIR | 0755;
  if (const auto entry = single_entry(request)) {
    const struct stat file = attributes_of(*entry);
    if (entry->is_store()) st.st_mode = file.st_mode;
    st.st_uid = file.st_uid;
    st.st_gid = file.st_gid;
    st.st_atim = file.st_atim;
    st.st_mtim = file.st_mtim;
    st.st_ctim = file.st_ctim;
  }
  return st;
}

}  // namespace bloscfs::fs
