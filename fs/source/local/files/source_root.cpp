#include "fs/source/local/files/source_root.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "frame/store/refusal.hpp"
#include "frame/store/throw_errno.hpp"
#include "frame/store/wait_context.hpp"

namespace bloscfs::fs {
namespace {

using frame::errno_code;
using frame::throw_errno;

/// Most bytes of a path that are opened in one step. Leaves room for "/" and one more name.
constexpr std::size_t kLongestStep = PATH_MAX - NAME_MAX - 1;

/// Returns the ID of the mount that the object is on; before Linux 5.8, the device number.
std::uint64_t mount_in(const struct statx& st) {
  if ((st.stx_mask & STATX_MNT_ID) != 0) return st.stx_mnt_id;
  return gnu_dev_makedev(st.stx_dev_major, st.stx_dev_minor);
}

/// Returns the mount ID of a descriptor; 0, with errno set, on failure. The kernel does not ask the
/// filesystem for it, so a dead filesystem cannot block the call.
std::uint64_t mount_of(int fd) {
  struct statx st {};
  if (::statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &st) != 0) return 0;
  return mount_in(st);
}

}  // namespace

SourceRoot::SourceRoot(frame::UniqueFd directory, OtherMounts others, dev_t own_device)
    : directory_(std::make_shared<const frame::UniqueFd>(std::move(directory))),
      others_(others),
      own_device_(own_device),
      mount_(others == OtherMounts::leave_out ? mount_of(descriptor()) : 0) {}

/// Opens one component with O_PATH. Returns the descriptor, or -1 with errno set. If other mounts
/// are left out, errno is EXDEV for a mount point. openat2(2) could check whole paths, but it can
/// also create files with any mode, so the sandbox forbids it.
int SourceRoot::step_into(int directory, const std::string& name, int flags) const {
  frame::UniqueFd fd(::openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC | flags));
  if (!fd || others_ == OtherMounts::enter) return fd.release();
  const std::uint64_t mount = mount_of(fd.get());
  if (mount == mount_) return fd.release();
  if (mount != 0) errno = EXDEV;
  return -1;
}

/// Opens a path one component after the other, so that it cannot leave `directory` or follow a
/// symlink. Returns the descriptor, or -1 with errno set. If a symlink has replaced a directory on
/// the path, errno is ENOTDIR.
int SourceRoot::open_beneath(int directory, const std::string& path, int flags) const {
  frame::UniqueFd last;
  int above = directory;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const bool is_last = end == path.size();
    last = frame::UniqueFd(
        step_into(above, path.substr(at, end - at), is_last ? flags & O_DIRECTORY : O_DIRECTORY));
    if (!last) return -1;
    above = last.get();
    at = end + 1;
  }
  if ((flags & O_PATH) != 0 && last) return last.release();
  return ::openat(above, ".", flags | O_CLOEXEC);
}

/// True for the mount that this daemon serves, where SOURCE contains its mount point. Asks only the
/// kernel: a request to the filesystem would go to this very daemon.
bool SourceRoot::is_own_mount(int fd) const {
  if (own_device_ == 0 || others_ == OtherMounts::leave_out) return false;
  struct statx st {};
  return ::statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &st) == 0 &&
         gnu_dev_makedev(st.stx_dev_major, st.stx_dev_minor) == own_device_;
}

/// True if `fd` is the object `meant`, or if any object is accepted. Otherwise sets errno: ESTALE
/// for another object, EXDEV for the mount that this daemon serves.
bool SourceRoot::has_expected_identity(int fd, const std::optional<Identity>& meant) const {
  if (is_own_mount(fd)) {
    errno = EXDEV;
    return false;
  }
  if (!meant) return true;
  struct stat st {};
  if (::fstat(fd, &st) != 0) return false;
  if (identity_of(st) == *meant) return true;
  errno = ESTALE;
  return false;
}

void SourceRoot::watch_directories(std::size_t descriptors, const frame::Clock& clock) {
  if (others_ == OtherMounts::enter) return;  // filesystems mounted below may not report changes
  identity_ = identity_of(frame::status_of(descriptor()));
  watched_ = std::make_unique<WatchedDirectories>(
      descriptor(),
      [this](int directory, const std::string& name) {
        return frame::UniqueFd(open_beneath(directory, name, O_PATH | O_DIRECTORY));
      },
      descriptors, clock);
}

bool SourceRoot::tidy() const { return watched_ && watched_->tidy(); }

