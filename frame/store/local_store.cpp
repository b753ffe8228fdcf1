#include "frame/store/local_store.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <limits>
#include <memory>

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "frame/store/ofd_lock.hpp"
#include "frame/store/open_regular.hpp"
#include "frame/store/refusal.hpp"
#include "frame/store/temporary_name.hpp"
#include "frame/store/throw_errno.hpp"
#include "frame/store/wait_context.hpp"

namespace bloscfs::frame::inline store {
namespace {

/// From this number of files on, one flush of the whole filesystem is cheaper than one flush per
/// file.
constexpr std::size_t kSharedFlush = 8;
constexpr mode_t kPrivileges = S_ISUID | S_ISGID;
constexpr const char* kAccessList = "system.posix_acl_access";

/// O_NONBLOCK keeps open(2) of a FIFO from blocking. A directory may contain any kind of file.
constexpr int kOpenFlags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

void check(int result, const std::string& what) {
  if (result != 0) throw_errno(what);
}

off_t checked_offset(std::uint64_t offset) {
  if (offset > static_cast<std::uint64_t>(std::numeric_limits<off_t>::max()))
    throw_errno(EFBIG, "file offset");
  return static_cast<off_t>(offset);
}

std::vector<std::string> extended_names(int fd) {
  const ssize_t size = ::flistxattr(fd, nullptr, 0);
  if (size <= 0) return {};
  std::string list(static_cast<std::size_t>(size), '\0');
  const ssize_t got = ::flistxattr(fd, list.data(), list.size());
  if (got < 0) throw_errno("flistxattr");
  list.resize(static_cast<std::size_t>(got));
  std::vector<std::string> names;
  for (std::size_t at = 0; at < list.size(); at += names.back().size() + 1)
    names.emplace_back(list.c_str() + at);
  return names;
}

/// Returns the mode for a file whose group could not be set: its group gets the permissions of
/// others. An access control list would grant the file's actual group the rights meant for the
/// wanted group, so the caller removes the list. The list may have denied rights to some users, so
/// then neither group nor others get any permission.
mode_t for_another_group(mode_t mode, const std::vector<FileAttributes::Extended>& attributes) {
  const bool has_list =
      std::any_of(attributes.begin(), attributes.end(),
                  [](const auto& attribute) { return attribute.name == kAccessList; });
  if (has_list) return mode & ~mode_t{S_IRWXG | S_IRWXO};
  return (mode & ~mode_t{S_IRWXG}) | ((mode & S_IRWXO) << 3);
}

/// True if `error`, an errno, says that the filesystem has no such extended attributes, or that
/// this process may not access them.
bool has_no_attributes(int error) { return error == ENOTSUP || is_denial(errno_code(error)); }

/// A new, empty file, which sync_name() makes in a directory on FUSE. The destructor removes it.
class Marker {
 public:
  explicit Marker(int directory)
      : directory_(directory),
        fd_(::openat(directory, name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | kOpenFlags, 0600)) {}
  ~Marker() {
    if (fd_) ::unlinkat(directory_, name_.c_str(), 0);
  }
  Marker(const Marker&) = delete;
  Marker& operator=(const Marker&) = delete;
  const UniqueFd& fd() const { return fd_; }

 private:
  const int directory_;
  const std::string name_ = temporary_name();
  const UniqueFd fd_;
};

class LocalFile final : public StoreFile, public std::enable_shared_from_this<LocalFile> {
 public:
  template <typename Descriptor>
  LocalFile(Descriptor fd, SourceCounters* counters, Syncing syncing)
      : source_(std::move(fd), counters), syncing_(syncing) {}

  std::size_t read_at(std::uint64_t offset, MutableBytes out) const override {
    return source_.read_at(offset, out);
  }
  FileStamp stamp() const override { return source_.stamp(); }
  std::optional<FileReaders> readers() const override { return source_.readers(); }

  void write_at(std::uint64_t offset, Bytes bytes) override {
    while (!bytes.empty()) {
      const ssize_t put = ::pwrite(fd(), bytes.data(), bytes.size(), checked_offset(offset));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) throw_errno("pwrite");
      offset += static_cast<std::uint64_t>(put);
      bytes = bytes.subspan(static_cast<std::size_t>(put));
    }
  }

