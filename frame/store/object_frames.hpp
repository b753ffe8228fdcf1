#pragma once
// Sparse frames whose files are objects: read, and written to by many hosts.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "frame/store/byte_store.hpp"
#include "frame/store/object_tree.hpp"

namespace bloscfs::frame {

class ObjectFrame;

/// What tells a commit from all others, as `commit` in the metadata of its index: 32 hexadecimal
/// digits.
std::string new_commit_id();

/// Puts it into the fingerprint with which an index ends, which no reader checks
/// (frame/formats/cframe.md): stores take equal bytes for one state, whatever their metadata says.
void stamp_index(std::vector<std::uint8_t>& index, const std::string& commit);

/// The sparse frames of a tree that are in use, each once. Thread-safe.
class ObjectFrames : public std::enable_shared_from_this<ObjectFrames> {
 public:
  /// Is given paths of objects that nobody needs soon, by any thread; they go when readers on other
  /// hosts have had time.
  using RemoveLater = std::function<void(const std::string& path)>;

  ObjectFrames(std::shared_ptr<ObjectTree> tree, std::string index_name, RemoveLater remove_later)
      : tree_(std::move(tree)),
        index_name_(std::move(index_name)),
        remove_later_(std::move(remove_later)) {}

  ObjectTree& tree() const { return *tree_; }
  /// The frame at `path`, in the state that its `index` shows, which is an object that was opened
  /// there. Who has another state open finds it changed by another program. ESTALE where `index` is
  /// an older state than a commit of this process.
  std::shared_ptr<StoreDirectory> frame(const std::string& path,
                                        std::shared_ptr<const ObjectSource> index);
  /// A directory whose directories are such frames.
  std::shared_ptr<StoreDirectory> directory(const std::string& path);
  /// The state that the index of a frame in use has in the store; nothing if none is in use, or
  /// nobody knows.
  std::optional<ObjectState> state(const std::string& path);
  /// What has the name now was put there by somebody else.
  bool is_overtaken(const std::string& path);
  /// Whose a frame is to be that has no index yet; its index is put with that.
  void set_owner(const std::string& path, const FileAttributes& owner);
  /// Nobody is to make it any more.
  void forget_plan(const std::string& path);
  /// Puts an empty index in the place of a frame's: whoever has that state open reads on as long as
  /// its chunks are there. ENOENT where there is no frame; errors as of ObjectTree::put().
  void remove(const std::string& path);
  /// Puts the committed index again with other owner, mode, and times; errors as of
  /// ObjectTree::put().
  void set_attributes(const std::string& path, const FileAttributes& attributes);

 private:
  friend class ObjectFrame;
  friend class ObjectParent;

  std::shared_ptr<ObjectFrame> opened(const std::string& path);
  FileAttributes owned(const std::string& path, FileAttributes attributes);
  void forget_owner(const std::string& path, StoreFile& index);
  void note_taken(const std::string& path);
  std::shared_ptr<ObjectFrame> in_use(const std::string& path);
  std::shared_ptr<const ObjectSource> open_index(const std::string& path) const;

  const std::shared_ptr<ObjectTree> tree_;
  const std::string index_name_;
  const RemoveLater remove_later_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<ObjectFrame>> frames_;
  struct Planned {
    FileAttributes owner;
    bool is_taken = false;  ///< another host was first
  };
  std::map<std::string, Planned> planned_;  ///< of set_owner()
};

}  // namespace bloscfs::frame
