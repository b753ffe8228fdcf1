#pragma once
// A tree of objects by paths: what its directories show, and what stands behind each name.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frame/store/clock.hpp"
#include "frame/store/object_frames.hpp"
#include "fs/source/node.hpp"
#include "fs/source/objects/object_listings.hpp"
#include "fs/source/objects/object_looks.hpp"
#include "fs/view/memory_budget.hpp"

namespace bloscfs::fs {

/// Thread-safe. Errors: as ObjectTree's; codec::Error. NoSlot where something must be asked for.
class Objects {
 public:
  /// The look of the file that is open for writing at a path, or waits for a commit there; null if
  /// there is none. Such a file counts, whatever the store has.
  using Leading = std::function<LookPointer(const std::string& path)>;

  /// `budget` and `clock` outlive this object. `remove_later` and `uploads` as of ObjectFrames.
  Objects(std::shared_ptr<frame::ObjectTree> tree, const ObjectLooks::Settings& settings,
          MemoryBudget& budget, frame::ObjectFrames::RemoveLater remove_later,
          frame::UploadSettings uploads, const frame::Clock& clock, Leading leading);

  /// Looks at SOURCE itself: throws where it cannot be shown.
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
  /// What a directory shows as `name`.
  std::optional<Found> find(Request& request, const std::string& directory,
                            const std::string& name);
  /// What a directory shows. Takes of `charge` what the result needs. `if_many` as of Source.
  std::optional<std::vector<DirectoryEntry>> list(Request& request, const std::string& directory,
                                                  frame::MemoryCharge& charge,
                                                  const IfMany& if_many);
  /// True if another entry of the store has that full name.
  bool is_taken(Request& request, const std::string& directory, const std::string& full_name);
  ino_t inode_of(const std::string& path) const;
  /// The store has answered a change of what is at that path, or of its name.
  void forget(const std::string& path);
  /// As ObjectListings::forget().
  void forget_listing(const std::string& directory) { listings_.forget(directory); }

  // --- changes

  void make_directory(const Change& change, const std::string& path);
  /// One that is empty.
  void remove_directory(const Change& change, const std::string& path);
  /// In the state `base`: ESTALE where the store has another one.
  void remove_frame(const Change& change, const std::string& path, const frame::ObjectState& base);
  /// In the state `base`, too. EEXIST where a frame has the new name, and it may not be replaced.
  /// Returns the state of what has the new name now.
  frame::ObjectState rename_frame(const Change& change, const std::string& from,
                                  const frame::ObjectState& base, const std::string& to,
                                  bool may_replace);
  /// A frame was stored there: nothing says any more that it was removed.
  void remove_marker(const Change& change, const std::string& path);

 private:
  ListingPointer listing(Request& request, const std::string& directory);
  ObjectListing::Judge judge_in(const std::string& directory);
  ListingPointer single_listing(Request& request);
  std::optional<Found> find_in(Request& request, const std::string& directory,
                               const std::string& name, const ObjectListing& listing);
  std::optional<Found> look_at(Request& request, const std::string& directory,
                               const frame::ObjectEntry& entry, const ObjectListing& listing);
  bool has_object(Request& request, const std::string& directory, const std::string& name);
  bool has_gone(Request& request, const std::string& path);
  bool is_empty(Request& request, const std::string& directory);
  void put_marker(const std::string& path);
  void frame_has_gone(const std::string& path, const std::vector<std::string>& chunks);

  const frame::Clock& clock_;
  const std::shared_ptr<frame::ObjectTree> tree_;
  const frame::ObjectFrames::RemoveLater remove_later_;
  const std::shared_ptr<frame::ObjectFrames> frames_;
  MemoryBudget& budget_;
  const Leading leading_;
  ObjectLooks looks_;
  ObjectListings listings_;
};

}  // namespace bloscfs::fs
