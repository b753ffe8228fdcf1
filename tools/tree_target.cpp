#include "tools/tree_target.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "frame/store/throw_errno.hpp"
#include "fs/mount/wait_notice.hpp"
#include "fs/source/mount_lock.hpp"
#include "tools/input.hpp"
#include "tools/output_file.hpp"

namespace bloscfs::tools {
namespace {

namespace filesystem = std::filesystem;

/// All that belongs to the owner alone stays that while a tree is written.
constexpr mode_t kWhileMade = 0700;

void require_outside(const std::string& path, const std::string& source) {
  const filesystem::path inner = filesystem::canonical(path), outer = filesystem::canonical(source);
  const auto end = std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
  if (end.first == outer.end()) throw FileError(path, "is in the directory that is read");
}

frame::UniqueFd make_and_open(const std::string& path, const std::string& source) {
  if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) throw FileError(path, errno);
  try {
    require_outside(path, source);
    frame::UniqueFd fd = open_directory(path);
    // Only to find out: what is made has locks of its own.
    const fs::MountLock lock(fd.get(), std::nullopt, fs::kMountLockPatience, fs::WaitNotice(path));
    return fd;
  } catch (const FileError&) {
    throw;
  } catch (const std::exception& error) {
    throw FileError(path, reason(error));
  }
}

}  // namespace

TreeTarget::TreeTarget(const std::string& path, const std::string& source)
    : path_(path), root_(make_and_open(path, source), fs::OtherMounts::enter) {
  while (path_.size() > 1 && path_.ends_with('/')) path_.pop_back();
}

fs::SourceDirectory TreeTarget::directory(const std::string& path) const {
  return root_.directory(fs::SourcePath(path));
}

void TreeTarget::make_directory(const std::string& path, const struct stat& st) {
  if (!path.empty()) {
    const auto [above, name] = split_path(path);
    const fs::SourceDirectory parent = directory(above);
    const auto there = parent.stat(name);
    if (!there)
      parent.make_directory(name, kWhileMade);
    else if (!S_ISDIR(there->st_mode))
      throw std::runtime_error("is there, and no directory");
    else if ((there->st_mode & kWhileMade) != kWhileMade)
      parent.object(name).set_mode(there->st_mode | kWhileMade);
  }
  const fs::MutexLock lock(mutex_);
  made_.push_back({path, st.st_mode & mode_t{01777}, st.st_atim, st.st_mtim});
}

void TreeTarget::make_symlink(const std::string& path, const std::string& text,
                              const struct stat& st) const {
  const auto [above, name] = split_path(path);
  const fs::SourceDirectory parent = directory(above);
  if (const auto there = parent.stat(name)) {
    if (!S_ISLNK(there->st_mode)) throw std::runtime_error("is there, and no symbolic link");
    if (root_.read_link(fs::SourcePath(path)) != text) {
      parent.remove_file(name);
      parent.make_symlink(name, text);
    }
  } else {
    parent.make_symlink(name, text);
  }
  parent.object(name).set_times(st.st_atim, st.st_mtim);
}

void TreeTarget::finish() {
  const fs::MutexLock lock(mutex_);
  // Inner ones first: what is done in a directory changes its times.
  std::reverse(made_.begin(), made_.end());
  for (const auto& made : made_) {
    const fs::SourceObject object = root_.object(fs::SourcePath(made.path));
    object.set_mode(made.mode);
    object.set_times(made.accessed, made.modified);
  }
  made_.clear();
  root_.sync_all();
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
