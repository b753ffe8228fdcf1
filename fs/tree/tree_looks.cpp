#include "fs/tree/tree_looks.hpp"

#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

#include <boost/range/adaptor/reversed.hpp>

#include "frame/store/throw_errno.hpp"
#include "fs/tree/node_table.hpp"

namespace bloscfs::fs {

bool has_links(const NamedObject& object) {
  const struct stat& file = object.entry.content_stat;
  return !object.is_pending && S_ISREG(file.st_mode) && !object.entry.is_sframe &&
         file.st_nlink > 1;
}

void require_no_links(const NamedObject& object) {
  if (has_links(object)) frame::throw_errno(EOPNOTSUPP, object.path().text() + ": has other names");
}

NamedObject TreeLooks::describe(NodeId directory, const SourcePath& path,
                                const std::string& full_name, const SourceEntry& entry,
                                bool any_state) {
  const bool live = any_state || tree_.is_live(entry);
  NamedObject object{directory, path, full_name, full_name, entry, 0, false, std::nullopt};
  const MutexLock lock(tree_.mutex_);
  if (const Node* pending = tree_.nodes_.pending(directory, full_name)) {
    object.node = pending->id;
    object.stored_name = pending->name.name;
    object.is_pending = true;
    object.replaces = pending->rare().replaces;
  } else if (const Node* node = tree_.node_of(object.entry, live)) {
    object.node = node->id;
  }
  return object;
}

std::optional<NamedObject> TreeLooks::object_in(NodeId id, bool any_state) {
  std::vector<std::pair<NodeId, std::string>> names;  // the one seen last comes first
  bool is_own = false;
  {
    const MutexLock lock(tree_.mutex_);
    const Node& node = tree_.nodes_.node(id);
    if (!node.has_name()) return std::nullopt;
    const auto& wanted = node.rare().wanted_name;
    is_own = any_state && !wanted;
    names.emplace_back(node.name.parent->id, wanted.value_or(node.name.name));
    for (const Node::Name& name : boost::adaptors::reverse(node.rare().other_names))
      names.emplace_back(name.parent->id, name.name);
  }
  for (const auto& [directory, full_name] : names)
    if (auto object = object_named(id, directory, full_name, any_state, is_own)) return object;
  return std::nullopt;
}

std::optional<NamedObject> TreeLooks::object_named(NodeId id, NodeId directory,
                                                   const std::string& full_name, bool any_state,
                                                   bool is_own) {
  tree_.names_.assert_shared();
  const SourcePath path = tree_.path(directory);
  std::optional<SourceEntry> entry;
  if (const auto own = is_own ? tree_.root_.find_any(join_path(path, full_name)) : nullptr)
    entry = tree_.own_entry(found_entry(own), Tree::Own::any);
  if (!entry) entry = tree_.visible_entry(directory, path, full_name);
  if (!entry) return std::nullopt;
  if (entry->unreadable) throw std::system_error(entry->unreadable, full_name);
  NamedObject object = describe(directory, path, full_name, *entry, any_state);
  // Another program has put another object under the name: the next name may still be this one's.
  if (object.node != id || (object.is_pending && !stands_for(id, object.entry.own_stat)))
    return std::nullopt;
  return object;
}

bool TreeLooks::is_unlinked(NodeId node) const {
  const MutexLock lock(tree_.mutex_);
  return node != kRootId && !tree_.nodes_.node(node).has_name();
}

/// False where another file has the temporary's name by now, which then is none of the node's.
bool TreeLooks::stands_for(NodeId node, const struct stat& object) const {
  const MutexLock lock(tree_.mutex_);
  return tree_.nodes_.node(node).identity == identity_of(object);
}

}  // namespace bloscfs::fs
