#pragma once
// A tree of objects by paths: what its directories show, and which object each shown name stands
// for.

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frame/sframe/shared_frames.hpp"
#include "frame/store/clock.hpp"
#include "frame/store/object_frames.hpp"
#include "fs/source/node.hpp"
#include "fs/source/objects/later_removal.hpp"
#include "fs/source/objects/look_ahead.hpp"
#include "fs/source/objects/object_listings.hpp"
#include "fs/source/objects/object_looks.hpp"
#include "fs/view/memory_budget.hpp"

namespace bloscfs::fs {

/// Finds, lists and changes objects by their paths. Thread-safe. Throws the errors of ObjectTree,
/// and codec::Error. Throws NoSlot if the object store must be asked and no slot is free.
class Objects {
 public:
  /// Returns the look of the file at `path` if that file is open for writing or waits for a commit;
  /// null otherwise. This look takes precedence over the state in the object store.
  using Leading = std::function<LookPointer(const std::string& path)>;

  /// `budget`, `removal` and `clock` outlive this object. For `uploads` see ObjectFrames. `at_once`
  /// is how many entries LookAhead looks at in parallel.
  Objects(std::shared_ptr<frame::ObjectTree> tree, const ObjectLooks::Settings& settings,
          MemoryBudget& budget, LaterRemoval& removal, frame::UploadSettings uploads,
          unsigned at_once, const frame::Clock& clock, Leading leading);

  /// Looks at SOURCE itself. Throws if SOURCE cannot be shown.
  void require_shown(Request& request);

  frame::ObjectTree& tree() const { return *tree_; }
  frame::ObjectFrames& frames() const { return *frames_; }
  ObjectLooks& looks() { return looks_; }

  // --- names

  struct Found {
    std::string path;
    LookPointer look;
    bool is_leading = false;
  };
  /// Finds the entry that the directory shows as `name`.
  std::optional<Found> find(Request& request, const std::string& directory,
                            const std::string& name);
  /// Lists what the directory shows. Takes the memory of the result from `charge`. For
  /// `on_many_entries` see Source::list().
  std::optional<std::vector<DirectoryEntry>> list(Request& request, const std::string& directory,
                                                  frame::MemoryCharge& charge,
                                                  const OnManyEntries& on_many_entries);
  /// True if the object store has an object or a frame of that full name. Objects that a removed
  /// frame has left do not count.
  bool is_taken(Request& request, const std::string& directory, const std::string& full_name);
  ino_t inode_of(const std::string& path) const;
  /// Drops what is cached of the object, and of the listing that shows it. Call this once the
  /// object store has answered a change of the object or of its name.
  void forget(const std::string& path);
  /// Call this once the object store has answered a change of names in the directory. From then on
  /// the cached listing is not fresh.
  void forget_listing(const std::string& directory) { listings_.forget(directory); }

  // --- changes

  void make_directory(const Change& change, const std::string& path);
  /// Removes a directory, which must be empty.
  void remove_directory(Request& request, const Change& change, const std::string& path);
  /// A reader, in this process, of a frame that is removed or replaced. The frame's chunks are
  /// deleted when the reader has expired.
  using User = std::weak_ptr<const void>;
  /// Removes the frame. Throws ESTALE if the object store has another state than `base`.
  void remove_frame(const Change& change, const std::string& path, const frame::ObjectState& base,
                    const User& user);
  /// Removes an object that is not a frame.
  void remove_object(const Change& change, const std::string& path);
  struct Replaced {
    frame::ObjectState state;
    User user;
  };
  /// Renames a frame, which must be in the state `base`. `replaced` is the frame that has the new
  /// name now. Throws ESTALE if the object store has another state of either frame. Returns the
  /// state of the renamed frame.
  frame::ObjectState rename_frame(Request& request, const Change& change, const std::string& from,
                                  const frame::ObjectState& base, const User& user,
                                  const std::string& to, const std::optional<Replaced>& replaced);

 private:
  ListingPointer listing(Request& request, const std::string& directory);
  ObjectLooks::Listed listed_state(const frame::ObjectEntry& entry,
                                   const ObjectListing& listing) const;
  ObjectListing::Judge judge_in(const std::string& directory);
  ListingPointer single_listing(Request& request);
  std::optional<Found> find_in(Request& request, const std::string& directory,
                               const std::string& name, const ListingPointer& listing);
  std::optional<Found> look_at(Request& request, const std::string& directory,
                               const frame::ObjectEntry& entry, const ListingPointer& listing);
  bool has_object(Request& request, const std::string& directory, const std::string& name);
  bool is_removed(Request& request, const std::string& path);
  frame::KnownFrame frame_at(const std::string& path, const frame::ObjectState& state);
  void put_key_of(const std::string& directory);

  const frame::Clock& clock_;
  const std::shared_ptr<frame::ObjectTree> tree_;
  LaterRemoval& removal_;
  const std::shared_ptr<frame::ObjectFrames> frames_;
  MemoryBudget& budget_;
  const Leading leading_;
  ObjectLooks looks_;
  ObjectListings listings_;
  Mutex mutex_;
  LookAhead ahead_;
  std::set<std::string> with_keys_
      GUARDED_BY(mutex_);  ///< directories that are known to have a key of their own
};

}  // namespace bloscfs::fs
