#pragma once
// Sparse frames whose files are objects. Many hosts may read and write them.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frame/store/byte_store.hpp"
#include "frame/store/object_frame_services.hpp"
#include "frame/store/object_tree.hpp"

namespace bloscfs::frame::inline store {

class ObjectFrame;

/// The sparse frames of a tree that are in use, with one ObjectFrame for each. Thread-safe.
class ObjectFrames : public std::enable_shared_from_this<ObjectFrames> {
 public:
  using RemoveLater = ObjectFrameServices::RemoveLater;

  /// gc keeps chunks that no index names for longer than this, by a good margin.
  static constexpr std::chrono::hours kSafeAge{12};

  /// A commit checks that its chunks still exist if they are at least `safe_age` old. What
  /// `uploads` refers to must outlive this object, and all frames and directories that it returned.
  ObjectFrames(std::shared_ptr<ObjectTree> tree, RemoveLater remove_later,
               std::chrono::seconds safe_age = kSafeAge, UploadSettings uploads = {})
      : services_(std::make_shared<ObjectFrameServices>(std::move(tree), std::move(remove_later),
                                                        safe_age, std::move(uploads))) {}

  ObjectTree& tree() const { return services_->tree(); }
  /// Sets the function that tells whether this process is deleting an object. New frames wait for
  /// the end of such a removal. To be called before the first use.
  void set_removals(std::function<bool(const std::string&)> is_being_removed) {
    services_->is_being_removed = std::move(is_being_removed);
  }
  /// The threads that upload chunks. They can run other calls to the tree, too.
  StoreCalls& calls() const { return services_->uploads().calls(); }
  /// Returns the frame at `path` in the state of `index`, an object that was opened there. Handles
  /// on another state of the frame then find it overtaken. Throws ESTALE if `index` is older than a
  /// commit of this process.
  std::shared_ptr<StoreDirectory> frame(const std::string& path,
                                        const std::shared_ptr<const ObjectSource>& index);
  /// Returns a directory whose subdirectories are sparse frames of this tree.
  std::shared_ptr<StoreDirectory> directory(const std::string& path);
  /// Returns the open frame if its last known state is `state`, otherwise null.
  std::shared_ptr<StoreDirectory> in_state(const std::string& path, const ObjectState& state);
  /// Returns the state that the last commit through the frame in use has stored. Returns nothing if
  /// no frame is in use, it has committed nothing, or the object store's state is unknown.
  std::optional<ObjectState> own_state(const std::string& path);
  /// Returns the index in the state of own_state(), or null.
  std::shared_ptr<const ObjectSource> own_index(const std::string& path);
  /// Returns the state in the object store if a commit of this process stored it. First asks the
  /// object store what became of a commit whose answer was lost. Returns nothing if the object
  /// store has another state, or none.
  std::optional<ObjectState> confirmed_own_state(const std::string& path);
  /// True if another host has replaced or removed the frame, or was first to store a planned one.
  bool is_overtaken(const std::string& path);
  /// True if this process removed the frame that is in use at `path`. Another host may have stored
  /// a new one since.
  bool is_removed(const std::string& path);
  /// Plans a frame that has no index yet. Its first commit stores this owner and mode. If handles
  /// have an overtaken frame of that path open, the new frame has nothing to do with it.
  void plan(const std::string& path, const FileAttributes& owner);
  /// Changes the owner and mode of a planned frame.
  void set_owner(const std::string& path, const FileAttributes& owner) {
    services_->set_owner(path, owner);
  }
  /// Forgets a planned frame that will not be stored.
  void forget_plan(const std::string& path) { services_->forget_plan(path); }

  /// See ObjectFrameServices::place_for().
  std::optional<ObjectState> place_for(const std::string& path);

  // The following functions change the state `base`. They throw ESTALE if the object store has
  // another state. Other errors: as ObjectTree::put().

  /// Removes the frame. Open handles stay readable while its chunks exist. Returns the path of the
  /// tombstone if the caller must delete it, with one request.
  std::vector<std::string> remove(const std::string& path, const ObjectState& base);
  /// Replaces the frame's index object, if it still has the state `base`, by one with another
  /// owner, mode and times. Returns the object's new state.
  ObjectState set_attributes(const std::string& path, const FileAttributes& attributes,
                             const ObjectState& base);
  /// Returns the present attributes of a frame that has been committed. Errors: as
  /// ObjectTree::open().
  FileAttributes attributes(const std::string& path);

 private:
  friend class ObjectParent;

  std::shared_ptr<ObjectFrame> opened(const std::string& path);
  std::shared_ptr<ObjectFrame> to_write(const std::string& path);
  std::shared_ptr<ObjectFrame> in_use(const std::string& path);

  const std::shared_ptr<ObjectFrameServices> services_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<ObjectFrame>> frames_;
};

}  // namespace bloscfs::frame::inline store
