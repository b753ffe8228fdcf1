#include "tools/shown_tree.hpp"

#include <algorithm>
#include <utility>

#include "fs/mount/ended_mounts.hpp"

namespace bloscfs::tools {
namespace {

/// For the indexes of stores.
constexpr std::size_t kTreeCache = std::size_t{16} << 20;

fs::MountSource open_ended(const std::string& source) {
  fs::wait_for_ended_mounts(source);
  return fs::open_source(source, false, true);
}

}  // namespace

ShownTree::ShownTree(const std::string& source) : ShownTree(open_ended(source), 0) {}

ShownTree::ShownTree(fs::MountSource source, int)
    : root_(std::move(source.root)),
      classifier_(root_, {}, nullptr),
      tree_(root_, classifier_, std::move(source.single), {}),
      cache_(kTreeCache, pages_, stats_),
      stores_(root_, tree_, cache_.budget(), false) {}

std::optional<ShownEntry> ShownTree::next() {
  if (!std::exchange(is_begun_, true)) {
    ShownEntry root;
    root.st = tree_.attributes(fs::kRootId);
    enter(fs::kRootId, "");
    return root;
  }
  while (!levels_.empty()) {
    if (levels_.back().entries.empty()) {
      leave();
      continue;
    }
    const auto entry = std::move(levels_.back().entries.back());
    levels_.back().entries.pop_back();
    const std::string& above = levels_.back().path;
    std::string path = above.empty() ? entry.shown_name : above + "/" + entry.shown_name;
    ShownEntry shown;
    shown.path = std::move(path);
    try {
      if (look(levels_.back().node, entry, shown)) return shown;
    } catch (const std::exception&) {
      shown.problem = std::current_exception();
      return shown;
    }
  }
  return std::nullopt;
}

void ShownTree::enter(fs::NodeId node, const std::string& path) {
  Level level{node, path, {}};
  level.entries = stores_.is_part(node) ? stores_.list(node, [] {}) : tree_.list(node, [] {});
  std::sort(level.entries.begin(), level.entries.end(),
            [](const auto& a, const auto& b) { return a.shown_name > b.shown_name; });
  levels_.push_back(std::move(level));
}

void ShownTree::leave() {
  const fs::NodeId node = levels_.back().node;
  levels_.pop_back();
  if (node != fs::kRootId) forget(node);
}

void ShownTree::forget(fs::NodeId node) {
  if (fs::Stores::holds(node))
    stores_.forget(node, 1);
  else
    tree_.forget(node, 1);
}

/// False for what is not there any more.
bool ShownTree::look(fs::NodeId directory, const fs::Tree::DirectoryEntry& entry,
                     ShownEntry& shown) {
  if (!S_ISREG(entry.type) || stores_.is_part(directory) || entry.is_beside)
    return look_at_node(directory, entry, shown);
  shown.source_path = join_path(tree_.path(directory), entry.full_name);
  const auto object = root_.find_any(shown.source_path);
  if (!object) return false;
  shown.source = classifier_.look(shown.source_path, fs::found_entry(object));
  if (shown.source.unreadable) throw std::system_error(shown.source.unreadable);
  shown.st = tree_.attributes_of(shown.source);
  return true;
}

/// What is no file of SOURCE; a directory is entered.
bool ShownTree::look_at_node(fs::NodeId directory, const fs::Tree::DirectoryEntry& entry,
                             ShownEntry& shown) {
  const bool is_part = stores_.is_part(directory);
  const auto found =
      is_part ? stores_.lookup(directory, entry.shown_name) : tree_.enter(directory, entry);
  if (!found) return false;
  fs::NodeId node = found->id;
  shown.st = found->attributes;
  try {
    if (found->beside) {
      const auto place = tree_.store_place(directory);
      if (!place) return false;
      node = stores_.enter(*place, *found->beside, shown.st);
    }
    if (S_ISDIR(shown.st.st_mode)) {
      enter(node, shown.path);
      return true;
    }
    if (S_ISLNK(shown.st.st_mode))
      shown.link = fs::Stores::holds(node) ? stores_.read_link(node) : tree_.read_link(node);
    else if (fs::Stores::holds(node))
      shown.leaf = stores_.frame_of(node);
  } catch (...) {
    forget(node);
    throw;
  }
  forget(node);
  return true;
}

std::shared_ptr<const frame::Snapshot> ShownTree::open(const ShownEntry& entry) const {
  if (entry.leaf) return entry.leaf;
  if (!entry.source.is_container) return nullptr;
  return classifier_.open(entry.source_path, entry.source);
}

}  // namespace bloscfs::tools
