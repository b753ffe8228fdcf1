// What is open of the nodes.

#include <exception>
#include <typeinfo>
#include <utility>

#include "fs/source/local/tree/node_table.hpp"
#include "fs/source/local/tree/tree.hpp"

namespace bloscfs::fs {
namespace {

bool is_same_kind(const OpenFile& one, const OpenFile& other) {
  return typeid(one) == typeid(other);
}

}  // namespace

bool Tree::take_change(NodeId id, const SourceEntry& entry) {
  const MutexLock lock(mutex_);
  Node& node = nodes_.node(id);
  if (node.is_container() != entry.is_container()) throw_stale(id);
  node.was_opened = true;
  // A container's node is one state, but for what happened before its first open.
  if (!entry.is_container()) {
    const FileState previous = std::exchange(node.state, state_of(entry.content_stat));
    if (!(previous == node.state)) node.is_untold = true;
  }
  return node.is_untold || node.is_being_told;
}

bool Tree::begin_telling(NodeId id) {
  const MutexLock lock(mutex_);
  Node* const node = nodes_.find(id);
  if (node == nullptr || !std::exchange(node->is_untold, false)) return false;
  node->is_being_told = true;
  return true;
}

void Tree::end_telling(NodeId id) {
  const MutexLock lock(mutex_);
  if (Node* const node = nodes_.find(id)) node->is_being_told = false;
}

std::shared_ptr<const OpenFile> Tree::opened(NodeId id) const {
  const MutexLock lock(mutex_);
  return nodes_.node(id).open_file.lock();
}

std::shared_ptr<const OpenFile> Tree::share(NodeId id, std::shared_ptr<const OpenFile> file,
                                            const SourceEntry& entry) {
  std::shared_ptr<const OpenFile> other;  // destroyed behind the lock
  const MutexLock lock(mutex_);
  Node& node = nodes_.node(id);
  other = node.open_file.lock();
  // Two opens met: the first one's file is everybody's. One that was opened as a plain file serves
  // no container.
  if (other && is_same_kind(*other, *file)) return other;
  // The state that was opened is not the node's any more: the kernel looks the name up again.
  if (node.is_container() && !(node.state == state_of(entry.content_stat))) throw_stale(id);
  node.open_file = file;
  note_opened(node);
  return file;
}

void Tree::set_opened(NodeId id, const std::shared_ptr<const OpenFile>& file) {
  const MutexLock lock(mutex_);
  Node& node = nodes_.node(id);
  node.open_file = file;
  node.was_opened = true;
}

void Tree::remember_commit(NodeId id, const frame::Snapshot& snapshot) {
  Classifier::Committed committed{.snapshot = snapshot, .name = {}};
  {
    const MutexLock lock(mutex_);
    const Node* const node = nodes_.find(id);
    if (node == nullptr || !node->has_name() || node->rare().wanted_name ||
        !(node->state.stamp == snapshot.stamp()))
      return;
    committed.name = node->name.name;
    committed.is_sframe = node->is_sframe();
    committed.ctime_ns = node->state.ctime_ns;
    if (node->shown_change.stored_ns == node->state.ctime_ns)
      committed.shown_change_ns = node->shown_change.shown_ns;
  }
  try {
    classifier_.remember(committed);
  } catch (const std::exception&) {
    // What was stored is durable. Whoever looks at the file next reads it, and tells of errors.
  }
}

void Tree::begin_plain_writing(NodeId id) {
  const MutexLock lock(mutex_);
  Node& node = nodes_.node(id);
  if (node.is_container()) throw_stale(id);
  node.make_rare().plain_writers++;
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

void Tree::keep_last_size(NodeId id, std::int64_t size) {
  const MutexLock lock(mutex_);
  Node& node = nodes_.node(id);
  if (!node.has_name()) node.make_rare().last_size = size;
}

bool Tree::is_last_plain_writer(NodeId id) const {
  const MutexLock lock(mutex_);
  return nodes_.node(id).rare().plain_writers == 1;
}

/// Names that nothing is open of any more are forgotten now and then.
void Tree::note_opened(const Node& node) {
  if (!node.has_name() || node.rare().wanted_name) return;
  if (opened_names_.size() >= names_to_look_through_) {
    std::erase_if(opened_names_, [&](const OpenedName& named) REQUIRES(mutex_) {
      const Node* const known = nodes_.find(named.node);
      return known == nullptr || known->open_file.expired();
    });
    names_to_look_through_ = 64 + 2 * opened_names_.size();
  }
  opened_names_.insert({node.name.parent->id, node.name.name, node.id});
}

void Tree::retire_opened(NodeId id, const OpenFile& file) {
  std::shared_ptr<const OpenFile> opened;  // destroyed behind the lock
  const MutexLock lock(mutex_);
  Node& node = nodes_.node(id);
  opened = node.open_file.lock();
  if (opened.get() != &file) return;
  node.open_file.reset();
  node.is_untold = true;
}

}  // namespace bloscfs::fs
