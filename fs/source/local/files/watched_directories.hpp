#pragma once
// Keeps the names and descriptors of directories of SOURCE that are looked at often, and updates
// them with the changes that the kernel reports.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frame/store/clock.hpp"
#include "fs/source/local/files/source_object.hpp"
#include "fs/source/local/files/source_path.hpp"
#include "fs/support/sync.hpp"

struct inotify_event;

namespace bloscfs::fs {

/// A part of an operation that only looks at SOURCE. It asks inotify once whether anything has
/// changed, at its first look; its later looks rely on that answer. For one thread.
class OneLook {
 public:
  OneLook() = default;
  OneLook(const OneLook&) = delete;
  OneLook& operator=(const OneLook&) = delete;

  /// True at the first look.
  bool must_ask() { return !std::exchange(has_asked_, true); }
  /// To be called when the operation has changed something, or has released a lock so that other
  /// threads may have changed something. The next look asks inotify again.
  void renew() { has_asked_ = false; }

 private:
  bool has_asked_ = false;
};

/// Caches directories of SOURCE: their descriptors, their names, and descriptors of objects in
/// them.
///
/// The cache is never stale. inotify(7) queues an event before the system call that made the change
/// returns. The queue is read before each answer, or once for each OneLook. So every answer was
/// true when the question was asked.
///
/// This works only on local filesystems, where all changes pass through this kernel. A directory is
/// watched together with all directories above it, so that its path is known to be still right.
/// Other mounts below SOURCE are never watched. A new mount on top of a watched directory is
/// noticed within a second.
///
/// Each directory keeps its own name and a pointer to the one above, not its whole path. So memory
/// grows with the depth of nested directories, not with its square.
///
/// Does not throw: what cannot be watched is reported as unknown, and the caller asks the
/// filesystem. Paths are relative to SOURCE, which is "". Thread-safe.
class WatchedDirectories {
 public:
  /// Opens the entry `name` of an O_PATH descriptor as a directory, by the rules of SourceRoot.
  using Open = std::function<frame::UniqueFd(int directory, const std::string& name)>;

  /// Half of `descriptors` limits the watched directories, the other half the objects in them.
  WatchedDirectories(int root, Open open, std::size_t descriptors,
                     const frame::Clock& clock = frame::system_clock());
  ~WatchedDirectories();
  WatchedDirectories(const WatchedDirectories&) = delete;
  WatchedDirectories& operator=(const WatchedDirectories&) = delete;

  /// Returns an O_PATH descriptor of the directory if it is watched and is the object meant;
  /// otherwise null.
  frame::SharedFd directory(const std::string& path, const std::optional<Identity>& meant,
                            OneLook* within = nullptr);
  /// Records that the caller asks the filesystem about a directory, `times` times. A directory that
  /// is asked for often is watched from then on.
  void visited(const std::string& path, const Identity& identity, std::size_t times = 1);

  /// The state of a directory at a lookup.
  struct DirectoryVersion {
    std::uint64_t watch = 0;    ///< number of the watch; 0: not watched
    std::uint64_t changes = 0;  ///< number of changes of its entries since the watch began
  };
  struct Known {
    bool is_absent = false;                      ///< the directory has no such entry
    std::shared_ptr<const SourceObject> object;  ///< the object with that name; null: unknown
    DirectoryVersion moment;
  };
  /// Returns what is known of an entry without asking the filesystem.
  Known look(const std::string& directory, const std::string& name, OneLook* within = nullptr);
  /// Records what the caller found under a name in the filesystem, after look() had returned
  /// `moment`. A null `object` means that the name does not exist.
  void found(const std::string& directory, const std::string& name, const DirectoryVersion& moment,
             std::shared_ptr<const SourceObject> object);

  /// Drops the object that is kept for a name that this mount has removed.
  void drop_object(const std::string& directory, const std::string& name);

  /// Stops watching directories that are no longer asked for, and closes the objects kept for a
  /// while. Each call is one tick. To be called about once a second while it returns true; it
  /// returns false if nothing is watched.
  bool tidy();

