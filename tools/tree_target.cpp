#include "tools/tree_target.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "frame/store/sframe_names.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/support/printable.hpp"
#include "tools/input.hpp"
#include "tools/interrupt.hpp"
#include "tools/output_file.hpp"
#include "tools/output_name.hpp"

namespace bloscfs::tools {
namespace {

namespace filesystem = std::filesystem;

/// Mode of a directory while the tree is written, so that its owner can create files in it.
constexpr mode_t kWhileMade = 0700;

void require_outside(const std::string& path, const std::string& source) {
  const filesystem::path inner = filesystem::canonical(path), outer = filesystem::canonical(source);
  const auto end = std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
  if (end.first == outer.end()) throw FileError(path, "is in the directory that is read");
}

/// Attribute that a run sets on what it made: the size, and the modification time in seconds
/// and nanoseconds since 1970.
constexpr const char* kMade = "user.bloscfs.made";

/// Returns the size and modification time as text. For a sparse frame, these are those of its
/// index.
std::string state_text(const fs::SourceObject& object) {
  struct stat st = object.stat();
  if (S_ISDIR(st.st_mode))
    if (const auto index = object.stat(frame::kSframeIndexName)) st = *index;
  return fmt::format("{} {}.{:09}", st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
}

bool is_newer(const timespec& time, const timespec& other) {
  return std::pair(time.tv_sec, time.tv_nsec) > std::pair(other.tv_sec, other.tv_nsec);
}

/// True if the object is unchanged since an earlier run made it.
bool is_as_made(const fs::SourceObject& object) {
  try {
    return object.attribute(kMade) == state_text(object);
  } catch (const std::system_error&) {
    return false;  // another program made it, or the attribute cannot be stored
  }
}

frame::UniqueFd make_and_open(const std::string& path, const std::string& source) {
  if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) throw_file_error(path, errno);
  try {
    require_outside(path, source);
    frame::UniqueFd fd = open_directory(path);
    // The lock only checks whether the directory is mounted for writing. Each output has its own
    // lock.
    const WatchedLock lock(fd.get(), std::nullopt, path);
    return fd;
  } catch (const FileError&) {
    throw;
  } catch (const std::exception& error) {
    throw FileError(path, output_reason(error, path));
  }
}

}  // namespace

void TreeOptions::require_none() const {
  if (force || update || dry_run) throw UsageError("--force, --update and -n go with -r");
}

TreeTarget::TreeTarget(const std::string& path, const std::string& source,
                       const TreeOptions& options)
    : path_(path), options_(options) {
  const bool is_there = ::access(path.c_str(), F_OK) == 0;
  if (is_there || !options.dry_run)
    root_.emplace(make_and_open(path, source), fs::OtherMounts::enter);
  while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
}

fs::SourceDirectory TreeTarget::directory(const std::string& path) const {
  return root_->directory(fs::SourcePath(path));
}

std::shared_ptr<const fs::SourceObject> TreeTarget::find(const std::string& path) const {
  return root_ ? root_->find_any(fs::SourcePath(path)) : nullptr;
}

bool TreeTarget::may_write(const std::string& path) const {
  const auto there = find(path);
  return may_replace(path, there && !is_as_made(*there));
}

bool TreeTarget::may_replace(const std::string& path, bool was_changed) const {
  if (was_changed && options_.update) return false;
  if (was_changed && !options_.force)
    throw std::runtime_error(shown(path) +
                             " was changed after it was made; kept it (--force overwrites it)");
  if (options_.dry_run) {
    // Scripts that read the output need the names unchanged.
    const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
    fmt::print("{}\n", is_terminal ? fs::printable(shown(path)) : shown(path));
  }
  return !options_.dry_run;
}

void TreeTarget::note_made(const std::string& path) const {
  fs::Request request;
  const fs::Change change(request);
  try {
    const auto made = find(path);
    if (made && !is_as_made(*made)) made->set_attribute(change, kMade, state_text(*made), 0);
  } catch (const std::system_error&) {
    // The filesystem does not support extended attributes.
  }
}

void TreeTarget::make_directory(const std::string& path, const struct stat& st) {
  if (options_.dry_run) return;
  fs::Request request;
  const fs::Change change(request);
  if (!path.empty()) {
    const auto [above, name] = split_path(path);
    const fs::SourceDirectory parent = directory(above);
    const auto there = parent.stat(name);
    if (!there)
      parent.make_directory(change, name, kWhileMade);
    else if (!S_ISDIR(there->st_mode))
      throw std::runtime_error("exists and is not a directory");
    else if ((there->st_mode & kWhileMade) != kWhileMade)
      parent.object(name).set_mode(change, there->st_mode | kWhileMade);
  }
  const fs::MutexLock lock(mutex_);
  made_.push_back({path, st.st_mode & mode_t{01777}, st.st_atim, st.st_mtim});
}

void TreeTarget::make_symlink(const std::string& path, const std::string& text,
                              const struct stat& st) const {
  fs::Request request;
  const fs::Change change(request);
  const auto [above, name] = split_path(path);
  if (const auto there = find(path)) {
    if (!S_ISLNK(there->stat().st_mode))
      throw std::runtime_error("exists and is not a symbolic link");
    if (root_->read_link(fs::SourcePath(path)) == text) return;
    // A symlink cannot have the attribute kMade. So a symlink that is newer than its source counts
    // as changed by another program.
    if (!may_replace(path, is_newer(there->stat().st_mtim, st.st_mtim))) return;
    directory(above).remove_file(change, name);
  } else if (!may_replace(path, false)) {
    return;
  }
  const fs::SourceDirectory parent = directory(above);
  parent.make_symlink(change, name, text);
  parent.object(name).set_times(change, st.st_atim, st.st_mtim);
}

void TreeTarget::finish() {
  if (options_.dry_run) return;
  fs::Request request;
  const fs::Change change(request);
  const fs::MutexLock lock(mutex_);
  // Inner directories are first, because a change inside a directory changes its times.
  std::reverse(made_.begin(), made_.end());
  for (const auto& made : made_) {
    const fs::SourceObject object = root_->object(fs::SourcePath(made.path));
    object.set_mode(change, made.mode);
    object.set_times(change, made.accessed, made.modified);
  }
  made_.clear();
  root_->sync_all();
}

SplitPath split_path(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

bool is_done(const struct stat& made, std::int64_t made_size, const struct stat& source,
             std::int64_t size) {
  return made_size == size && made.st_mtim.tv_sec == source.st_mtim.tv_sec &&
         made.st_mtim.tv_nsec == source.st_mtim.tv_nsec;
}

}  // namespace bloscfs::tools
