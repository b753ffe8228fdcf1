#include "tools/frame_tree.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <functional>
#include <system_error>
#include <utility>

#include <fcntl.h>

#include "codec/error.hpp"
#include "frame/open/open.hpp"
#include "frame/store/sframe_names.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/naming.hpp"

namespace bloscfs::tools {
namespace {

frame::UniqueFd open_tree(const std::string& path) {
  frame::UniqueFd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) frame::throw_errno(path);
  return fd;
}

/// True for errors that say that a file is no longer where it was.
bool is_absence(const std::error_code& error) {
  return error == std::errc(ENOENT) || error == std::errc(ENOTDIR) || error == std::errc(ESTALE);
}

/// True for the directory of a sparse frame. Opens it to be sure, because an ordinary directory can
/// hold a flat frame with the name of a sparse frame's index.
bool is_sparse(const fs::SourceObject& directory) {
  const auto index = directory.stat(frame::kSframeIndexName);
  if (!index || !S_ISREG(index->st_mode)) return false;
  try {
    return frame::open_directory(directory.open(O_RDONLY | O_DIRECTORY), {}) != nullptr;
  } catch (const std::exception&) {
    return true;  // opening it reports the error
  }
}

}  // namespace

FrameTree::FrameTree(const std::string& directory)
    : root_(open_tree(directory), fs::OtherMounts::enter) {
  std::string shown = directory;
  while (shown.size() > 1 && shown.back() == '/') shown.pop_back();
  enter({}, shown == "/" ? "" : shown);
}

void FrameTree::enter(const fs::SourcePath& path, const std::string& shown) {
  Level level{path, shown, {}};
  for (fs::SourceRoot::Entry& entry : root_.list(path))
    if (!fs::is_temporary(entry.name) && !fs::is_lock_file(entry.name))
      level.names.push_back(std::move(entry.name));
  std::sort(level.names.begin(), level.names.end(), std::greater<>());
  levels_.push_back(std::move(level));
}

std::optional<TreeFile> FrameTree::next() {
  while (!levels_.empty()) {
    Level& level = levels_.back();
    if (level.names.empty()) {
      levels_.pop_back();
      continue;
    }
    const std::string name = std::move(level.names.back());
    level.names.pop_back();
    const fs::SourcePath path = join_path(level.path, name);
    const std::string shown = level.shown + "/" + name;
    try {
      if (auto file = visit(path, shown)) return file;
    } catch (const std::system_error& error) {
      if (is_absence(error.code())) continue;
      return TreeFile{shown, path.text(), nullptr, false, 0, std::current_exception()};
    }
  }
  return std::nullopt;
}

/// Returns a regular file or a sparse frame. Returns nullopt for other kinds of files, and for any
/// other directory, which it enters.
std::optional<TreeFile> FrameTree::visit(const fs::SourcePath& path, std::string shown) {
  auto object = root_.find_any(path);
  if (!object) return std::nullopt;
  const struct stat st = object->stat();
  if (S_ISREG(st.st_mode))
    return TreeFile{std::move(shown), path.text(), std::move(object), false, st.st_size, nullptr};
  if (!S_ISDIR(st.st_mode)) return std::nullopt;
  if (is_sparse(*object))
    return TreeFile{std::move(shown), path.text(), object, true, sparse_size(path), nullptr};
  enter(path, shown);
  return std::nullopt;
}

std::int64_t FrameTree::sparse_size(const fs::SourcePath& path) const {
  std::int64_t sum = 0;
  for (const fs::SourceRoot::Entry& entry : root_.list(path))
    if (const auto st = root_.stat(join_path(path, entry.name))) sum += st->st_size;
  return sum;
}

std::shared_ptr<const frame::Snapshot> FrameTree::open(const TreeFile& file) const {
  if (file.problem) std::rethrow_exception(file.problem);
  try {
    const fs::NearPath near = root_.approach(fs::SourcePath(file.path));
    frame::OpenSettings settings;
    settings.name = near.rest;
    settings.directory = near.directory();
    if (file.is_sparse)
      return frame::open_directory(file.object->open(O_RDONLY | O_DIRECTORY), settings);
    return frame::open_file(file.object->open_noatime(O_RDONLY), settings);
  } catch (const std::system_error& error) {
    if (is_absence(error.code())) return nullptr;
    throw;
  }
}

std::unique_ptr<frame::PythonStore> FrameTree::open_zip_store(const TreeFile& file) const {
  if (!file.object || file.is_sparse || !file.path.ends_with(frame::kZipStoreSuffix))
    return nullptr;
  auto source = std::make_shared<frame::FileSource>(file.object->open_noatime(O_RDONLY), nullptr);
  return frame::open_zip_store(std::move(source), {});
}

bool FrameTree::still_exists(const TreeFile& file) const {
  const auto st = root_.stat(fs::SourcePath(file.path));
  if (!st || !file.object || fs::identity_of(*st) != fs::identity_of(file.object->stat()))
    return false;
  return !file.is_sparse || file.object->stat(frame::kSframeIndexName);
}

void require_no_frame_suffix(std::string_view name, std::int64_t size) {
  if (fs::promises_frame(name)) codec::throw_malformed(fs::no_header_message(size));
}

bool is_tree(const std::string& path) {
  frame::UniqueFd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  return fd && !is_sparse(fs::SourceObject(std::move(fd), path));
}

std::int64_t tree_size(const std::string& directory) {
  std::int64_t sum = 0;
  FrameTree tree(directory);
  while (const auto file = tree.next()) sum += file->size;
  return sum;
}

}  // namespace bloscfs::tools