 private:
  using Names = std::unordered_map<std::string, std::shared_ptr<const SourceObject>>;
  /// The tick of the last use. Atomic, since readers that share mutex_ set it concurrently.
  struct Used {
    explicit Used(std::uint64_t now) : tick(now) {}
    Used(Used&& other) noexcept : tick(other.tick.load()) {}
    std::atomic<std::uint64_t> tick;
  };
  struct Watched {
    Watched* above = nullptr;  ///< null: SOURCE
    std::string name;
    std::map<std::string, std::unique_ptr<Watched>, std::less<>> below;
    frame::SharedFd fd;
    Identity identity;
    int descriptor = -1;      ///< of the inotify watch
    std::uint64_t watch = 0;  ///< number of the watch, never reused
    std::uint64_t changes = 0;
    std::optional<Names> names;  ///< nullopt: too many, or not known
    Used used;                   ///< tick of the last use
  };
  /// A name in a watched directory. Refers to nothing after the watch of that directory has ended.
  struct Place {
    int descriptor = -1;
    std::uint64_t watch = 0;
    std::string name;
    bool operator==(const Place&) const = default;
  };
  struct Kept {
    Place place;             ///< the name in Watched::names that has the object
    std::uint64_t tick = 0;  ///< when the object was found
  };

  /// True if all events that the kernel has queued are applied, or `within` has asked before.
  bool is_up_to_date(OneLook* within) REQUIRES_SHARED(mutex_);
  frame::SharedFd known_directory(const std::string& path, const std::optional<Identity>& meant)
      REQUIRES_SHARED(mutex_);
  Known known(const std::string& directory, const std::string& name) REQUIRES_SHARED(mutex_);
  void read_events() REQUIRES(mutex_);
  void apply(const inotify_event& event) REQUIRES(mutex_);
  Watched* find(std::string_view path) REQUIRES_SHARED(mutex_);
  static std::vector<Watched*> all_of(Watched* top);
  void forget(Watched* top) REQUIRES(mutex_);
  void drop(Watched* watched) REQUIRES(mutex_);
  Watched* watch(std::string_view path) REQUIRES(mutex_);
  Watched* watch_below(Watched* above, const std::string& name) REQUIRES(mutex_);
  std::optional<Names> names_of(const frame::UniqueFd& directory) REQUIRES(mutex_);
  void note_absent(const std::string& directory, const std::string& name,
                   const DirectoryVersion& moment) REQUIRES(mutex_);
  std::shared_ptr<const SourceObject> take_object(Watched* directory, const std::string& name)
      REQUIRES_SHARED(mutex_) EXCLUDES(kept_mutex_);
  std::shared_ptr<const SourceObject> take_object(const Place& place) REQUIRES_SHARED(mutex_)
      EXCLUDES(kept_mutex_);
  void drop_unused_objects() REQUIRES(mutex_);

  const int root_;
  const Open open_;
  const frame::Clock& clock_;
  const std::size_t most_directories_, most_objects_;
  frame::UniqueFd events_;  ///< invalid: nothing is watched
  frame::UniqueFd mounts_;  ///< /proc/self/mountinfo: poll(2) reports changed mounts

  SharedMutex mutex_{LockLevel::watch};
  /// Locked last, for an instant. Guards the objects in all Watched::names as well as `kept_`:
  /// threads that share mutex_ change both.
  Mutex kept_mutex_;
  std::unique_ptr<Watched> source_ GUARDED_BY(mutex_);  ///< null: nothing is watched
  std::unordered_map<int, Watched*> by_descriptor_ GUARDED_BY(mutex_);
  /// Number of visits since the last tick, by device and inode; -1: not to be watched before the
  /// next tick.
  std::map<std::pair<std::uint64_t, std::uint64_t>, int> visits_ GUARDED_BY(mutex_);
  std::deque<Kept> kept_ GUARDED_BY(kept_mutex_);  ///< the oldest first
  std::size_t names_count_ GUARDED_BY(mutex_) = 0;
  std::uint64_t last_watch_ GUARDED_BY(mutex_) = 0;
  std::uint64_t tick_ GUARDED_BY(mutex_) = 1;
  /// Until then no name counts as absent: only the first half of a rename (IN_MOVED_FROM) is known.
  frame::Clock::TimePoint absence_unknown_until_ GUARDED_BY(mutex_);
  Place last_arrival_ GUARDED_BY(mutex_);  ///< the name in the last event, if that was IN_MOVED_TO
};

}  // namespace bloscfs::fs
