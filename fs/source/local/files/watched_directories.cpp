#include "fs/source/local/files/watched_directories.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "frame/store/open_regular.hpp"

namespace bloscfs::fs {
namespace {

constexpr std::uint32_t kEvents = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
                                  IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
/// Events of the watched directory itself. They end the watch, or make its path wrong.
constexpr std::uint32_t kOwnEvents = IN_IGNORED | IN_UNMOUNT | IN_DELETE_SELF | IN_MOVE_SELF;

/// A directory is watched after this many visits between two ticks, which are calls of tidy().
constexpr int kVisits = 3;
/// Most directories whose visits are counted.
constexpr std::size_t kMostVisited = 1024;
/// Most names that are kept of one directory, and of all directories together.
constexpr std::size_t kMostNames = 16'384, kMostNamesOfAll = 32'768;
/// A directory is dropped after this many ticks without use.
constexpr std::uint64_t kUnusedTicks = 5;
/// Longest time between the two events of a rename, which the kernel queues one after the other.
constexpr std::chrono::milliseconds kRenameEventGap{10};

/// True for filesystems that inotify reports completely: all changes pass through this kernel, and
/// a lookup matches only the name as it is stored.
bool reports_all_changes(int directory) {
  struct statfs fs {};
  if (::fstatfs(directory, &fs) != 0) return false;
  return fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == BTRFS_SUPER_MAGIC ||
         fs.f_type == TMPFS_MAGIC;
}

std::string_view first_name(std::string_view path) { return path.substr(0, path.find('/')); }

std::string_view behind_first_name(std::string_view path) {
  const std::size_t slash = path.find('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
}

bool ignores_case(int directory) {
  unsigned flags = 0;
  // On ENOTTY the filesystem has no such flags, so it does not ignore case.
  if (::ioctl(directory, FS_IOC_GETFLAGS, &flags) != 0) return errno != ENOTTY;
  return (flags & FS_CASEFOLD_FL) != 0;
}

}  // namespace

WatchedDirectories::WatchedDirectories(int root, Open open, std::size_t descriptors,
                                       const frame::Clock& clock)
    : root_(root),
      open_(std::move(open)),
      clock_(clock),
      most_directories_(descriptors / 2),
      most_objects_(descriptors / 2) {
  if (!reports_all_changes(root)) return;
  mounts_.reset(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
  if (mounts_) events_.reset(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
}

WatchedDirectories::~WatchedDirectories() = default;

frame::SharedFd WatchedDirectories::directory(const std::string& path,
                                              const std::optional<Identity>& meant,
                                              OneLook* within) {
  if (!events_) return nullptr;
  {
    const ReadLock lock(mutex_);
    if (is_up_to_date(within)) return known_directory(path, meant);
  }
  const WriteLock lock(mutex_);
  read_events();
  return known_directory(path, meant);
}

frame::SharedFd WatchedDirectories::known_directory(const std::string& path,
                                                    const std::optional<Identity>& meant) {
  Watched* const watched = find(path);
  if (watched == nullptr || (meant && watched->identity != *meant)) return nullptr;
  watched->used.tick = tick_;
  return watched->fd;
}

void WatchedDirectories::visited(const std::string& path, const Identity& identity,
                                 std::size_t times) {
  if (!events_) return;
  const WriteLock lock(mutex_);
  const std::pair key(identity.device, identity.inode);
  if (visits_.size() >= kMostVisited && !visits_.contains(key)) return;
  int& visits = visits_[key];
  if (visits < 0) return;
  visits += static_cast<int>(std::min<std::size_t>(times, kVisits));
  if (visits < kVisits) return;
  if (!is_up_to_date(nullptr)) read_events();
  const Watched* const watched = watch(path);
  // The path leads to another directory by now, or cannot be watched. Not tried again before the
  // next tick.
  if (watched == nullptr || watched->identity != identity) visits = -1;
}

/// Returns null if the directory is not watched.
WatchedDirectories::Watched* WatchedDirectories::find(std::string_view path) {
  Watched* at = source_.get();
  while (at != nullptr && !path.empty()) {
    const auto next = at->below.find(first_name(path));
    at = next == at->below.end() ? nullptr : next->second.get();
    path = behind_first_name(path);
  }
  return at;
}

/// Starts to watch the directory and all directories above it. Returns null if that fails.
WatchedDirectories::Watched* WatchedDirectories::watch(std::string_view path) {
  Watched* at = source_ ? source_.get() : watch_below(nullptr, {});
  while (at != nullptr && !path.empty()) {
    const std::string_view name = first_name(path);
    const auto next = at->below.find(name);
    at = next == at->below.end() ? watch_below(at, std::string(name)) : next->second.get();
    path = behind_first_name(path);
  }
  return at;
}

WatchedDirectories::Watched* WatchedDirectories::watch_below(Watched* above,
                                                             const std::string& name) {
  if (by_descriptor_.size() >= most_directories_) return nullptr;
  auto fd = std::make_shared<const frame::UniqueFd>(
      above == nullptr ? frame::UniqueFd(::fcntl(root_, F_DUPFD_CLOEXEC, 0))
                       : open_(above->fd->get(), name));
  struct stat st {};
  if (!*fd || ::fstat(fd->get(), &st) != 0) return nullptr;
  // The watch starts before the names are read. A change between these two steps is in the names
  // already, and its event is applied to them later, which does no harm. inotify returns the same
  // descriptor again for a directory that is already watched under another path.
  const int descriptor =
      ::inotify_add_watch(events_.get(), frame::descriptor_path(fd->get()).c_str(), kEvents);
  if (descriptor < 0 || by_descriptor_.contains(descriptor)) return nullptr;
  auto watched = std::make_unique<Watched>(Watched{above,
                                                   name,
                                                   {},
                                                   fd,
                                                   identity_of(st),
                                                   descriptor,
                                                   ++last_watch_,
                                                   0,
                                                   names_of(*fd),
                                                   Used(tick_)});
  if (watched->names) names_count_ += watched->names->size();
  by_descriptor_.emplace(descriptor, watched.get());
  auto& place = above == nullptr ? source_ : above->below[name];
  place = std::move(watched);
  return place.get();
}

/// Returns the names in a directory; nullopt if they are too many, or cannot be relied on.
std::optional<WatchedDirectories::Names> WatchedDirectories::names_of(
    const frame::UniqueFd& directory) {
  frame::UniqueFd fd(
      frame::open_noatime(frame::descriptor_path(directory.get()), O_RDONLY | O_DIRECTORY));
  if (!fd || ignores_case(fd.get())) return std::nullopt;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(fd.get()), ::closedir);
  if (!entries) return std::nullopt;
  fd.release();
  Names names;
  errno = 0;
  while (const dirent* entry = ::readdir(entries.get())) {
    names.emplace(entry->d_name, nullptr);
    if (names.size() > kMostNames || names_count_ + names.size() > kMostNamesOfAll)
      return std::nullopt;
  }
  return errno == 0 ? std::optional(std::move(names)) : std::nullopt;
}

WatchedDirectories::Known WatchedDirectories::look(const std::string& directory,
                                                   const std::string& name, OneLook* within) {
  if (!events_) return {};
  {
    const ReadLock lock(mutex_);
    if (is_up_to_date(within)) return known(directory, name);
  }
  const WriteLock lock(mutex_);
  read_events();
  return known(directory, name);
}

WatchedDirectories::Known WatchedDirectories::known(const std::string& directory,
                                                    const std::string& name) {
  Watched* const watched = find(directory);
  if (watched == nullptr) return {};
  watched->used.tick = tick_;
  Known known{false, nullptr, {watched->watch, watched->changes}};
  if (!watched->names) return known;
  const auto there = watched->names->find(name);
  if (there == watched->names->end()) {
    known.is_absent = absence_unknown_until_ == frame::Clock::TimePoint() ||
                      clock_.now() >= absence_unknown_until_;
    return known;
  }
  const MutexLock lock(kept_mutex_);
  known.object = there->second;
  return known;
}

void WatchedDirectories::found(const std::string& directory, const std::string& name,
                               const DirectoryVersion& moment,
                               std::shared_ptr<const SourceObject> object) {
  if (!events_ || moment.watch == 0) return;
  if (!object) {
    const WriteLock lock(mutex_);
    return note_absent(directory, name, moment);
  }
  std::shared_ptr<const SourceObject> oldest;  // closed after the locks are released
  const ReadLock lock(mutex_);
  Watched* const watched = find(directory);
  // If the directory has changed since look(), the object may no longer have the name.
  if (watched == nullptr || watched->watch != moment.watch || watched->changes != moment.changes ||
      !watched->names)
    return;
  const auto there = watched->names->find(name);
  if (there == watched->names->end()) return;
  std::optional<Kept> first;
  {
    const MutexLock kept_lock(kept_mutex_);
    if (kept_.size() >= most_objects_) {
      if (kept_.empty()) return;
      first = std::move(kept_.front());
      kept_.pop_front();
    }
    there->second.swap(object);  // the previous object is closed after the locks are released
    kept_.push_back({{watched->descriptor, watched->watch, name}, tick_});
  }
  if (first) oldest = take_object(first->place);
}

/// Removes a name that is gone from the filesystem before its event has arrived. The event may be
/// half of a rename, whose new name is not known yet. So for a moment no name counts as absent.
void WatchedDirectories::note_absent(const std::string& directory, const std::string& name,
                                     const DirectoryVersion& moment) {
  Watched* const watched = find(directory);
  if (watched == nullptr || watched->watch != moment.watch || !watched->names) return;
  const auto there = watched->names->find(name);
  if (there == watched->names->end()) return;
  absence_unknown_until_ = clock_.now() + kRenameEventGap;
  if (watched->changes != moment.changes) return;  // the name may have come back
  names_count_--;
  watched->names->erase(there);
}

void WatchedDirectories::drop_object(const std::string& directory, const std::string& name) {
  if (!events_) return;
  std::shared_ptr<const SourceObject> object;  // closed after the lock is released
  const ReadLock lock(mutex_);
  object = take_object(find(directory), name);
}

/// Takes the object that is kept for a name; null if none is kept. The name itself stays: only the
/// kernel's events report that it is gone.
std::shared_ptr<const SourceObject> WatchedDirectories::take_object(Watched* directory,
                                                                    const std::string& name) {
  if (directory == nullptr || !directory->names) return nullptr;
  const auto there = directory->names->find(name);
  if (there == directory->names->end()) return nullptr;
  const MutexLock lock(kept_mutex_);
  return std::exchange(there->second, nullptr);
}

std::shared_ptr<const SourceObject> WatchedDirectories::take_object(const Place& place) {
  const auto at = by_descriptor_.find(place.descriptor);
  if (at == by_descriptor_.end() || at->second->watch != place.watch) return nullptr;
  return take_object(at->second, place.name);
}

/// Closes the objects that were found two or more ticks ago.
void WatchedDirectories::drop_unused_objects() {
  std::vector<Kept> unused;
  {
    const MutexLock lock(kept_mutex_);
    for (; !kept_.empty() && kept_.front().tick + 1 < tick_; kept_.pop_front())
      unused.push_back(std::move(kept_.front()));
  }
  for (const Kept& kept : unused) take_object(kept.place);
}

bool WatchedDirectories::is_up_to_date(OneLook* within) {
  if (!source_ || (within != nullptr && !within->must_ask())) return true;
  // Only asks whether events are queued. To apply them, the caller needs the exclusive lock. If
  // another thread reads them first, that thread has applied them before it releases the lock.
  pollfd events{events_.get(), POLLIN, 0};
  return ::poll(&events, 1, 0) == 0;
}

void WatchedDirectories::read_events() {
  constexpr std::size_t kLargest = sizeof(inotify_event) + NAME_MAX + 1;
  alignas(inotify_event) std::array<char, 16 << 10> events;
  for (;;) {
    const ssize_t got = ::read(events_.get(), events.data(), events.size());
    if (got <= 0) return;
    for (ssize_t at = 0; at < got;) {
      const auto& event = *reinterpret_cast<const inotify_event*>(events.data() + at);
      apply(event);
      at += static_cast<ssize_t>(sizeof event + event.len);
    }
    if (static_cast<std::size_t>(got) + kLargest <= events.size()) return;  // no more events
  }
}

void WatchedDirectories::apply(const inotify_event& event) {
  if ((event.mask & IN_Q_OVERFLOW) != 0) return forget(source_.get());
  const auto at = by_descriptor_.find(event.wd);
  if (at == by_descriptor_.end()) return;
  Watched& watched = *at->second;
  if ((event.mask & kOwnEvents) != 0) {
    // A rename of SOURCE itself changes nothing, since paths are relative to SOURCE.
    if (watched.above != nullptr || (event.mask & IN_MOVE_SELF) == 0) forget(&watched);
    return;
  }
  if (event.len == 0) return;
  const std::string name = event.name;
  const Place place{watched.descriptor, watched.watch, name};
  watched.changes++;
  const bool comes = (event.mask & (IN_CREATE | IN_MOVED_TO)) != 0;
  if (watched.names) {
    Names& names = *watched.names;
    // The kernel reports an exchange of two names as two renames. The IN_MOVED_FROM of the second
    // rename has the name that the first rename's IN_MOVED_TO has brought. After an exchange that
    // name still exists. After two real renames it does not, which the next lookup finds out.
    const bool may_stay = (event.mask & IN_MOVED_FROM) != 0 && last_arrival_ == place;
    if (comes || may_stay) {
      const auto [there, is_new] = names.insert_or_assign(name, nullptr);
      if (is_new) names_count_++;
    } else {
      names_count_ -= names.erase(name);
    }
    // Bounds the memory: other programs decide how many files SOURCE has.
    if (names.size() > kMostNames || names_count_ > kMostNamesOfAll) {
      names_count_ -= names.size();
      watched.names.reset();
    }
  }
  last_arrival_ = (event.mask & IN_MOVED_TO) != 0 ? place : Place();
  if ((event.mask & IN_MOVED_FROM) != 0)
    absence_unknown_until_ = clock_.now() + kRenameEventGap;
  else if ((event.mask & IN_MOVED_TO) != 0)
    absence_unknown_until_ = {};
  if ((event.mask & IN_ISDIR) == 0) return;
  // The directory that was watched under this name has another path now, or is gone.
  if (const auto child = watched.below.find(name); child != watched.below.end())
    forget(child->second.get());
}

/// Returns the directory `top` and all watched directories below it, each before the directory
/// above it. Iterative, since directories may be nested deeply.
std::vector<WatchedDirectories::Watched*> WatchedDirectories::all_of(Watched* top) {
  std::vector<Watched*> all;
  if (top != nullptr) all.push_back(top);
  for (std::size_t i = 0; i < all.size(); i++)
    for (const auto& [name, watched] : all[i]->below) all.push_back(watched.get());
  std::reverse(all.begin(), all.end());
  return all;
}

/// Stops watching a directory. Directories below it must have been dropped before.
void WatchedDirectories::drop(Watched* watched) {
  if (watched->names) names_count_ -= watched->names->size();
  by_descriptor_.erase(watched->descriptor);
  ::inotify_rm_watch(events_.get(), watched->descriptor);
  if (watched->above == nullptr)
    source_.reset();
  else
    watched->above->below.erase(watched->above->below.find(watched->name));
}

/// Stops watching a directory and all directories below it.
void WatchedDirectories::forget(Watched* top) {
  for (Watched* const watched : all_of(top)) drop(watched);
}

bool WatchedDirectories::tidy() {
  if (!events_) return false;
  const WriteLock lock(mutex_);
  visits_.clear();
  if (!source_) return false;
  read_events();
  // If any mount has changed, a new one may cover a watched directory.
  pollfd mounts{mounts_.get(), POLLPRI, 0};
  if (::poll(&mounts, 1, 0) != 0) forget(source_.get());
  tick_++;
  drop_unused_objects();
  for (Watched* const watched : all_of(source_.get())) {
    if (watched->used.tick + kUnusedTicks < tick_) {
      drop(watched);
    } else if (Watched* const above = watched->above) {
      // A use of a directory counts as a use of those above it.
      above->used.tick = std::max(above->used.tick.load(), watched->used.tick.load());
    }
  }
  return source_ != nullptr;
}

}  // namespace bloscfs::fs