  void truncate(std::uint64_t size) override {
    check(::ftruncate(fd(), checked_offset(size)), "ftruncate");
  }

  void punch(std::uint64_t offset, std::uint64_t size) override {
    const int result = ::fallocate(fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                   checked_offset(offset), checked_offset(size));
    if (result != 0 && errno != EOPNOTSUPP && errno != ENOSYS) throw_errno("fallocate");
  }

  void begin_sync() override {
    if (syncing_ == Syncing::at_once) ::sync_file_range(fd(), 0, 0, SYNC_FILE_RANGE_WRITE);
  }

  void sync() override {
    if (syncing_ != Syncing::at_once) return;
    const WaitMark mark(WaitReason::disk);
    check(::fdatasync(fd()), "fdatasync");
  }

  std::uint64_t link_count() const override { return status_of(fd()).st_nlink; }

  FileAttributes attributes() const override {
    const struct stat st = status_of(fd());
    FileAttributes result{st.st_uid,  st.st_gid,  st.st_mode & mode_t{07777},
                          st.st_atim, st.st_mtim, {}};
    for (const std::string& name : extended_names(fd())) {
      std::vector<std::uint8_t> value(std::size_t{64} << 10);  // the kernel's limit
      const ssize_t size = ::fgetxattr(fd(), name.c_str(), value.data(), value.size());
      if (size < 0 && has_no_attributes(errno)) continue;
      if (size < 0) throw_errno("fgetxattr " + name);
      value.resize(static_cast<std::size_t>(size));
      result.extended.push_back({name, std::move(value)});
    }
    return result;
  }

  void set_attributes(const FileAttributes& wanted) override {
    set_owner(wanted.owner, wanted.group);
    const struct stat now = status_of(fd());
    const bool has_group = now.st_gid == wanted.group;
    const bool has_wanted_owner = now.st_uid == wanted.owner && has_group;
    // Set-user-ID and set-group-ID act for the file's owner and group. Drop both bits if either
    // could not be set.
    mode_t mode = has_wanted_owner ? wanted.mode : wanted.mode & ~kPrivileges;
    if (!has_group) mode = for_another_group(mode, wanted.extended);
    if (::fchmod(fd(), mode) != 0) {
      // The process may lack permission for these two bits only.
      if (errno != EPERM || (mode & kPrivileges) == 0) throw_errno("fchmod");
      check(::fchmod(fd(), mode & ~kPrivileges), "fchmod");
    }
    const auto is_kept = [&](const std::string& name) { return has_group || name != kAccessList; };
    for (const std::string& name : extended_names(fd())) {
      const bool stays = is_kept(name) &&
                         std::any_of(wanted.extended.begin(), wanted.extended.end(),
                                     [&](const auto& attribute) { return attribute.name == name; });
      // Ignore errors: an attribute that cannot be removed was set by the system.
      if (!stays) ::fremovexattr(fd(), name.c_str());
    }
    for (const FileAttributes::Extended& attribute : wanted.extended) {
      if (!is_kept(attribute.name)) continue;
      const int result = ::fsetxattr(fd(), attribute.name.c_str(), attribute.value.data(),
                                     attribute.value.size(), 0);
      if (result != 0 && !has_no_attributes(errno)) throw_errno("fsetxattr " + attribute.name);
    }
    set_times(wanted.accessed, wanted.modified);
  }

  void set_times(const timespec& accessed, const timespec& modified) override {
    const timespec times[2] = {accessed, modified};
    if (::futimens(fd(), times) == 0) return;
    // A filesystem that looks up files by name reports ENOENT for a removed file. The times of a
    // removed file are visible to no other program.
    if (errno != ENOENT) throw_errno("futimens");
  }

