#pragma once
// What objects are, by their bytes, each known for a while.

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

/// One state of an object, or of a directory that stands for one. Immutable.
struct ObjectLook {
  enum class Kind : std::uint8_t {
    directory,
    plain,      ///< shown as it is
    container,  ///< an object
    sframe,     ///< a directory
    store,      ///< of python-blosc2, shown as a directory: an object
    store_directory,
    removed,  ///< a directory: there was a frame, or is none yet; what is there are objects of it
              ///< alone
  };
  Kind kind = Kind::plain;
  ShownAs shown = ShownAs::itself;
  frame::ObjectState state;  ///< of an sframe that of chunks.b2frame, of a store that of embed.b2e
  std::int64_t size = 0;     ///< that is shown
  std::int64_t stored_size = 0;

  bool is_directory() const {
    return kind == Kind::directory || kind == Kind::store || kind == Kind::store_directory;
  }
  /// False for what is made of several: a directory of the tree.
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

/// The same contents as another state of the store.
LookPointer with_state(const ObjectLook& look, const frame::ObjectState& state);

/// Thread-safe. Errors: as ObjectTree's; codec::Error. NoSlot where something must be asked for.
class ObjectLooks {
 public:
  using TimePoint = frame::Clock::TimePoint;
  struct Settings : JudgeSettings {
    std::chrono::milliseconds revalidate{1000};  ///< for so long a state may be trusted
  };

  /// Whether a directory holds an object; asked where its own name promises nothing. ENOENT where
  /// there is no directory.
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

  /// The state of an object, or of a sparse frame's index, from the listing of its directory. `at`
  /// is when the listing began; until `fresh_until` an object in this state needs no request.
  struct Listed {
    std::optional<frame::ListedState> state;
    TimePoint at, fresh_until;
  };
  /// What is there now, or was not longer ago than that.
  LookPointer look(Request& request, const std::string& path, bool is_directory,
                   const Listed& listed = {});
  /// What is there now.
  LookPointer look_anew(Request& request, const std::string& path, bool is_directory);
  /// The same, as far as it is known, however old; null if it is not.
  LookPointer known(const std::string& path);
  void forget(const std::string& path);
  /// The look at a sparse frame that a commit of this mount has stored in that state.
  LookPointer committed(const std::string& path, const frame::Snapshot& snapshot,
                        const frame::ObjectState& state);

  /// The look at a frame that this mount stored within the last second; null if it did not.
  LookPointer just_stored(const std::string& path);
  /// The look at it, once this mount has stored that state of the same contents there.
  LookPointer stored(const std::string& path, const ObjectLook& look,
                     const frame::ObjectState& state);

  /// The object, or that which a directory has the state of, in the state of `look`; ESTALE when it
  /// has another one.
  std::shared_ptr<const frame::ObjectSource> source(Request& request, const std::string& path,
                                                    const ObjectLook& look);
  /// Caches an index that this mount has just stored, so that no request is needed to read it.
  void keep_index(const std::string& path, std::shared_ptr<const frame::ObjectSource> index);
  /// A sparse frame's index in that state from the cache; null if it is not there.
  std::shared_ptr<const frame::ObjectSource> kept_index(const std::string& path,
                                                        const frame::ObjectState& state);
  /// A container's. Errors: as of source().
  std::shared_ptr<const frame::Snapshot> open(Request& request, const std::string& path,
                                              const ObjectLook& look);
  /// An archive's.
  std::unique_ptr<const Archive> open_archive(Request& request, const std::string& path,
                                              const ObjectLook& look,
                                              std::shared_ptr<MemoryBudget::Listing> charge);

  const Settings& settings() const { return settings_; }

 private:
  struct Known {
    LookPointer look;
    TimePoint checked;
    TimePoint stored;  ///< by this mount; TimePoint() if it was not
  };
  using SourcePointer = std::shared_ptr<const frame::ObjectSource>;

  static constexpr std::size_t kMostKnown = 100'000;

  LookPointer recent(const std::string& path, bool is_directory, const Listed& listed)
      EXCLUDES(mutex_);
  LookPointer remember(const std::string& path, LookPointer look, TimePoint checked,
                       TimePoint stored = {}) EXCLUDES(mutex_);
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
  /// Objects that were asked for last, each with its first 64 KiB: who opens what was just looked
  /// at asks for nothing.
  RecentlyUsed<std::string, frame::ObjectSource> sources_;
};

}  // namespace bloscfs::fs
