#pragma once
// What objects are, judged by their bytes. Each result is cached for a while.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "frame/container/snapshot.hpp"
#include "frame/pystore/python_store.hpp"
#include "frame/store/clock.hpp"
#include "frame/store/lru_map.hpp"
#include "frame/store/object_frames.hpp"
#include "frame/store/object_tree.hpp"
#include "fs/source/archives/archive.hpp"
#include "fs/source/judge.hpp"
#include "fs/source/recently_used.hpp"
#include "fs/support/once_log.hpp"
#include "fs/support/sync.hpp"

namespace bloscfs::fs {

/// One state of an object, or of a directory that is a frame or a store. Immutable.
struct ObjectLook {
  enum class Kind : std::uint8_t {
    directory,
    plain,      ///< an object that is shown as it is
    container,  ///< a container in one object
    sframe,     ///< a directory that is a sparse frame
    store,      ///< an object that is a store of python-blosc2; shown as a directory
    store_directory,
    removed,  ///< a directory that has only the objects of a frame that was removed, or is not
              ///< committed yet
  };
  Kind kind = Kind::plain;
  ShownAs shown = ShownAs::itself;
  frame::ObjectState state;  ///< of a sparse frame, that of chunks.b2frame; of a store directory,
                             ///< that of embed.b2e
  std::int64_t size = 0;     ///< as shown
  std::int64_t stored_size = 0;

  bool is_directory() const {
    return kind == Kind::directory || kind == Kind::store || kind == Kind::store_directory;
  }
  /// False for a directory of the tree, which consists of several objects.
  bool is_object() const {
    return kind == Kind::plain || kind == Kind::container || kind == Kind::store;
  }
  bool is_container() const { return kind == Kind::container || kind == Kind::sframe; }
  bool is_store() const { return kind == Kind::store || kind == Kind::store_directory; }
  bool same_as(const ObjectLook& other) const {
    return kind == other.kind && state.same_bytes(other.state);
  }
};
using LookPointer = std::shared_ptr<const ObjectLook>;

/// Returns a copy of the look for another state with the same contents, such as after a change of
/// the owner.
LookPointer with_state(const ObjectLook& look, const frame::ObjectState& state);

/// Finds out what objects are, and caches the results. Thread-safe. Throws the errors of
/// ObjectTree, and codec::Error. Throws NoSlot if the object store must be asked and no slot is
/// free.
class ObjectLooks {
 public:
  using TimePoint = frame::Clock::TimePoint;
  struct Settings : JudgeSettings {
    std::chrono::milliseconds revalidate{1000};  ///< how long a state is trusted
  };

  /// True if the directory holds an object of that name. Called if the directory's own name
  /// promises nothing. Throws ENOENT if the directory does not exist.
  using HasObject =
      std::function<bool(Request& request, const std::string& directory, const std::string& name)>;

  ObjectLooks(std::shared_ptr<frame::ObjectTree> tree, std::shared_ptr<frame::ObjectFrames> frames,
              const Settings& settings, HasObject has_object, MemoryBudget& budget,
              const frame::Clock& clock)
      : tree_(std::move(tree)),
        frames_(std::move(frames)),
        settings_(settings),
        has_object_(std::move(has_object)),
        clock_(clock),
        sources_(budget, 64) {}

  /// What the listing of a directory says of an object, or of a sparse frame's index. `at` is when
  /// the listing began. Until `fresh_until` an object in this state needs no request.
  struct Listed {
    std::optional<frame::ListedState> state;
    TimePoint at, fresh_until;
  };
  /// Returns what is at the path, from the cache if that is recent enough.
  LookPointer look(Request& request, const std::string& path, bool is_directory,
                   const Listed& listed = {});
  /// Asks the object store what is at the path.
  LookPointer look_uncached(Request& request, const std::string& path, bool is_directory);
  /// Returns the cached look, however old; null if there is none.
  LookPointer known(const std::string& path);
  void forget(const std::string& path);
  /// Caches and returns the look at a sparse frame that a commit of this mount has stored.
  LookPointer committed(const std::string& path, const frame::Snapshot& snapshot,
                        const frame::ObjectState& state);

  /// Returns the look at a frame that this mount stored within the last second; null otherwise.
  LookPointer just_stored(const std::string& path);
  /// Caches and returns the look after this mount has stored the contents of `look` as `state`.
  LookPointer stored(const std::string& path, const ObjectLook& look,
                     const frame::ObjectState& state);

  /// Opens the object in the state of `look`. For a directory, opens its chunks.b2frame or
  /// embed.b2e. Throws ESTALE if the object store has another state.
  std::shared_ptr<const frame::ObjectSource> source(Request& request, const std::string& path,
                                                    const ObjectLook& look);
  /// Caches an index that this mount has just stored, so that no request is needed to read it.
  void keep_index(const std::string& path, std::shared_ptr<const frame::ObjectSource> index);
  /// Returns the cached index of a sparse frame; null if no index in that state is cached.
  std::shared_ptr<const frame::ObjectSource> kept_index(const std::string& path,
                                                        const frame::ObjectState& state);
  /// Opens a container. Throws ESTALE as source() does.
  std::shared_ptr<const frame::Snapshot> open(Request& request, const std::string& path,
                                              const ObjectLook& look);
  /// Opens an archive. Throws ESTALE as source() does.
  std::unique_ptr<const Archive> open_archive(Request& request, const std::string& path,
                                              const ObjectLook& look,
                                              std::shared_ptr<MemoryBudget::Listing> charge);

  const Settings& settings() const { return settings_; }

 private:
  struct Known {
    LookPointer look;
    TimePoint checked;
    TimePoint stored;  ///< when this mount stored it; TimePoint() if it did not
  };
  using SourcePointer = std::shared_ptr<const frame::ObjectSource>;

  static constexpr std::size_t kMostKnown = 100'000;

  /// Returns the cached look if it may still be trusted; null otherwise.
  LookPointer recent(const std::string& path, bool is_directory, const Listed& listed)
      EXCLUDES(mutex_);
  LookPointer remember(const std::string& path, LookPointer look, TimePoint checked,
                       TimePoint stored = {}) EXCLUDES(mutex_);
  /// Returns the object in its present state, for which it asks the object store.
  SourcePointer current(Request& request, const std::string& object);
  SourcePointer current_if_any(Request& request, const std::string& object);
  LookPointer judge_object(Request& request, const std::string& path);
  LookPointer judge_directory(Request& request, const std::string& path);
  bool has_only_chunks(const std::string& path);
  LookPointer judge_sframe(Request& request, const std::string& path);
  LookPointer judge_store_directory(Request& request, const std::string& path);
  Verdict judge_bytes(const Request& request, const std::string& path, const Candidate& candidate);

  const std::shared_ptr<frame::ObjectTree> tree_;
  const std::shared_ptr<frame::ObjectFrames> frames_;
  const Settings settings_;
  const HasObject has_object_;
  const frame::Clock& clock_;
  OnceLog log_;
  Mutex mutex_{LockLevel::table};
  frame::LruMap<std::string, Known> known_ GUARDED_BY(mutex_){kMostKnown};
  /// Recently used objects, each with its first 64 KiB. Opening an object that was just looked at
  /// needs no request.
  RecentlyUsed<std::string, frame::ObjectSource> sources_;
};

}  // namespace bloscfs::fs