  std::shared_ptr<void> lock() override {
    // Our own locks are write locks. Do not wait for a read lock: a user who may only read a file
    // must not keep others from writing to it.
    auto state = OfdLock::held;
    lock_until(LockTimeout::end_of(kLockTimeout), "another program's lock", [&] {
      state = try_ofd_lock(fd(), OfdLocked::frame);
      return state != OfdLock::held;
    });
    if (state != OfdLock::taken) return nullptr;
    return {this,
            [file = shared_from_this()](void*) { release_ofd_lock(file->fd(), OfdLocked::frame); }};
  }

  bool is_sole_user() const override {
    // If a program opens the file during the lease, the kernel sends a signal, which kills this
    // process by default. SIGURG is ignored unless handled. The kernel forgets F_SETSIG with each
    // lease.
    if (::fcntl(fd(), F_SETSIG, SIGURG) != 0) return false;
    // The kernel grants the lease only if no other open file description of the file exists.
    if (::fcntl(fd(), F_SETLEASE, F_WRLCK) != 0) return false;
    ::fcntl(fd(), F_SETLEASE, F_UNLCK);
    return true;
  }

  std::chrono::nanoseconds time_since_change(
      std::chrono::system_clock::time_point time) const override {
    // The change time is the only one that programs cannot set.
    const struct timespec changed = status_of(fd()).st_ctim;
    const auto then =
        std::chrono::seconds(changed.tv_sec) + std::chrono::nanoseconds(changed.tv_nsec);
    const std::chrono::nanoseconds now = time.time_since_epoch();
    return std::max(now - then, std::chrono::nanoseconds(0));
  }

 private:
  int fd() const { return source_.fd(); }

  /// Sets only the group if this process may not change the owner.
  void set_owner(uid_t owner, gid_t group) const {
    if (::fchown(fd(), owner, group) == 0) return;
    if (errno == EPERM && ::fchown(fd(), static_cast<uid_t>(-1), group) == 0) return;
    if (errno != EPERM) throw_errno("fchown");
  }

  FileSource source_;
  Syncing syncing_;
};

class LocalDirectory final : public StoreDirectory {
 public:
  LocalDirectory(SharedFd fd, SourceCounters* counters, Syncing syncing)
      : fd_(std::move(fd)), counters_(counters), syncing_(syncing) {}

  std::shared_ptr<StoreFile> open(const std::string& name) override {
    UniqueFd file = open_regular_at(fd(), name, O_RDWR);
    if (!file) throw_errno(stamp(name) ? EINVAL : ENOENT, name);
    return std::make_shared<LocalFile>(std::move(file), counters_, syncing_);
  }

  std::shared_ptr<const ByteSource> open_source(const std::string& name) const override {
    UniqueFd file = open_regular_at(fd(), name, O_RDONLY);
    if (!file) return nullptr;
    return std::make_shared<FileSource>(std::move(file), counters_);
  }

