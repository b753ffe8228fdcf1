#include "fs/source/local/tree/tree_looks.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include <boost/range/adaptor/reversed.hpp>

#include "frame/store/peer_lock.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/local/files/target_name.hpp"
#include "fs/source/local/tree/node_table.hpp"

namespace bloscfs::fs {
namespace {

/// A lock sidecar holds no more (frame/formats/sidecars.md, "Sidecar").
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
      // None of a directory that is gone.
      for (SourcePath& path : tree_.nodes_.paths(directory))
        names.push_back({{directory.id, std::move(path)}, name});
    };
    add(*node.name.parent, wanted.value_or(node.name.name));
    for (const Node::Name& name : boost::adaptors::reverse(node.rare().other_names))
      add(*name.parent, name.name);
  }
  for (const auto& [in, full_name] : names) {
    std::optional<SourceEntry> entry;
    if (const auto own = is_own ? tree_.root_.find_any(join_path(in.path, full_name)) : nullptr)
      entry = tree_.own_entry(found_entry(own), Tree::Own::any);
    if (!entry) entry = tree_.visible_entry(in, full_name);
    if (!entry) continue;
    if (entry->unreadable) throw std::system_error(entry->unreadable, full_name);
    NamedObject object = describe(in, full_name, *entry, state);
    if (object.node != id) continue;
    // Another file may have the temporary's name by now, which then is none of the node's.
    const MutexLock lock(tree_.mutex_);
    if (!object.is_pending || tree_.nodes_.node(id).identity == identity_of(object.entry.own_stat))
      return object;
  }
  return std::nullopt;
}

/// True if an entry of that name would be hidden itself, or hide another one.
bool TreeLooks::hides(const Tree::Directory& in, const std::string& full_name, ShownAs shown) {
  tree_.names_.assert_shared();
  if (const auto locked = locked_name(full_name)) {
    const auto frame = tree_.present_entry(in, std::string(*locked));
    if (frame && frame->is_container()) return true;
  }
  if (tree_.is_hidden_in_store(in, full_name)) return true;
  if (shown == ShownAs::itself) return false;
  // A sidecar that a removed frame has left serves the new one. Any other file of that name would
  // be hidden as one.
  const auto other = tree_.root_.stat(join_path(in.path, full_name + frame::kSidecarSuffix));
  return other && !is_sidecar(*other);
}

bool TreeLooks::fits(NodeId directory, const std::string& shown_name, const std::string& full_name,
                     ShownAs shown, const AfterChange& after_change) {
  const Tree::Directory in = tree_.directory(directory);
  const auto is_there = [&](const NamedObject* gone) {
    return gone != nullptr && gone->directory == directory &&
           (gone->stored_name == full_name || (gone->replaces && gone->full_name == full_name));
  };
  // Hidden things count, too: a temporary or a sidecar has the name, though nobody sees it.
  if (std::none_of(after_change.gone.begin(), after_change.gone.end(), is_there) &&
      tree_.root_.stat(join_path(in.path, full_name)))
    return false;
  if (tree_.is_virtual(directory)) return preferred_name(full_name, shown) == shown_name;
  // SOURCE as it will be: what arrives is there, what goes is not, and the rest is asked for.
  const auto ask = [&](const std::string& name) -> std::optional<ShownAs> {
    tree_.names_.assert_shared();
    for (const AfterChange::Arrival& arrival : after_change.arrived)
      if (arrival.directory == directory && arrival.full_name == name) return arrival.shown;
    for (const NamedObject* gone : after_change.gone)
      if (gone != nullptr && gone->directory == directory && gone->full_name == name)
        return std::nullopt;
    if (const auto entry = tree_.visible_entry(in, name)) return entry->shown;
    const auto beside = tree_.beside_entry(in, name);
    return beside ? std::optional(beside->shown) : std::nullopt;
  };
  return shows_as(shown_name, full_name, shown, ask) && !hides(in, full_name, shown);
}

}  // namespace bloscfs::fs