/// Returns a descriptor of the step's directory: the step's own, the one that is kept while the
/// directory is watched, or a new one. Returns null, with errno set, on failure.
frame::SharedFd SourceRoot::try_enter(SourcePath::Step& step, OneLook* within) const {
  if (step.fd) return step.fd;
  if (watched_) step.fd = watched_->directory(step.text, step.meant, within);
  if (step.fd) return step.fd;
  frame::UniqueFd fd(try_open(step.above.get(), step.rest, O_PATH | O_DIRECTORY, within));
  if (!fd || !has_expected_identity(fd.get(), step.meant)) return nullptr;
  step.fd = std::make_shared<const frame::UniqueFd>(std::move(fd));
  if (watched_ && step.meant) watched_->visited(step.text, *step.meant);
  return step.fd;
}

std::optional<NearPath> SourceRoot::try_approach(SourcePath::Step* above, const std::string& rest,
                                                 OneLook* within) const {
  NearPath near{above == nullptr ? directory_ : try_enter(*above, within), rest};
  if (!near.above) return std::nullopt;
  while (near.rest.size() > kLongestStep) {
    const std::size_t end = near.rest.rfind('/', kLongestStep);
    if (end == std::string::npos) {
      errno = ENAMETOOLONG;
      return std::nullopt;
    }
    frame::UniqueFd next(
        open_beneath(near.directory(), near.rest.substr(0, end), O_PATH | O_DIRECTORY));
    if (!next) return std::nullopt;
    near.above = std::make_shared<const frame::UniqueFd>(std::move(next));
    near.rest.erase(0, end + 1);
  }
  return near;
}

NearPath SourceRoot::approach(const SourcePath& path) const {
  auto near = try_approach(path.above_.get(), path.relative_path_, nullptr);
  if (!near) throw_errno(path.text());
  return std::move(*near);
}

int SourceRoot::try_open(SourcePath::Step* above, const std::string& rest, int flags,
                         OneLook* within) const {
  const auto near = try_approach(above, rest, within);
  return near ? open_beneath(near->directory(), near->rest, flags) : -1;
}

frame::UniqueFd SourceRoot::open(const SourcePath& path, int flags, OneLook* within) const {
  frame::UniqueFd fd(try_open(path.above_.get(), path.relative_path_, flags, within));
  if (!fd || !has_expected_identity(fd.get(), path.expected_identity_)) throw_errno(path.text());
  return fd;
}

void SourceRoot::expect_lookups(const SourcePath& directory, std::size_t count) const {
  if (!watched_ || (!directory.empty() && !directory.expected_identity_)) return;
  watched_->visited(directory.text(), directory.empty() ? identity_ : *directory.expected_identity_,
                    count);
}

void SourceRoot::drop_object(const SourcePath& directory, const std::string& name) const {
  if (watched_) watched_->drop_object(directory.text(), name);
}

void SourceRoot::require(const SourcePath& directory, OneLook* within) const {
  if (!directory.empty() && !try_enter(*directory.as_step(), within))
    throw_errno(frame::is_absence(errno_code(errno)) ? ESTALE : errno, directory.text());
}

std::optional<struct stat> SourceRoot::stat(const SourcePath& path, OneLook* within) const {
  // Opens the object first: a stat(2) by name would enter a filesystem that is mounted there.
  const auto object = find_any(path, within);
  if (!object) return std::nullopt;
  return object->stat();
}

std::optional<struct stat> SourceRoot::stat_anew(const SourcePath& path, OneLook* within) const {
  const auto object = find_any(path, within);
  if (!object) return std::nullopt;
  return object->stat_anew();
}

bool SourceRoot::is_known_absent(const SourcePath& directory, const Identity& object,
                                 const std::string& name, OneLook* within) const {
  return watched_ && watched_->directory(directory.text(), object, within) &&
         watched_->look(directory.text(), name, within).is_absent;
}

std::string SourceRoot::read_link(const SourcePath& path, OneLook* within) const {
  const frame::UniqueFd fd = open(path, O_PATH, within);
  std::array<char, PATH_MAX> text;
  const ssize_t size = ::readlinkat(fd.get(), "", text.data(), text.size());
  if (size < 0) throw_errno(path.text());
  return {text.data(), static_cast<std::size_t>(size)};
}

struct statvfs SourceRoot::stat_filesystem() const {
  struct statvfs st {};
  if (::fstatvfs(descriptor(), &st) != 0) throw_errno("");
  return st;
}

void SourceRoot::sync_all() const {
  const frame::UniqueFd root = open({}, O_RDONLY | O_DIRECTORY);
  const frame::WaitMark mark(frame::WaitReason::disk);
  if (::syncfs(root.get()) != 0) throw_errno("syncfs");
}

SourceObject SourceRoot::object(const SourcePath& path, OneLook* within) const {
  const auto object = try_find(path, path.expected_identity_, within);
  if (!object) throw_errno(path.text());
  return *object;
}

std::shared_ptr<const SourceObject> SourceRoot::find(const SourcePath& path,
                                                     OneLook* within) const {
  return found_or_throw(try_find(path, path.expected_identity_, within), path);
}

