#include "fs/source/local/tree/tree_changes.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include <boost/range/adaptor/reversed.hpp>
#include <fcntl.h>

#include "frame/pystore/store_names.hpp"
#include "frame/store/peer_lock.hpp"
#include "frame/store/sframe_names.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/local/files/target_name.hpp"
#include "fs/source/local/tree/node_table.hpp"
#include "fs/support/timestamps.hpp"

namespace bloscfs::fs {
namespace {

/// The largest size of a lock sidecar (frame/formats/sidecars.md, "Sidecar").
constexpr off_t kMaxSidecar = 16;

bool is_sidecar(const struct stat& st) { return S_ISREG(st.st_mode) && st.st_size <= kMaxSidecar; }

}  // namespace

bool has_links(const NamedObject& object) {
  const struct stat& file = object.entry.content_stat;
  return !object.is_pending && S_ISREG(file.st_mode) && !object.entry.is_sframe() &&
         file.st_nlink > 1;
}

void require_no_links(const NamedObject& object) {
  if (has_links(object)) frame::throw_errno(EOPNOTSUPP, object.path().text() + ": has other names");
}

NamedObject TreeLooks::describe(const Tree::Directory& in, const std::string& full_name,
                                const SourceEntry& entry, State state) {
  const bool live = state == State::any || tree_.is_live(entry);
  NamedObject object{in.id, in.path, full_name, full_name, entry, 0, false, std::nullopt};
  const MutexLock lock(tree_.mutex_);
  if (const Node* pending = tree_.nodes_.pending(in.id, full_name)) {
    object.node = pending->id;
    object.stored_name = pending->name.name;
    object.is_pending = true;
    object.replaces = pending->rare().replaces;
  } else if (const Node* node = tree_.node_of(object.entry, live)) {
    object.node = node->id;
  }
  return object;
}

std::optional<NamedObject> TreeLooks::object(NodeId id, State state) {
  tree_.names_.assert_shared();
  struct Name {
    Tree::Directory in;
    std::string full_name;
  };
  std::vector<Name> names;  // the one seen last comes first
  bool is_own = false;
  {
    const MutexLock lock(tree_.mutex_);
    const Node& node = tree_.nodes_.node(id);
    if (!node.has_name()) return std::nullopt;
    const auto& wanted = node.rare().wanted_name;
    is_own = state == State::any && !wanted;
    const auto add = [&](const Node& directory, const std::string& name) REQUIRES(tree_.mutex_) {
      // A directory that is gone has no paths.
      for (SourcePath& path : tree_.nodes_.paths(directory))
        names.push_back({{directory.id, std::move(path)}, name});
    };
    add(*node.name.parent, wanted.value_or(node.name.name));
    for (const Node::Name& name : boost::adaptors::reverse(node.rare().other_names))
      add(*name.parent, name.name);
  }
  for (const auto& [in, full_name] : names) {
    std::optional<SourceEntry> entry;
    // With State::any, the node's open content describes the entry, whatever bytes the file has by
    // now.
    if (const auto own =
            is_own ? tree_.root_.find_any(join_path(in.path, full_name), &work_) : nullptr)
      entry = tree_.own_entry(found_entry(own), Tree::Own::any);
    if (!entry) entry = tree_.visible_entry(work_, in, full_name);
    if (!entry) continue;
    if (entry->unreadable) throw std::system_error(entry->unreadable, full_name);
    NamedObject object = describe(in, full_name, *entry, state);
    if (object.node != id) continue;
    // The name of a pending node's temporary may lead to another file by now. Only if it leads to
    // the node's own file is it a name of the node.
    const MutexLock lock(tree_.mutex_);
    if (!object.is_pending || tree_.nodes_.node(id).identity == identity_of(object.entry.own_stat))
      return object;
  }
  return std::nullopt;
}

/// True if an entry of that name would be hidden, or would hide another one.
bool TreeLooks::hides(const Tree::Directory& in, const std::string& full_name, ShownAs shown) {
  tree_.names_.assert_shared();
  if (const auto locked = locked_name(full_name)) {
    const auto frame = tree_.present_entry(work_, in, std::string(*locked));
    if (frame && (frame->is_container() || frame->is_store())) return true;
  }
  if (tree_.is_hidden_in_store(work_, in, full_name)) return true;
  if (shown == ShownAs::itself) return false;
  // A sidecar that a removed frame has left is no obstacle: the new frame uses it. Any other file
  // called F.b2lock would be hidden as a sidecar.
  const auto other =
      tree_.root_.stat(join_path(in.path, full_name + frame::kSidecarSuffix), &work_);
  return other && !is_sidecar(*other);
}

bool TreeLooks::fits(NodeId directory, const std::string& shown_name, const std::string& full_name,
                     ShownAs shown, const AfterChange& after_change) {
  const Tree::Directory in = tree_.directory(directory);
  // True for an object that occupies this full name in SOURCE now, itself or by the file that it
  // replaces.
  const auto is_there = [&](const NamedObject* gone) {
    return gone != nullptr && gone->directory == directory &&
           (gone->stored_name == full_name || (gone->replaces && gone->full_name == full_name));
  };
  // Hidden files count, too: a temporary or a sidecar also occupies the name.
  if (std::none_of(after_change.gone.begin(), after_change.gone.end(), is_there) &&
      tree_.root_.stat(join_path(in.path, full_name), &work_))
    return false;
  if (tree_.is_virtual(directory)) return preferred_name(full_name, shown) == shown_name;
  // Answers for SOURCE after the change: arrivals exist, `gone` objects do not, and all other names
  // are looked up.
  const auto ask = [&](const std::string& name) -> std::optional<ShownAs> {
    tree_.names_.assert_shared();
    for (const AfterChange::Arrival& arrival : after_change.arrived)
      if (arrival.directory == directory && arrival.full_name == name) return arrival.shown;
    for (const NamedObject* gone : after_change.gone)
      if (gone != nullptr && gone->directory == directory && gone->full_name == name)
        return std::nullopt;
    if (const auto entry = tree_.visible_entry(work_, in, name)) return entry->shown;
    const auto embedded = tree_.embedded_entry(work_, in, name);
    return embedded ? std::optional(embedded->shown) : std::nullopt;
  };
  return shows_as(shown_name, full_name, shown, ask) && !hides(in, full_name, shown);
}

// --- telling what has been done

void TreeChanges::note_change(const struct stat& directory) {
  const MutexLock lock(tree_.mutex_);
  if (Node* const node = tree_.nodes_.current(identity_of(directory))) node->name_changes++;
}

NodeId TreeChanges::entered(NodeId directory, const std::string& full_name) {
  tree_.names_.assert_alone();
  const SourcePath path = join_path(tree_.path(directory), full_name);
  const auto entry = tree_.look_or_throw(work_, path);
  if (!entry) frame::throw_errno(ESTALE, path.text());
  tree_.note_change(directory);
  return tree_.adopt_entry(directory, full_name, *entry).id;
}

NodeId TreeChanges::entered_pending(NodeId directory, const std::string& stored_name,
                                    const std::string& wanted_name, const struct stat& file,
                                    std::shared_ptr<const SourceObject> made) {
  const MutexLock lock(tree_.mutex_);
  Node& parent = tree_.nodes_.node(directory);
  parent.name_changes++;
  Node& node = tree_.nodes_.add(parent, stored_name, identity_of(file));
  node.kind = EntryKind::frame;
  node.shown = ShownAs::flat;
  node.type = S_IFREG;
  node.state = state_of(file);
  tree_.nodes_.set_pending(node, wanted_name);
  node.make_rare().made = std::move(made);
  return node.id;
}

void TreeChanges::take_state(Node& node) {
  for (const SourcePath& path : tree_.nodes_.paths(node)) {
    const auto own = tree_.root_.stat_anew(path, &work_);
    if (!own || !(identity_of(*own) == node.identity)) continue;
    const auto content =
        node.is_sframe() ? tree_.root_.stat_anew(content_path(path, node), &work_) : own;
    if (content) node.state = state_of(*content);
    return;
  }
}

void TreeChanges::move_name(const NamedObject& object, NodeId directory,
                            const std::string& stored_name) {
  NodeTable& nodes = tree_.nodes_;
  Node& node = nodes.node(object.node);
  nodes.clear_pending(node);
  nodes.add_name(node, nodes.node(directory), stored_name);
  if (object.directory != directory || object.stored_name != stored_name)
    nodes.remove_name(node, nodes.node(object.directory), object.stored_name);
  if (!node.open_file.expired()) tree_.note_opened(node);
  if (tree_.single_ && directory == kRootId) tree_.single_ = stored_name;
}

void TreeChanges::moved(const NamedObject& object, NodeId directory, const std::string& stored_name,
                        std::optional<Wait> wait) {
  for (const NodeId changed : {object.directory, directory}) tree_.note_change(changed);
  if (object.node == 0) return;
  const Tree::DroppingLock lock(tree_);
  move_name(object, directory, stored_name);
  Node& node = tree_.nodes_.node(object.node);
  take_state(node);
  if (!wait) return;
  tree_.nodes_.set_pending(node, wait->wanted_name);
  node.make_rare().replaces = wait->replaces;
}

bool TreeChanges::removed(const NamedObject& object, std::shared_ptr<const SourceObject> remains) {
  tree_.note_change(object.directory);
  if (object.node == 0) return false;
  const auto open = tree_.opened_as<OpenContainer>(object.node);
  const std::int64_t size = open ? open->content->attributes().size : object.entry.shown_size;
  const Tree::DroppingLock lock(tree_);
  NodeTable& nodes = tree_.nodes_;
  Node& node = nodes.node(object.node);
  nodes.clear_pending(node);
  nodes.remove_name(node, nodes.node(object.directory), object.stored_name);
  const bool is_last = !node.has_name();
  if (is_last) {
    node.make_rare().last_size = size;
    const auto& kept = node.make_rare().remains = std::move(remains);
    // Unless the object is kept and has further links, no lookup can find it again, and its inode
    // number may be reused.
    if (!kept || S_ISDIR(node.type) || node.is_sframe() || kept->stat().st_nlink == 0)
      nodes.retire(node);
    else
      node.state = state_of(kept->stat());  // lets a lookup under another name find the node
  } else {
    take_state(node);
  }
  return is_last;
}

void TreeChanges::touched(const NamedObject& object) {
  if (object.node == 0) return;
  const MutexLock lock(tree_.mutex_);
  Node& node = tree_.nodes_.node(object.node);
  if (node.is_sframe())
    take_state(node);
  else
    node.state = state_of(object.entry.object->stat_anew());
}

void TreeChanges::changed_by_user(NodeId id) {
  std::shared_ptr<const OpenFile> file;
  {
    const MutexLock lock(tree_.mutex_);
    Node* node = tree_.nodes_.find(id);
    if (node == nullptr) return;
    node->shown_change = {};
    file = node->open_file.lock();
  }
  if (const auto* container = dynamic_cast<const OpenContainer*>(file.get()))
    container->content->note_change(change());
}

void TreeChanges::note_hidden_change(NodeId directory, const timespec& before,
                                     const timespec& after) {
  const MutexLock lock(tree_.mutex_);
  ShownChange& change = tree_.nodes_.node(directory).shown_change;
  // A second hidden change keeps the time from before the first: with stored times 10 -> 20 -> 30
  // the mount still shows 10.
  if (change.stored_ns != nanoseconds(before)) change.shown_ns = nanoseconds(before);
  change.stored_ns = nanoseconds(after);
}

void TreeChanges::link_lost(const NamedObject& object) {
  const MutexLock lock(tree_.mutex_);
  Node* const node = tree_.nodes_.current(identity_of(object.entry.own_stat));
  // unlink(2) of one hard link changes the time of change of the file. This mount has unlinked it,
  // so that does not count as another program's change.
  if (node != nullptr && node->state == state_of(object.entry.content_stat)) take_state(*node);
}

/// Returns the entry at a path without judging it: this mount has just made it, so it is a
/// container.
std::optional<SourceEntry> TreeChanges::made_entry(const SourcePath& path) const {
  const auto own = tree_.root_.stat_anew(path, &work_);
  if (!own) return std::nullopt;
  SourceEntry entry;
  entry.kind = S_ISDIR(own->st_mode) ? EntryKind::sparse_frame : EntryKind::frame;
  const auto content =
      entry.is_sframe() ? tree_.root_.stat_anew(content_path(path, entry), &work_) : own;
  if (!content) return std::nullopt;
  entry.own_stat = *own;
  entry.content_stat = *content;
  return entry;
}

void TreeChanges::take_made(NodeId id, NodeId directory, const SourceEntry& entry) {
  const auto file = tree_.opened_as<OpenContainer>(id);
  const auto changed = file ? file->content->attributes().changed : std::nullopt;
  const MutexLock lock(tree_.mutex_);
  Node& node = tree_.nodes_.node(id);
  if (!(node.identity == identity_of(entry.own_stat))) tree_.nodes_.node(directory).name_changes++;
  take_entry(node, entry);
  // Shows the time of the last change by a user instead of the time of the commit.
  if (changed) node.shown_change = {node.state.ctime_ns, nanoseconds(*changed)};
}

void TreeChanges::replaced(const NamedObject& before, const std::string& stored_name,
                           const SourceEntry& entry) {
  if (before.stored_name != stored_name) {
    tree_.note_change(before.directory);
    const Tree::DroppingLock lock(tree_);
    move_name(before, before.directory, stored_name);
  }
  take_made(before.node, before.directory, entry);
}

bool TreeChanges::rewritten(const NamedObject& object, const frame::FileStamp& stamp) {
  // A commit that changes fixed metalayers puts a new file under the name, so the object's own
  // entry may be outdated.
  auto entry = made_entry(object.path());
  if (!entry || !(identity_of(entry->content_stat) == frame::id_of(stamp))) return false;
  {
    const MutexLock lock(tree_.mutex_);
    entry->shown = tree_.nodes_.node(object.node).shown;
  }
  take_made(object.node, object.directory, *entry);
  return true;
}

void TreeChanges::take_entry(Node& node, const SourceEntry& entry) {
  tree_.nodes_.set_identity(node, identity_of(entry.own_stat));
  node.shown = entry.shown;
  // Handles that have it open as a plain file keep that file. Later opens get the container.
  if (entry.is_container() && !node.is_container()) node.open_file.reset();
  // A node that waits for its name stays a container.
  if (entry.is_container() || !node.rare().wanted_name) node.kind = entry.kind;
  if (node.is_container() && node.rare_parts) node.rare_parts->plain_writers = 0;
  node.state = state_of(entry.content_stat);
}

/// Removes the front name of a node.
void TreeChanges::leave_name(Node& node) {
  tree_.nodes_.clear_pending(node);
  const Node::Name name = node.name;
  tree_.nodes_.remove_name(node, *name.parent, name.name);
  if (!node.has_name()) tree_.nodes_.retire(node);
}

/// True if the path leads to the object of `known`, in the same state. Always true without `known`:
/// a later look finds whatever the path leads to.
bool TreeChanges::leads_to(const SourcePath& path, const std::optional<SourceEntry>& known) const {
  const auto st = tree_.root_.stat(path, &work_);
  if (!known) return true;
  if (!st || !(identity_of(*st) == identity_of(known->own_stat))) return false;
  const auto content = tree_.root_.stat(content_path(path, *known), &work_);
  return content && state_of(*content) == state_of(known->content_stat);
}

/// Removes all names of a node, so that the node of an overtaken content can stand for the file
/// that they lead to. Returns false, and changes nothing, if the content of the node is
/// authoritative, or the node waits for a name.
bool TreeChanges::try_detach(Node& node) {
  const auto file = tree_.open_file(node);
  if (node.rare().wanted_name || (file && file->is_authoritative())) return false;
  while (node.has_name()) leave_name(node);
  node.open_file.reset();
  return true;
}

bool TreeChanges::follow(NodeId id, const Tree::NodeName& name,
                         const std::optional<SourceEntry>& successor, Followed& followed) {
  // The mount may have renamed or removed the file since `name` was read.
  const auto name_now = tree_.name_of(id);
  if (!name_now || !name_now->is_same(name) || !leads_to(name.path(), successor)) return false;
  tree_.note_change(name.directory);
  const Tree::DroppingLock lock(tree_);
  NodeTable& nodes = tree_.nodes_;
  Node& node = nodes.node(id);
  Node& directory = nodes.node(name.directory);
  Node* const other = successor ? nodes.current(identity_of(successor->own_stat)) : nullptr;
  followed.is_taken = other != nullptr && other != &node && !try_detach(*other);
  followed.is_own_file = successor && node.identity == identity_of(successor->own_stat);
  // The node loses its name if it was only waiting for it, or if it does not get the successor.
  if (name.pending_stored_name || !successor || followed.is_taken) leave_name(node);
  if (followed.is_taken && !other->rare().wanted_name) {
    nodes.add_name(*other, directory, name.full_name);
    tree_.note_opened(*other);
  }
  if (successor && !followed.is_taken) {
    nodes.add_name(node, directory, name.full_name);
    take_entry(node, *successor);
    node.has_unnotified_change = true;
    tree_.note_opened(node);
  }
  return true;
}

void TreeChanges::at_end(NodeId id, std::shared_ptr<void> keeper) {
  if (id == 0) return destroyed_unlocked_.push_back(std::move(keeper));
  const MutexLock lock(tree_.mutex_);
  tree_.nodes_.node(id).make_rare().at_end.push_back(std::move(keeper));
}

// --- looking under the exclusive lock

std::optional<NamedObject> TreeChanges::find(NodeId directory, const std::string& shown_name) {
  tree_.names_.assert_alone();
  const Tree::Directory in = tree_.directory(directory);
  const auto shown = tree_.resolve(work_, in, shown_name);
  if (!shown || !shown->entry) return std::nullopt;
  const SourceEntry& entry = *shown->entry;
  if (entry.unreadable) throw std::system_error(entry.unreadable, shown->full_name);
  return describe(in, shown->full_name, entry, State::same);
}

std::optional<NamedObject> TreeChanges::stored(NodeId directory, const std::string& full_name) {
  tree_.names_.assert_alone();
  const SourcePath path = tree_.path(directory);
  auto entry = tree_.look_or_throw(work_, join_path(path, full_name));
  if (!entry) return std::nullopt;
  return NamedObject{directory, path, full_name, full_name, *entry, 0, false, std::nullopt};
}

bool TreeChanges::is_known(const struct stat& object) const {
  const MutexLock lock(tree_.mutex_);
  return tree_.nodes_.current(identity_of(object)) != nullptr;
}

std::shared_ptr<const SourceObject> TreeChanges::remains(NodeId node) const {
  auto remains = tree_.known(node).remains;
  if (!remains) throw_stale(node);
  return remains;
}

bool TreeChanges::makes_frame(const NamedObject& object, const std::string& full_name) const {
  if (full_name != frame::kSframeIndexName || !S_ISREG(object.entry.own_stat.st_mode)) return false;
  const frame::FileSource file(tree_.root_.object(object.path(), &work_).open_noatime(O_RDONLY),
                               nullptr);
  std::array<std::uint8_t, 32> start{};
  const std::size_t size = file.read_at(0, start);
  return frame::recognise(frame::Bytes(start).first(size)).has_value();
}

std::string TreeChanges::shown_name(const NamedObject& object) {
  tree_.names_.assert_alone();
  std::string preferred = preferred_name(object.full_name, object.entry.shown);
  if (tree_.is_virtual(object.directory)) return preferred;
  const auto owner = tree_.resolve(work_, {object.directory, object.directory_path}, preferred);
  return owner && owner->full_name == object.full_name ? preferred : object.full_name;
}

bool TreeChanges::is_empty(const NamedObject& directory) {
  if (directory.entry.is_store() || directory.entry.has_embedded) return false;
  const auto above = tree_.store_place(directory.directory);
  if (above && !directory.entry.is_store_directory() &&
      tree_.embedded_->has_any(work_, above->inside(directory.stored_name)))
    return false;
  if (!pending_in(directory.node).empty()) return false;
  const Tree::Directory in{directory.node, directory.path()};
  const auto entries = tree_.root_.list(in.path);
  return std::none_of(entries.begin(), entries.end(), [&](const SourceRoot::Entry& entry) {
    tree_.names_.assert_alone();
    return tree_.present_entry(work_, in, entry.name).has_value();
  });
}

bool TreeChanges::belongs_to_store(const NamedObject& directory, const std::string& name) const {
  const auto place = tree_.store_place(directory.node);
  if (!place) return false;
  return (place->group == "/" && name == frame::kEmbedName) ||
         frame::leaf_stem(name) == frame::kGroupAttributes;
}

std::vector<NodeId> TreeChanges::pending_in(NodeId directory) const {
  std::vector<NodeId> ids;
  const MutexLock lock(tree_.mutex_);
  for (const Node* node : tree_.nodes_.pending_in(directory)) ids.push_back(node->id);
  return ids;
}

}  // namespace bloscfs::fs
