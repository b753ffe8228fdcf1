#pragma once
// Directories of SOURCE that are looked at again and again: their descriptors, those of what was
// looked at in them, and which names they have, kept right by what the kernel tells of changes.

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
  /// To be called when the operation has changed something, or has released a lock so that others
  /// may have: the next look asks again.
  void renew() { has_asked_ = false; }

 private:
  bool has_asked_ = false;
};

/// What others do to a directory is in the queue of inotify(7) before their system call returns,
/// and that is read before each answer, or at the first of one look: what is answered was true when
/// it was asked. Only of filesystems of this machine, where all changes
/// pass the kernel. A directory is watched together with all that are above it, so that its path is
/// known to lead there still. What lies below SOURCE by other mounts is never watched; one that is
/// made over a watched directory is seen within a second.
///
/// Each directory keeps its own name and a pointer to the one above, not its whole path: memory
/// grows with the depth of nested directories, not with its square.
///
/// Does not throw: what cannot be watched is unknown, and is asked for. Paths are relative to
/// SOURCE, which is "". Thread-safe.
class WatchedDirectories {
 public:
  /// Opens a directory by one name from a descriptor with O_PATH, as SourceRoot opens paths.
  using Open = std::function<frame::UniqueFd(int directory, const std::string& name)>;

  /// `descriptors`: how many it may have of what it watches and knows.
  WatchedDirectories(int root, Open open, std::size_t descriptors,
                     const frame::Clock& clock = frame::system_clock());
  ~WatchedDirectories();
  WatchedDirectories(const WatchedDirectories&) = delete;
  WatchedDirectories& operator=(const WatchedDirectories&) = delete;

  /// A descriptor (O_PATH) of what is there, if that is the object meant; null: unknown.
  frame::SharedFd directory(const std::string& path, const std::optional<Identity>& meant,
                            OneLook* within = nullptr);
  /// Somebody asks the filesystem for it, so often in all. What is asked for often is watched from
  /// then on.
  void visited(const std::string& path, const Identity& identity, std::size_t times = 1);

  /// Which state of a directory something was found in.
  struct Moment {
    std::uint64_t watch = 0;  ///< 0: not watched
    std::uint64_t changes = 0;
  };
  struct Known {
    bool is_absent = false;
    std::shared_ptr<const SourceObject> object;  ///< of what has the name; null: unknown
    Moment moment;
  };
  Known look(const std::string& directory, const std::string& name, OneLook* within = nullptr);
  /// What was found under a name after `moment`, or null: nothing was.
  void found(const std::string& directory, const std::string& name, const Moment& moment,
             std::shared_ptr<const SourceObject> object);

  /// A name was taken away by this mount: what it led to is not kept here any more.
  void let_go(const std::string& directory, const std::string& name);

  /// To be called every second or so while it returns true: what nobody asks for is let go of.
  /// False where nothing is watched.
  bool tidy();

 private:
  using Names = std::unordered_map<std::string, std::shared_ptr<const SourceObject>>;
  /// Set also by those who only look, side by side.
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
    int descriptor = -1;      ///< of the watch
    std::uint64_t watch = 0;  ///< never used again
    std::uint64_t changes = 0;
    std::optional<Names> names;  ///< unless there are too many
    Used used;                   ///< at which tick
  };
  /// A name in a directory, as long as that is watched.
  struct Place {
    int descriptor = -1;
    std::uint64_t watch = 0;
    std::string name;
    bool operator==(const Place&) const = default;
  };
  struct Kept {
    Place place;
    std::uint64_t tick = 0;
  };

  /// What the kernel has told of is applied, or there is nothing of it.
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
  void note_absent(const std::string& directory, const std::string& name, const Moment& moment)
      REQUIRES(mutex_);
  std::shared_ptr<const SourceObject> take_object(Watched* directory, const std::string& name)
      REQUIRES_SHARED(mutex_) EXCLUDES(kept_mutex_);
  std::shared_ptr<const SourceObject> take_object(const Place& place) REQUIRES_SHARED(mutex_)
      EXCLUDES(kept_mutex_);
  void let_go_of_unused() REQUIRES(mutex_);

  const int root_;
  const Open open_;
  const frame::Clock& clock_;
  const std::size_t most_directories_, most_objects_;
  frame::UniqueFd events_;  ///< invalid: nothing is watched
  frame::UniqueFd mounts_;

  SharedMutex mutex_{LockLevel::watch};
  /// Taken last, for an instant: the objects of all names and `kept_`, which those who share mutex_
  /// change, too.
  Mutex kept_mutex_;
  std::unique_ptr<Watched> source_ GUARDED_BY(mutex_);  ///< null: nothing is watched
  std::unordered_map<int, Watched*> by_descriptor_ GUARDED_BY(mutex_);
  std::map<std::pair<std::uint64_t, std::uint64_t>, int> visits_
      GUARDED_BY(mutex_);                          ///< by device and inode
  std::deque<Kept> kept_ GUARDED_BY(kept_mutex_);  ///< the oldest first
  std::size_t names_count_ GUARDED_BY(mutex_) = 0;
  std::uint64_t last_watch_ GUARDED_BY(mutex_) = 0;
  std::uint64_t tick_ GUARDED_BY(mutex_) = 1;
  /// Of a rename one half is known: until then nothing counts as absent.
  frame::Clock::TimePoint unsure_until_ GUARDED_BY(mutex_);
  Place last_arrival_ GUARDED_BY(mutex_);  ///< of the rename that was told last
};

}  // namespace bloscfs::fs
