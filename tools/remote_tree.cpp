#include "tools/remote_tree.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "frame/open/open.hpp"
#include "frame/remote/url.hpp"
#include "frame/store/sframe_names.hpp"
#include "fs/source/naming.hpp"

namespace bloscfs::tools {
namespace {

bool is_gone(const std::system_error& error) {
  return error.code() == std::errc::no_such_file_or_directory;
}

bool is_index(const frame::ObjectEntry& entry) {
  return entry.name == frame::kSframeIndexName && !entry.is_directory;
}

std::int64_t size_of_entry(const frame::ObjectEntry& entry) {
  return entry.state ? static_cast<std::int64_t>(entry.state->size) : 0;
}

}  // namespace

RemoteTree::RemoteTree(std::shared_ptr<frame::ObjectTree> objects, const std::string& url)
    : objects_(std::move(objects)),
      frames_(std::make_shared<frame::ObjectFrames>(objects_, [](const std::string&) {})) {
  std::string shown = frame::shown_url(url);
  while (shown.ends_with('/')) shown.pop_back();
  enter("", shown, objects_->list(""));
}

void RemoteTree::enter(std::string path, std::string shown,
                       std::vector<frame::ObjectEntry> entries) {
  std::erase_if(entries, [](const frame::ObjectEntry& entry) {
    return fs::is_temporary(entry.name) || fs::is_lock_file(entry.name);
  });
  std::reverse(entries.begin(), entries.end());
  levels_.push_back({std::move(path), std::move(shown), std::move(entries)});
}

std::optional<TreeFile> RemoteTree::next() {
  while (!levels_.empty()) {
    Level& level = levels_.back();
    if (level.entries.empty()) {
      levels_.pop_back();
      continue;
    }
    const frame::ObjectEntry entry = std::move(level.entries.back());
    level.entries.pop_back();
    const std::string path = level.path.empty() ? entry.name : level.path + "/" + entry.name;
    const std::string shown = level.shown + "/" + entry.name;
    try {
      if (auto file = visit(entry, path, shown)) return file;
    } catch (const std::system_error& error) {
      if (is_gone(error)) continue;
      return TreeFile{shown, path, nullptr, false, 0, std::current_exception()};
    }
  }
  return std::nullopt;
}

/// Returns an object, or a sparse frame, which is a directory with an index. Enters any other
/// directory and returns nullopt.
std::optional<TreeFile> RemoteTree::visit(const frame::ObjectEntry& entry, std::string path,
                                          std::string shown) {
  if (!entry.is_directory)
    return TreeFile{std::move(shown),     std::move(path), nullptr, false,
                    size_of_entry(entry), nullptr};
  std::vector<frame::ObjectEntry> entries = objects_->list(path);
  if (std::none_of(entries.begin(), entries.end(), is_index)) {
    enter(std::move(path), std::move(shown), std::move(entries));
    return std::nullopt;
  }
  std::int64_t size = 0;
  for (const frame::ObjectEntry& file : entries) size += size_of_entry(file);
  return TreeFile{std::move(shown), std::move(path), nullptr, true, size, nullptr};
}

std::shared_ptr<const frame::Snapshot> RemoteTree::open(const TreeFile& file) const {
  if (file.problem) std::rethrow_exception(file.problem);
  try {
    if (!file.is_sparse) return frame::open_file(objects_->open(file.path, nullptr), {});
    const auto index = objects_->open(file.path + "/" + frame::kSframeIndexName, nullptr);
    // An empty index is left where a frame was removed.
    if (index->state().size == 0 && objects_->has_tombstones()) return nullptr;
    return frame::open_directory(frames_->frame(file.path, index));
  } catch (const std::system_error& error) {
    if (is_gone(error)) return nullptr;
    throw;
  }
}

std::unique_ptr<frame::PythonStore> RemoteTree::open_zip_store(const TreeFile& file) const {
  if (file.problem || file.is_sparse || !file.path.ends_with(frame::kZipStoreSuffix))
    return nullptr;
  try {
    return frame::open_zip_store(objects_->open(file.path, nullptr), {});
  } catch (const std::system_error& error) {
    if (is_gone(error)) return nullptr;
    throw;
  }
}

}  // namespace bloscfs::tools
