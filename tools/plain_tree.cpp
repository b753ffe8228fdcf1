#include "tools/plain_tree.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <functional>
#include <system_error>
#include <utility>

#include <fcntl.h>

#include "tools/output_file.hpp"
#include "tools/output_name.hpp"

namespace bloscfs::tools {

PlainTree::PlainTree(const std::string& directory)
    : root_(open_directory(directory), fs::OtherMounts::enter) {}

std::optional<PlainEntry> PlainTree::next() {
  if (!std::exchange(is_begun_, true)) return visit({});
  while (!levels_.empty()) {
    Level& level = levels_.back();
    if (level.names.empty()) {
      levels_.pop_back();
      continue;
    }
    const fs::SourcePath path = join_path(level.path, level.names.back());
    level.names.pop_back();
    if (auto entry = visit(path)) return entry;
  }
  return std::nullopt;
}

/// Enters a directory. Returns nullopt if the entry has vanished.
std::optional<PlainEntry> PlainTree::visit(const fs::SourcePath& path) {
  PlainEntry entry;
  entry.path = path.text();
  try {
    entry.object = path.empty() ? std::make_shared<fs::SourceObject>(
                                      root_.open(path, O_PATH | O_DIRECTORY), "")
                                : root_.find_any(path);
    if (!entry.object) return std::nullopt;
    entry.st = entry.object->stat();
    if (!S_ISDIR(entry.st.st_mode)) return entry;
    Level level{path, {}};
    for (fs::SourceRoot::Entry& inner : root_.list(path))
      level.names.push_back(std::move(inner.name));
    std::sort(level.names.begin(), level.names.end(), std::greater<>());
    levels_.push_back(std::move(level));
  } catch (const std::system_error& error) {
    if (error.code() == std::errc(ENOENT)) return std::nullopt;
    entry.problem = std::current_exception();
  }
  return entry;
}

}  // namespace bloscfs::tools
