// Finding the nodes of shown names, and making them.

#include <utility>
#include <vector>

#include "fs/source/local/tree/tree.hpp"
#include "fs/support/lock_breaks.hpp"

namespace bloscfs::fs {

std::optional<FoundNode> Tree::lookup(NodeId directory, const std::string& name) {
  return find(directory, name, nullptr);
}

std::optional<FoundNode> Tree::enter(NodeId directory, const DirectoryEntry& entry) {
  return find(directory, entry.shown_name, &entry.full_name);
}

std::optional<FoundNode> Tree::find(NodeId directory, const std::string& name,
                                    const std::string* listed_as) {
  // At first by whoever owns the name: a content that is written to and was overtaken goes on from
  // what is there now (follower_), without the lock on names, and then the look is repeated as
  // anybody's.
  auto found = find_adopted(directory, name, listed_as, follower_ ? First::owner : First::look);
  if (found && found->trust == Trust::outdated && follower_) {
    const std::shared_ptr<void> counted(nullptr, [this, id = found->id](void*) { forget(id, 1); });
    follower_(found->id);
    found = find_adopted(directory, name, listed_as, First::look);
  }
  if (!found || found->beside) return entered_beside(directory, name, std::move(found));
  found->attributes = with_live({found->attributes, found->trust}, found->id);
  return found;
}

std::optional<Tree::Adopted> Tree::find_adopted(NodeId directory, const std::string& name,
                                                const std::string* listed_as, First first) {
  return Attempts::run([&]() -> std::optional<Adopted> {
    const ReadNames names(names_);
    const Directory in = this->directory(directory);
    root_.require(in.path);  // ESTALE has the kernel look for the directory again
    if (const NodeId lost = first == First::owner ? lost_node(directory, name) : 0)
      return outdated(lost, std::nullopt);
    if (listed_as != nullptr)
      if (auto listed = adopt(in, name, {*listed_as, std::nullopt}, first)) return listed;
    // Since it was listed the file may have become an array, say, which is stored elsewhere.
    auto shown = resolve_entry(in, name);
    return shown ? adopt(in, name, *std::move(shown), first) : std::nullopt;
  });
}

std::optional<Tree::Adopted> Tree::adopt(const Directory& in, const std::string& shown_name,
                                         Shown shown, First first) {
  const std::string& full_name = shown.full_name;
  if (const auto pending = pending_entry(in.id, full_name)) {
    NodeId id = 0;
    {
      const MutexLock lock(mutex_);
      Node& node = *nodes_.pending(in.id, full_name);
      node.references++;
      id = node.id;
    }
    const Trust trust = is_name_taken(id) ? Trust::outdated : Trust::content;
    return Adopted{{id, attributes_of(*pending)}, trust, {}};
  }
  const SourcePath path = join_path(in.path, full_name);
  const auto entry = shown.entry ? std::move(shown.entry) : look(path);
  if (entry && entry->unreadable) throw std::system_error(entry->unreadable, path.text());
  if (!entry) {
    const auto beside = beside_entry(in, full_name);
    if (!beside) return std::nullopt;
    Adopted found;
    found.is_fallback = preferred_name(full_name, beside->shown) != shown_name;
    found.beside = full_name;
    return found;
  }
  if (const NodeId overtaken = first == First::owner
                                   ? overtaken_node(in.id, full_name, identity_of(entry->own_stat))
                                   : 0)
    return outdated(overtaken, entry);
  // Done before a reference is counted: the look at where the link leads may throw, for a break.
  const struct stat linked = with_link_size(attributes_of(*entry), *entry, path.text());
  Adopted found{adopt_entry(in.id, full_name, *entry), entry->trust, {}};
  found.attributes.st_size = linked.st_size;
  found.is_fallback = preferred_name(full_name, entry->shown) != shown_name;
  return found;
}

Tree::Adopted Tree::outdated(NodeId id, const std::optional<SourceEntry>& entry) {
  Adopted found{{id, {}}, Trust::outdated, {}};
  if (entry) found.attributes = attributes_of(*entry);
  const MutexLock lock(mutex_);
  nodes_.node(id).references++;
  return found;
}

NodeId Tree::lost_node(NodeId directory, const std::string& shown_name) {
  if (!may_have_opened_in(directory)) return 0;
  for (const std::string& full_name : possible_full_names(shown_name)) {
    const NodeId node = overtaken_node(directory, full_name, std::nullopt);
    // SOURCE has nothing there, though somebody writes to a file of that name: another program has
    // removed or moved it.
    if (node != 0 && !root_.stat(join_path(path(directory), full_name))) return node;
  }
  return 0;
}

/// Also of a content whose file has only got other attributes, or lost one of several names.
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
  if (!file || file->leads()) return file != nullptr;
  const auto* const container = dynamic_cast<const OpenContainer*>(file.get());
  return !same_state && container != nullptr && container->content->is_file_current();
}

FoundNode Tree::adopt_entry(NodeId directory, const std::string& full_name,
                            const SourceEntry& entry) {
  FoundNode found{0, attributes_of(entry)};
  const bool live = is_live(entry);
  std::shared_ptr<const OpenFile> found_again;
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
    if (!entry.is_container() && !entry.is_store()) known->kind = entry.kind;
    if (entry.is_store_directory()) has_store_directories_ = true;
    known->shown = entry.shown;
    known->state = state_of(entry.content_stat);
    found.attributes = with_shown_change(found.attributes, known->shown_change);
    found.id = known->id;
  }
  if (const auto* const container = dynamic_cast<const OpenContainer*>(found_again.get()))
    container->content->end_orphanhood();
  return found;
}

}  // namespace bloscfs::fs
