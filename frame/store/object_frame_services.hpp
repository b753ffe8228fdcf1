#pragma once
// What all sparse frames of a tree of objects share.

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
  /// Is given paths of objects that nobody needs soon, by any thread; they go when readers on other
  /// hosts have had time.
  using RemoveLater = std::function<void(const std::string& path)>;

  ObjectFrameServices(std::shared_ptr<ObjectTree> tree, RemoveLater remove,
                      std::chrono::seconds age, UploadSettings uploads)
      : remove_later(std::move(remove)),
        safe_age(age),
        tree_(std::move(tree)),
        uploads_(*tree_, std::move(uploads)) {}

  const RemoveLater remove_later;
  /// Chunks of that age that no index names may have been swept away.
  const std::chrono::seconds safe_age;

  ObjectTree& tree() const { return *tree_; }
  ObjectUploads& uploads() { return uploads_; }
  /// Null where there is none.
  std::shared_ptr<const ObjectSource> open_index(const std::string& path) const;

  // Of frames that have no index yet.

  void set_owner(const std::string& path, const FileAttributes& owner);
  bool is_planned(const std::string& path) const;
  void forget_plan(const std::string& path);
  /// Another host was first.
  void note_taken(const std::string& path);
  bool is_taken(const std::string& path) const;
  /// That commit may have stored its index where `base` was, the commit that left a tombstone
  /// there, or none. Who tries again is not to take it for another host's.
  void note_attempt(const std::string& path, const std::string& commit, const std::string& base);
  bool was_attempted(const std::string& path, const std::string& commit) const;
  /// False where a tombstone of that commit, or nothing, may stand for the end of what such a
  /// commit has stored: what somebody has removed is not stored again.
  bool may_follow(const std::string& path, const std::string& commit) const;
  /// The state that the index of a new frame may replace: a tombstone, an index of an earlier
  /// attempt (was_attempted()), or nothing. Waits while a plain DELETE of a young tombstone may be
  /// on its way, then throws EBUSY. ESTALE if another host has stored a frame there.
  std::optional<ObjectState> place_for(const std::string& path) const;
  /// The same attributes with the owner and the mode that it is to have.
  FileAttributes owned(const std::string& path, FileAttributes attributes) const;
  /// It has one now.
  void forget_owner(const std::string& path, StoreFile& index);

 private:
  struct Planned {
    FileAttributes owner;
    bool is_taken = false;
    std::set<std::string> attempts = {};  ///< commits of unknown outcome
    std::string base = {};                ///< what was there before the first of them
  };

  const std::shared_ptr<ObjectTree> tree_;
  ObjectUploads uploads_;
  mutable std::mutex mutex_;
  std::map<std::string, Planned> planned_;
};

}  // namespace bloscfs::frame::inline store