  std::shared_ptr<StoreFile> create(const std::string& name, mode_t mode) override {
    UniqueFd file(
        ::openat(fd(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOATIME | kOpenFlags, mode));
    if (!file) throw_errno(name);
    return std::make_shared<LocalFile>(std::move(file), counters_, syncing_);
  }

  void rename(const std::string& from, const std::string& to, RenameMode mode) override {
    const unsigned flags = mode == RenameMode::no_replace ? RENAME_NOREPLACE
                           : mode == RenameMode::exchange ? RENAME_EXCHANGE
                                                          : 0;
    if (::renameat2(fd(), from.c_str(), fd(), to.c_str(), flags) == 0) return;
    if (errno != EINVAL || mode != RenameMode::no_replace) throw_errno(from + " to " + to);
    rename_by_link(from, to);
  }

  void unlink(const std::string& name) override { check(::unlinkat(fd(), name.c_str(), 0), name); }

  void make_directory(const std::string& name, mode_t mode) override {
    check(::mkdirat(fd(), name.c_str(), mode), name);
  }

  std::shared_ptr<StoreDirectory> open_directory(const std::string& name) override {
    UniqueFd opened(::openat(fd(), name.c_str(), O_RDONLY | O_DIRECTORY | kOpenFlags));
    if (!opened) throw_errno(name);
    return make_local_store(std::move(opened), counters_, syncing_);
  }

  std::optional<FileStamp> stamp(const std::string& name) const override {
    struct stat st {};
    if (::fstatat(fd(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) return stamp_of(st);
    if (errno == ENOENT) return std::nullopt;
    throw_errno(name);
  }

  /// For filesystems without RENAME_NOREPLACE, such as some FUSE filesystems. Links the new name
  /// and removes the old one. A directory cannot be linked, so it is renamed after a check that the
  /// new name is free.
  void rename_by_link(const std::string& from, const std::string& to) {
    if (::linkat(fd(), from.c_str(), fd(), to.c_str(), 0) == 0) return unlink(from);
    if (errno == EEXIST || stamp(to)) {
      errno = EEXIST;
      throw_errno(from + " to " + to);
    }
    check(::renameat(fd(), from.c_str(), fd(), to.c_str()), from + " to " + to);
  }

  std::vector<std::string> names() const override {
    UniqueFd opened = open_itself();
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(opened.get()), &::closedir);
    if (!stream) throw_errno("fdopendir");
    opened.release();
    std::vector<std::string> result;
    for (errno = 0; const dirent* entry = ::readdir(stream.get()); errno = 0)
      result.emplace_back(entry->d_name);
    if (errno != 0) throw_errno("readdir");
    return result;
  }

  void sync() override {
    if (syncing_ != Syncing::at_once) return;
    const WaitMark mark(WaitReason::disk);
    check(::fsync(open_itself().get()), "fsync directory");
  }
  void sync_name(const std::string& name) override {
    sync();
    struct statfs fs {};
    if (syncing_ != Syncing::at_once || ::fstatfs(fd(), &fs) != 0 || fs.f_type != FUSE_SUPER_MAGIC)
      return;
    const WaitMark mark(WaitReason::disk);
    // On FUSE, fsync(2) of the directory may do nothing. Flush a file, too (see
    // StoreDirectory::sync_name()).
    const UniqueFd named(::openat(fd(), name.c_str(), O_RDONLY | kOpenFlags));
    if (!named) {
      if (is_refusal(errno_code(errno))) return;
      throw_errno(name);
    }
    if (!S_ISDIR(status_of(named.get()).st_mode)) return check(::fsync(named.get()), name);
    const Marker marker(named.get());
    check(marker.fd() ? ::fsync(marker.fd().get()) : -1, name);
  }
  void sync_files(std::span<const std::shared_ptr<StoreFile>> files) override {
    // One syncfs(2) covers all these files, because they are in the directory's filesystem.
    if (syncing_ != Syncing::at_once || files.size() < kSharedFlush)
      return StoreDirectory::sync_files(files);
    const WaitMark mark(WaitReason::disk);
    check(::syncfs(open_itself().get()), "syncfs");
  }
  int descriptor() const override { return fd(); }

 private:
  int fd() const { return fd_->get(); }

  /// Opens a file description that is not shared: it has its own position, and unlike O_PATH it can
  /// be flushed.
  UniqueFd open_itself() const {
    UniqueFd opened(::openat(fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!opened) throw_errno("open directory");
    return opened;
  }

  SharedFd fd_;
  SourceCounters* counters_;
  Syncing syncing_;
};

}  // namespace

std::shared_ptr<StoreDirectory> make_local_store(UniqueFd directory, SourceCounters* counters,
                                                 Syncing syncing) {
  return make_local_store(std::make_shared<const UniqueFd>(std::move(directory)), counters,
                          syncing);
}

std::shared_ptr<StoreDirectory> make_local_store(SharedFd directory, SourceCounters* counters,
                                                 Syncing syncing) {
  return std::make_shared<LocalDirectory>(std::move(directory), counters, syncing);
}

std::shared_ptr<StoreFile> make_local_file(UniqueFd file) {
  return make_local_file(std::make_shared<const UniqueFd>(std::move(file)));
}

std::shared_ptr<StoreFile> make_local_file(SharedFd file) {
  return std::make_shared<LocalFile>(std::move(file), nullptr, Syncing::at_once);
}

}  // namespace bloscfs::frame::inline store
