#include "fs/source/watched_directories.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
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
#include "fs/support/one_look.hpp"
#include "fs/support/relative_path.hpp"

namespace bloscfs::fs {
namespace {

constexpr std::uint32_t kEvents = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
                                  IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
/// What ends a watch, or the truth of its path.
constexpr std::uint32_t kOwnEvents = IN_IGNORED | IN_UNMOUNT | IN_DELETE_SELF | IN_MOVE_SELF;

/// Questions within a second from which on a directory is watched.
constexpr int kVisits = 3;
constexpr std::size_t kMostVisited = 1024;
/// Of a path, and of those of all directories that are watched.
constexpr std::size_t kLongestPath = PATH_MAX, kMostPathBytes = std::size_t{2} << 20;
/// Names of one directory, and of all.
constexpr std::size_t kMostNames = 16'384, kMostNamesOfAll = 32'768;
/// Ticks for which a directory is watched that nobody asks for.
constexpr std::uint64_t kUnusedTicks = 5;
/// The halves of a rename are told one right after the other.
constexpr std::chrono::milliseconds kBetweenHalves{10};

/// Filesystems whose changes are all made through this kernel, by names that are what they are.
bool tells_changes(int directory) {
  struct statfs fs {};
  if (::fstatfs(directory, &fs) != 0) return false;
  return fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == BTRFS_SUPER_MAGIC ||
         fs.f_type == TMPFS_MAGIC;
}

bool ignores_case(int directory) {
  unsigned flags = 0;
  // A filesystem without flags has none for this, either.
  if (::ioctl(directory, FS_IOC_GETFLAGS, &flags) != 0) return errno != ENOTTY;
  return (flags & FS_CASEFOLD_FL) != 0;
}

}  // namespace

WatchedDirectories::WatchedDirectories(int root, Open open, std::size_t descriptors)
    : root_(root),
      open_(std::move(open)),
      most_directories_(descriptors / 2),
      most_objects_(descriptors / 2) {
  if (!tells_changes(root)) return;
  mounts_.reset(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
  if (mounts_) events_.reset(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
}

WatchedDirectories::~WatchedDirectories() = default;

frame::SharedFd WatchedDirectories::directory(const std::string& path,
                                              const std::optional<Identity>& meant) {
  if (!events_) return nullptr;
  {
    const ReadLock lock(mutex_);
    if (is_up_to_date()) return known_directory(path, meant);
  }
  const WriteLock lock(mutex_);
  read_events();
  return known_directory(path, meant);
}

frame::SharedFd WatchedDirectories::known_directory(const std::string& path,
                                                    const std::optional<Identity>& meant) {
  const auto at = directories_.find(path);
  if (at == directories_.end() || (meant && at->second.identity != *meant)) return nullptr;
  at->second.used.tick = tick_;
  return at->second.fd;
}

void WatchedDirectories::visited(const std::string& path, const Identity& identity,
                                 std::size_t times) {
  if (!events_ || path.size() > kLongestPath) return;
  const WriteLock lock(mutex_);
  if (visits_.size() >= kMostVisited && !visits_.contains(path)) return;
  int& visits = visits_[path];
  if (visits < 0) return;
  visits += static_cast<int>(std::min<std::size_t>(times, kVisits));
  if (visits < kVisits) return;
  if (!is_up_to_date()) read_events();
  const Watched* const watched = watch(path);
  // Somebody else's directory, or none that can be watched: not again before the next tick.
  if (watched == nullptr || watched->identity != identity) visits = -1;
}

WatchedDirectories::Watched* WatchedDirectories::watch(const std::string& path) {
  if (const auto known = directories_.find(path); known != directories_.end())
    return &known->second;
  if (directories_.size() >= most_directories_ || path.size() > kLongestPath ||
      path_bytes_ + path.size() > kMostPathBytes)
    return nullptr;
  frame::SharedFd fd;
  if (path.empty()) {
    fd = std::make_shared<const frame::UniqueFd>(::fcntl(root_, F_DUPFD_CLOEXEC, 0));
  } else {
    const Watched* const above = watch(parent_of(path));
    if (above == nullptr) return nullptr;
    fd = std::make_shared<const frame::UniqueFd>(open_(above->fd->get(), name_of(path)));
  }
  struct stat st {};
  if (!*fd || ::fstat(fd->get(), &st) != 0) return nullptr;
  // The watch comes before the names are read: what changes meanwhile is told, and done once more.
  const int descriptor =
      ::inotify_add_watch(events_.get(), frame::descriptor_path(fd->get()).c_str(), kEvents);
  if (descriptor < 0 || by_descriptor_.contains(descriptor)) return nullptr;
  Watched watched{std::make_shared<const std::string>(path),
                  fd,
                  identity_of(st),
                  descriptor,
                  ++last_watch_,
                  0,
                  names_of(*fd),
                  Used(tick_)};
  if (watched.names) names_count_ += watched.names->size();
  path_bytes_ += path.size();
  const auto at = directories_.emplace(path, std::move(watched)).first;
  by_descriptor_.emplace(descriptor, at);
  return &at->second;
}

std::optional<WatchedDirectories::Names> WatchedDirectories::names_of(
    const frame::UniqueFd& directory) {
  frame::UniqueFd fd(
      frame::open_quietly(frame::descriptor_path(directory.get()), O_RDONLY | O_DIRECTORY));
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
                                                   const std::string& name) {
  if (!events_) return {};
  {
    const ReadLock lock(mutex_);
    if (is_up_to_date()) return known(directory, name);
  }
  const WriteLock lock(mutex_);
  read_events();
  return known(directory, name);
}

WatchedDirectories::Known WatchedDirectories::known(const std::string& directory,
                                                    const std::string& name) {
  const auto at = directories_.find(directory);
  if (at == directories_.end()) return {};
  Watched& watched = at->second;
  watched.used.tick = tick_;
  Known known{false, nullptr, {watched.watch, watched.changes}};
  if (!watched.names) return known;
  const auto there = watched.names->find(name);
  if (there == watched.names->end()) {
    known.is_absent = unsure_until_ == Clock::time_point() || Clock::now() >= unsure_until_;
    return known;
  }
  const MutexLock lock(kept_mutex_);
  known.object = there->second;
  return known;
}

void WatchedDirectories::found(const std::string& directory, const std::string& name,
                               const Moment& moment, std::shared_ptr<const SourceObject> object) {
  if (!events_ || moment.watch == 0) return;
  if (!object) {
    const WriteLock lock(mutex_);
    return note_absent(directory, name, moment);
  }
  std::shared_ptr<const SourceObject> oldest;  // closed behind the locks
  const ReadLock lock(mutex_);
  const auto at = directories_.find(directory);
  if (at == directories_.end() || at->second.watch != moment.watch ||
      at->second.changes != moment.changes || !at->second.names)
    return;
  const auto there = at->second.names->find(name);
  if (there == at->second.names->end()) return;
  std::optional<Kept> first;
  {
    const MutexLock kept_lock(kept_mutex_);
    if (kept_.size() >= most_objects_) {
      if (kept_.empty()) return;
      first = std::move(kept_.front());
      kept_.pop_front();
    }
    there->second.swap(object);  // what was there is closed behind the locks
    kept_.push_back({at->second.path, name, tick_});
  }
  if (first) oldest = take_object(*first->directory, first->name);
}

/// It is gone, and what became of it is not told yet.
void WatchedDirectories::note_absent(const std::string& directory, const std::string& name,
                                     const Moment& moment) {
  const auto at = directories_.find(directory);
  if (at == directories_.end() || at->second.watch != moment.watch || !at->second.names) return;
  const auto there = at->second.names->find(name);
  if (there == at->second.names->end()) return;
  unsure_until_ = Clock::now() + kBetweenHalves;
  if (at->second.changes != moment.changes) return;
  names_count_--;
  at->second.names->erase(there);
}

void WatchedDirectories::let_go(const std::string& directory, const std::string& name) {
  if (!events_) return;
  std::shared_ptr<const SourceObject> object;  // closed behind the lock
  const ReadLock lock(mutex_);
  object = take_object(directory, name);
}

/// The name stays: what became of it only the kernel tells.
std::shared_ptr<const SourceObject> WatchedDirectories::take_object(const std::string& directory,
                                                                    const std::string& name) {
  const auto at = directories_.find(directory);
  if (at == directories_.end() || !at->second.names) return nullptr;
  const auto there = at->second.names->find(name);
  if (there == at->second.names->end()) return nullptr;
  const MutexLock lock(kept_mutex_);
  return std::exchange(there->second, nullptr);
}

void WatchedDirectories::let_go_of_unused() {
  std::vector<Kept> unused;
  {
    const MutexLock lock(kept_mutex_);
    for (; !kept_.empty() && kept_.front().tick + 1 < tick_; kept_.pop_front())
      unused.push_back(std::move(kept_.front()));
  }
  for (const Kept& kept : unused) take_object(*kept.directory, kept.name);
}

bool WatchedDirectories::is_up_to_date() {
  if (directories_.empty() || !OneLook::must_ask(this)) return true;
  // Asked with the lock shared, and read with it held alone: what is not there any more is applied.
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
    if (static_cast<std::size_t>(got) + kLargest <= events.size()) return;  // that was all
  }
}

void WatchedDirectories::apply(const inotify_event& event) {
  if ((event.mask & IN_Q_OVERFLOW) != 0) return forget({});
  const auto at = by_descriptor_.find(event.wd);
  if (at == by_descriptor_.end()) return;
  const std::string directory = at->second->first;
  if ((event.mask & kOwnEvents) != 0) {
    // SOURCE stays what it is wherever it is moved to.
    if (!directory.empty() || (event.mask & IN_MOVE_SELF) == 0) forget(directory);
    return;
  }
  if (event.len == 0) return;
  const std::string name = event.name;
  const std::string path = join_path(directory, name);
  Watched& watched = at->second->second;
  watched.changes++;
  const bool comes = (event.mask & (IN_CREATE | IN_MOVED_TO)) != 0;
  if (watched.names) {
    Names& names = *watched.names;
    // Two names are exchanged by two renames, of which the second takes away what the first one
    // brought: then it is still there, or whoever looks finds that it is not.
    const bool may_stay = (event.mask & IN_MOVED_FROM) != 0 && last_arrival_ == path;
    if (comes || may_stay) {
      const auto [there, is_new] = names.insert_or_assign(name, nullptr);
      if (is_new) names_count_++;
    } else {
      names_count_ -= names.erase(name);
    }
    // Whoever makes files in SOURCE does not decide how much memory that takes.
    if (names.size() > kMostNames || names_count_ > kMostNamesOfAll) {
      names_count_ -= names.size();
      watched.names.reset();
    }
  }
  last_arrival_ = (event.mask & IN_MOVED_TO) != 0 ? path : std::string();
  if ((event.mask & IN_MOVED_FROM) != 0)
    unsure_until_ = Clock::now() + kBetweenHalves;
  else if ((event.mask & IN_MOVED_TO) != 0)
    unsure_until_ = {};
  if ((event.mask & IN_ISDIR) != 0) forget(path);
}

void WatchedDirectories::drop(Directories::iterator at) {
  if (at->second.names) names_count_ -= at->second.names->size();
  by_descriptor_.erase(at->second.descriptor);
  ::inotify_rm_watch(events_.get(), at->second.descriptor);
  path_bytes_ -= at->first.size();
  directories_.erase(at);
}

/// That directory, and what is below it.
void WatchedDirectories::forget(const std::string& path) {
  if (path.empty()) {
    while (!directories_.empty()) drop(std::prev(directories_.end()));
    return;
  }
  const std::string below = path + "/";
  for (auto at = directories_.lower_bound(below);
       at != directories_.end() && at->first.starts_with(below);)
    drop(at++);
  if (const auto at = directories_.find(path); at != directories_.end()) drop(at);
}

void WatchedDirectories::tidy() {
  if (!events_) return;
  const WriteLock lock(mutex_);
  visits_.clear();
  if (directories_.empty()) return;
  read_events();
  pollfd mounts{mounts_.get(), POLLPRI, 0};
  if (::poll(&mounts, 1, 0) != 0) forget({});
  tick_++;
  let_go_of_unused();
  // What is above is used with what is below, which comes behind it.
  for (auto at = directories_.rbegin(); at != directories_.rend(); ++at) {
    if (at->first.empty()) continue;
    Watched& above = directories_.at(parent_of(at->first));
    above.used.tick = std::max(above.used.tick.load(), at->second.used.tick.load());
  }
  for (auto at = directories_.begin(); at != directories_.end();) {
    const auto next = std::next(at);
    if (at->second.used.tick + kUnusedTicks < tick_) drop(at);
    at = next;
  }
}

}  // namespace bloscfs::fs