std::shared_ptr<const SourceObject> SourceRoot::find_any(
    const SourcePath& path, OneLook* within,
    const std::shared_ptr<const SourceObject>& made) const {
  return found_or_throw(try_find(path, std::nullopt, within, made), path);
}

std::shared_ptr<const SourceObject> SourceRoot::found_or_throw(
    std::shared_ptr<const SourceObject> found, const SourcePath& path) const {
  if (found || frame::is_absence(errno_code(errno))) return found;
  throw_errno(path.text());
}

bool SourceRoot::leads_to(const SourcePath& path, const Identity& object, OneLook* within) const {
  if (names_object(path, object, within)) return true;
  const auto st = stat(path, within);
  return st && identity_of(*st) == object;
}

/// True if the last component names `object`. Determines this without opening the object. Returns
/// false if that is impossible: if other mounts may be entered, or if the path has several
/// components below its last step.
bool SourceRoot::names_object(const SourcePath& path, const Identity& object,
                              OneLook* within) const {
  if (others_ == OtherMounts::enter || path.relative_path_.find('/') != std::string::npos)
    return false;
  const auto near = try_approach(path.above_.get(), path.relative_path_, within);
  struct statx st {};
  return near &&
         ::statx(near->directory(), near->rest.c_str(), AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC,
                 STATX_INO, &st) == 0 &&
         mount_in(st) == mount_ &&
         object == Identity{gnu_dev_makedev(st.stx_dev_major, st.stx_dev_minor), st.stx_ino};
}

/// Returns the object at the path; null, with errno set, if there is none or it is not `meant`.
/// Asks the watched directories first. They keep what the filesystem answers.
std::shared_ptr<const SourceObject> SourceRoot::try_find(
    const SourcePath& path, const std::optional<Identity>& meant, OneLook* within,
    const std::shared_ptr<const SourceObject>& made) const {
  if (path.empty() && !meant) return std::make_shared<const SourceObject>(directory_, path.text());
  WatchedDirectories::Known known;
  const std::string directory = path.above_ ? path.above_->text : std::string();
  const bool is_watched = watched_ && path.relative_path_.find('/') == std::string::npos &&
                          !path.relative_path_.empty() &&
                          (!path.above_ || try_enter(*path.above_, within));
  if (is_watched) known = watched_->look(directory, path.relative_path_, within);
  if (is_watched && directory.empty() && known.moment.watch == 0) watched_->visited({}, identity_);
  if (known.is_absent) {
    errno = ENOENT;
    return nullptr;
  }
  if (known.object) {
    if (!meant || identity_of(known.object->stat()) == *meant) return known.object;
    errno = ESTALE;
    return nullptr;
  }
  if (made && names_object(path, *made->made(), within)) {
    if (is_watched) watched_->found(directory, path.relative_path_, known.moment, made);
    return made;
  }
  frame::UniqueFd fd(try_open(path.above_.get(), path.relative_path_, O_PATH, within));
  const bool is_gone = !fd && errno == ENOENT;
  if (is_watched && is_gone) watched_->found(directory, path.relative_path_, known.moment, nullptr);
  if (!fd) {
    if (is_gone) errno = ENOENT;
    return nullptr;
  }
  auto object = std::make_shared<const SourceObject>(std::move(fd), path.text());
  if (is_watched) watched_->found(directory, path.relative_path_, known.moment, object);
  return has_expected_identity(object->descriptor(), meant) ? object : nullptr;
}

frame::SharedFd SourceRoot::enter(const SourcePath& directory, OneLook* within) const {
  if (directory.empty()) return directory_;
  auto fd = try_enter(*directory.as_step(), within);
  if (!fd) throw_errno(directory.text());
  return fd;
}

SourceDirectory SourceRoot::directory(const SourcePath& path, OneLook* within) const {
  return {enter(path, within), path.text()};
}

std::vector<SourceRoot::Entry> SourceRoot::list(const SourcePath& path) const {
  return list(path, [] { return true; }).value();
}

std::optional<std::vector<SourceRoot::Entry>> SourceRoot::list(
    const SourcePath& path, const OnManyEntries& on_many_entries) const {
  frame::UniqueFd fd = open(path, O_RDONLY | O_DIRECTORY);
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(fd.get()), ::closedir);
  if (!directory) throw_errno(path.text());
  fd.release();
  std::vector<Entry> entries;
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(directory.get());
    if (entry == nullptr) break;
    if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
    if (entries.size() == kManyEntries && !on_many_entries()) return std::nullopt;
    entries.push_back({entry->d_name, entry->d_type, entry->d_ino});
  }
  if (errno != 0) throw_errno(path.text());
  return entries;
}

}  // namespace bloscfs::fs
