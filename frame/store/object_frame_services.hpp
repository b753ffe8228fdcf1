#pragma once
// State and services that all sparse frames of a tree of objects share.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "frame/store/byte_store.hpp"
#include "frame/store/object_tree.hpp"
#include "frame/store/object_uploads.hpp"

namespace bloscfs::frame::inline store {

/// Thread-safe.
class ObjectFrameServices {
 public:
  /// Called in any thread with the path of an object that is not needed any more. The callee
  /// deletes the object after a delay, because readers on other hosts may still use it.
  using RemoveLater = std::function<void(const std::string& path)>;

  ObjectFrameServices(std::shared_ptr<ObjectTree> tree, RemoveLater remove,
                      std::chrono::seconds age, UploadSettings uploads)
      : remove_later(std::move(remove)),
        safe_age(age),
        tree_(std::move(tree)),
        uploads_(*tree_, std::move(uploads)) {}

  const RemoveLater remove_later;
  /// Tells whether this process is deleting an object. Set before the first use.
  std::function<bool(const std::string&)> is_being_removed = [](const std::string&) {
    return false;
  };
  /// From this age on, gc may have deleted chunks that no index names.
  const std::chrono::seconds safe_age;

  ObjectTree& tree() const { return *tree_; }
  ObjectUploads& uploads() { return uploads_; }
  /// Returns null if there is no index.
  std::shared_ptr<const ObjectSource> open_index(const std::string& path) const;

  // Planned frames, which have no index yet.

  /// Plans a frame. Its first commit stores this owner, group and mode.
  void set_owner(const std::string& path, const FileAttributes& owner);
  bool is_planned(const std::string& path) const;
  void forget_plan(const std::string& path);
  /// Notes that another host has stored the frame first.
  void note_taken(const std::string& path);
  bool is_taken(const std::string& path) const;
  /// Notes a commit whose answer was lost. `base` is the commit id of the tombstone that the commit
  /// may have replaced; empty if the object store had no object. A retry that finds this commit in
  /// the store must not take it for another host's.
  void note_attempt(const std::string& path, const std::string& commit, const std::string& base);
  bool was_attempted(const std::string& path, const std::string& commit) const;
  /// True if a new frame may be stored where the object store now has the tombstone with the id
  /// `commit`, or no object if `commit` is empty. False if an earlier attempt may have been stored
  /// and then removed by another host: a retry must not store the removed frame again.
  bool may_follow(const std::string& path, const std::string& commit) const;
  /// Waits up to 2 s until no DELETE of this process for the index at `path` is under way, then
  /// throws EBUSY. The store may have done the DELETE and answered that it is busy. Then the DELETE
  /// is sent again, and would delete a new index.
  void await_own_removal(const std::string& path) const;
  /// Returns the state that the index of a new frame may replace: a tombstone, an index of an
  /// earlier attempt (was_attempted()), or nothing. A DELETE without If-Match of a tombstone
  /// younger than 20 minutes may still arrive: waits up to 2 s for it, then throws EBUSY. Throws
  /// ESTALE if another host has stored a frame at `path`.
  std::optional<ObjectState> place_for(const std::string& path) const;
  /// Returns `attributes` with the planned owner, group and mode, if the frame is planned.
  FileAttributes owned(const std::string& path, FileAttributes attributes) const;
  /// Called when the frame has been stored: gives `index` the planned owner and mode, and forgets
  /// the plan.
  void forget_owner(const std::string& path, StoreFile& index);

 private:
  struct Planned {
    FileAttributes owner;
    bool is_taken = false;
    std::set<std::string> attempts = {};  ///< commits whose outcome is unknown
    std::string base = {};  ///< commit id of the tombstone before the first attempt, or empty
  };

  const std::shared_ptr<ObjectTree> tree_;
  ObjectUploads uploads_;
  mutable std::mutex mutex_;
  std::map<std::string, Planned> planned_;
};

}  // namespace bloscfs::frame::inline store
