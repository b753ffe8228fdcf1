#pragma once
// Sparse frames whose files are objects: read, and written to by many hosts.

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "frame/store/byte_store.hpp"
#include "frame/store/object_frame_services.hpp"
#include "frame/store/object_tree.hpp"

namespace bloscfs::frame::inline store {

class ObjectFrame;

/// The sparse frames of a tree that are in use, each once. Thread-safe.
class ObjectFrames : public std::enable_shared_from_this<ObjectFrames> {
 public:
  using RemoveLater = ObjectFrameServices::RemoveLater;

  /// For so long nobody sweeps away what no index names, by a good margin.
  static constexpr std::chrono::hours kSafeAge{12};

  /// A commit with chunks of `safe_age` makes sure that they are there. What `uploads` refers to
  /// outlives this object, and all frames and directories that it has given.
  ObjectFrames(std::shared_ptr<ObjectTree> tree, RemoveLater remove_later,
               std::chrono::seconds safe_age = kSafeAge, UploadSettings uploads = {})
      : services_(std::make_shared<ObjectFrameServices>(std::move(tree), std::move(remove_later),
                                                        safe_age, std::move(uploads))) {}

  ObjectTree& tree() const { return services_->tree(); }
  /// For other calls to the tree.
  StoreCalls& calls() const { return services_->uploads().calls(); }
  /// The frame at `path`, in the state that its `index` shows, which is an object that was opened
  /// there. Who has another state open finds it changed by another program. ESTALE where `index` is
  /// an older state than a commit of this process.
  std::shared_ptr<StoreDirectory> frame(const std::string& path,
                                        const std::shared_ptr<const ObjectSource>& index);
  /// A directory whose directories are such frames.
  std::shared_ptr<StoreDirectory> directory(const std::string& path);
  /// The open frame, if its last known state is this one; else null.
  std::shared_ptr<StoreDirectory> in_state(const std::string& path, const ObjectState& state);
  /// What the last commit through the frame in use has stored; nothing if none is in use, it has
  /// committed nothing, or nobody knows what the store has.
  std::optional<ObjectState> own_state(const std::string& path);
  /// The index in the state of own_state(); null if that gives nothing.
  std::shared_ptr<const ObjectSource> own_index(const std::string& path);
  /// What the store has of this process's commits, it having been asked what became of one whose
  /// answer was lost; nothing where it has another state, or none.
  std::optional<ObjectState> sent_state(const std::string& path);
  /// What has the name now was put there by somebody else.
  bool is_overtaken(const std::string& path);
  /// It was removed through these, and nothing was put there since.
  bool is_removed(const std::string& path);
  /// Whose a frame is to be that has no index yet; its index is put with that.
  void set_owner(const std::string& path, const FileAttributes& owner) {
    services_->set_owner(path, owner);
  }
  /// Nobody is to make it any more.
  void forget_plan(const std::string& path) { services_->forget_plan(path); }

  /// See ObjectFrameServices::place_for().
  std::optional<ObjectState> place_for(const std::string& path);

  // Changes of the state `base`: ESTALE where the store has another one. Other errors as of
  // ObjectTree::put().

  /// Removes the frame; open handles stay readable while its chunks exist. Returns the path of the
  /// tombstone if the caller must delete it, with one request.
  std::vector<std::string> remove(const std::string& path, const ObjectState& base);
  /// Puts it again with other owner, mode, and times. Returns its state then.
  ObjectState set_attributes(const std::string& path, const FileAttributes& attributes,
                             const ObjectState& base);
  /// As they are now, of a frame that has been committed; errors as of ObjectTree::open().
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
