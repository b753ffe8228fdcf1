// Symlinks. The text of a symlink may lead to a frame by its stored name. Then the mount shows the
// text with the frame's shown name, so that both lead to the same file.

#include <algorithm>
#include <climits>
#include <string_view>
#include <system_error>
#include <vector>

#include "fs/source/local/tree/tree.hpp"
#include "fs/support/relative_path.hpp"

namespace bloscfs::fs {
namespace {

/// How many symlinks (as many as the kernel follows) and names are followed for one text.
constexpr int kMaxLinks = 40;
constexpr int kMaxSteps = 512;

/// Returns the part behind the last slash.
std::string_view last_name(std::string_view text) { return text.substr(text.rfind('/') + 1); }

/// Puts the names of a text on a stack, the first one on top.
void push_names(std::string_view text, std::vector<std::string>& stack) {
  while (!text.empty()) {
    const std::string_view name = last_name(text);
    if (!name.empty() && name != ".") stack.emplace_back(name);
    text.remove_suffix(std::min(text.size(), name.size() + 1));
  }
}

}  // namespace

std::string Tree::read_link(Request& request, NodeId id) {
  NamesWork work(request);
  return work.run([&] {
    const ReadNames names(names_, &work);
    const SourcePath path = this->path(id);
    return shown_link(work, path.text(), root_.read_link(path, &work));
  });
}

std::string Tree::stored_link(NamesWork& work, const SourcePath& path, const struct stat& stored) {
  const FileState state = state_of(stored);
  {
    const MutexLock lock(mutex_);
    const Node* node = nodes_.current(identity_of(stored));
    if (node != nullptr && node->rare().link_text && node->state == state)
      return *node->rare().link_text;
  }
  std::string text = root_.read_link(path, &work);
  const MutexLock lock(mutex_);
  Node* node = nodes_.current(identity_of(stored));
  if (node != nullptr && S_ISLNK(node->type)) {
    node->state = state;
    node->make_rare().link_text = text;
  }
  return text;
}

std::string Tree::shown_link(NamesWork& work, const std::string& path, std::string text) {
  const std::string_view name = last_name(text);
  if (text.starts_with('/') || name.empty() || name == "." || name == "..") return text;
  const std::string before = text.substr(0, text.size() - name.size());
  try {
    const auto directory = walk(work, parent_of(path), before);
    const auto shown =
        directory ? shown_instead(work, *directory, std::string(name)) : std::nullopt;
    return shown && before.size() + shown->size() < PATH_MAX ? before + *shown : text;
  } catch (const std::system_error&) {
    return text;  // the target cannot be looked at
  }
}

std::optional<std::string> Tree::walk(NamesWork& work, std::string directory,
                                      std::string_view text) {
  std::vector<std::string> left;
  push_names(text, left);
  int links = 0;
  for (int steps = 0; !left.empty(); steps++) {
    if (steps == kMaxSteps) return std::nullopt;
    const std::string name = std::move(left.back());
    left.pop_back();
    if (name == "..") {
      if (directory.empty()) return std::nullopt;  // leads out of SOURCE
      directory = parent_of(directory);
      continue;
    }
    const std::string path = join_path(directory, name);
    const auto st = root_.stat(SourcePath(path), &work);
    if (st && S_ISLNK(st->st_mode)) {
      const std::string target = stored_link(work, path, *st);
      if (target.starts_with('/') || ++links > kMaxLinks) return std::nullopt;
      push_names(target, left);
    } else {
      const auto entry = st && S_ISDIR(st->st_mode) ? look(work, path) : std::nullopt;
      if (!entry || entry->is_container()) return std::nullopt;
      directory = path;
    }
  }
  return directory;
}

std::optional<std::string> Tree::shown_instead(NamesWork& work, const std::string& directory,
                                               const std::string& name) {
  NodeId id = kRootId;
  if (!directory.empty()) {
    const auto st = root_.stat(SourcePath(directory), &work);
    if (!st) return std::nullopt;
    const MutexLock lock(mutex_);
    // Files that wait for their names are found by their directory's node. A directory without a
    // node has no such files.
    const Node* node = nodes_.current(identity_of(*st));
    id = node != nullptr ? node->id : 0;
  }
  const Directory in{id, directory};
  // The unchanged text already leads to a shown entry.
  if (resolve(work, in, name)) return std::nullopt;
  const auto entry = visible_entry(work, in, name);
  if (!entry || !(entry->is_container() || entry->shown == ShownAs::frame_store))
    return std::nullopt;
  std::string shown = preferred_name(name, entry->shown);
  // The shown name is used only if it leads back to this frame.
  const auto owner = resolve(work, in, shown);
  return owner && owner->full_name == name ? std::optional(std::move(shown)) : std::nullopt;
}

struct stat Tree::with_link_size(NamesWork& work, struct stat st, const SourceEntry& entry,
                                 const std::string& path) {
  if (!S_ISLNK(st.st_mode)) return st;
  try {
    st.st_size = std::ssize(shown_link(work, path, stored_link(work, path, entry.own_stat)));
  } catch (const std::system_error&) {
    // Something else has the name by now, and the next look finds it.
  }
  return st;
}

}  // namespace bloscfs::fs
