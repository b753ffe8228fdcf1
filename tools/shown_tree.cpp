#include "tools/shown_tree.hpp"

#include <algorithm>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "frame/container/missing_decoder.hpp"
#include "frame/open/open.hpp"
#include "fs/mount/ended_mounts.hpp"
#include "fs/view/stored_contents.hpp"

namespace bloscfs::tools {
namespace {

fs::MountSource open_ended(const std::string& source) {
  fs::wait_for_ended_mounts(source);
  return fs::open_source(source, false, true);
}

fs::MountOptions read_only() {
  fs::MountOptions options;
  options.read_only = true;
  options.cache_size = std::size_t{16} << 20;  // for indexes alone
  return options;
}

}  // namespace

ShownTree::ShownTree(const std::string& source, Subdirectories below)
    : below_(below),
      filesystem_(open_ended(source), read_only(), fs::WorkerCounts{1, 1}, nullptr, pages_) {}

std::optional<ShownEntry> ShownTree::next() {
  if (!std::exchange(is_begun_, true)) {
    ShownEntry root;
    root.st = tree().attributes(fs::kRootId);
    enter(fs::kRootId, "");
    return root;
  }
  while (!levels_.empty()) {
    if (levels_.back().entries.empty()) {
      ShownEntry left;
      left.path = left.stored = levels_.back().path;
      try {
        leave();
        continue;
      } catch (const std::exception&) {
        left.problem = std::current_exception();
        return left;
      }
    }
    const auto entry = std::move(levels_.back().entries.back());
    levels_.back().entries.pop_back();
    const std::string& above = levels_.back().path;
    std::string path = above.empty() ? entry.shown_name : above + "/" + entry.shown_name;
    ShownEntry shown;
    shown.path = shown.stored = std::move(path);
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
  level.entries = stores().is_part(node) ? stores().list(node, [] {}) : tree().list(node, [] {});
  std::sort(level.entries.begin(), level.entries.end(),
            [](const auto& a, const auto& b) { return a.shown_name > b.shown_name; });
  levels_.push_back(std::move(level));
}

/// Throws EIO where damage has left the listing of a store incomplete.
void ShownTree::leave() {
  const fs::NodeId node = levels_.back().node;
  levels_.pop_back();
  const std::shared_ptr<void> referenced(nullptr, [&](void*) {
    if (node != fs::kRootId) forget(node);
  });
  stores().require_listed(node);
}

void ShownTree::forget(fs::NodeId node) { filesystem_.forget(node, 1); }

/// False for what is not there any more.
bool ShownTree::look(fs::NodeId directory, const fs::Tree::DirectoryEntry& entry,
                     ShownEntry& shown) {
  const bool is_part = stores().is_part(directory) || entry.is_beside;
  if (!is_part) {
    shown.source_path = join_path(tree().path(directory), entry.full_name);
    shown.stored = shown.source_path.text();
  }
  if (!S_ISREG(entry.type) || is_part) return look_at_node(directory, entry, shown);
  const auto object = filesystem_.root().find_any(shown.source_path);
  if (!object) return false;
  shown.source = filesystem_.classifier().look(shown.source_path, fs::found_entry(object));
  if (shown.source.unreadable) throw std::system_error(shown.source.unreadable);
  // What may not be read counts as no frame.
  if (!shown.source.is_container) shown.source.object->check_access(R_OK);
  shown.st = tree().attributes_of(shown.source);
  return true;
}

/// What is no file of SOURCE; a directory is entered.
bool ShownTree::look_at_node(fs::NodeId directory, const fs::Tree::DirectoryEntry& entry,
                             ShownEntry& shown) {
  const auto found = stores().is_part(directory) ? stores().lookup(directory, entry.shown_name)
                                                 : tree().enter(directory, entry);
  if (!found) return false;
  fs::NodeId node = found->id;
  shown.st = found->attributes;
  try {
    if (found->beside) {
      const auto place = tree().store_place(directory);
      if (!place) return false;
      node = stores().enter(*place, *found->beside, shown.st);
    }
    if (fs::Stores::holds(node)) shown.stored = stores().told_path(node);
    if (S_ISDIR(shown.st.st_mode) && below_ == Subdirectories::enter) {
      enter(node, shown.path);
      return true;
    }
    if (S_ISLNK(shown.st.st_mode))
      shown.link = filesystem_.read_link(node);
    else if (fs::Stores::holds(node) && S_ISREG(shown.st.st_mode))
      shown.leaf = stores().frame_of(node);
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
  return filesystem_.classifier().open(entry.source_path, entry.source);
}

Readable ShownTree::readable(const ShownEntry& entry) {
  // An empty file may be a frame that is being made.
  if (entry.source.is_damaged && entry.source.own_stat.st_size > 0)
    frame::open_file(entry.source.object->open_quietly(O_RDONLY), {});
  auto snapshot = open(entry);
  if (!snapshot) return {};
  const bool may_miss = entry.leaf || entry.source.is_unsupported || entry.source.may_lack_contents;
  if (!may_miss) return {};
  if (const auto missing = frame::missing_decoder(*snapshot))
    return {Health::unsupported, *missing};
  readers_ += 2;
  const fs::FrameReader reader(std::move(snapshot), readers_, readers_ + 1, filesystem_.cache(),
                               filesystem_.stats());
  if (const auto missing = fs::missing_contents(reader)) return {Health::no_contents, *missing};
  return {};
}

}  // namespace bloscfs::tools
