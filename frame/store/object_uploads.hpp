#pragma once
// Uploads objects while their writer makes the next ones.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "frame/store/byte_source.hpp"
#include "frame/store/object_tree.hpp"
#include "frame/store/store_calls.hpp"

namespace bloscfs::frame::inline store {

struct UploadSettings {
  unsigned at_once = 8;
  /// Limit for all uploads under way together. A larger object is sent alone.
  std::size_t bytes = std::size_t{32} << 20;
  /// Called with the size of each upload. Reserves that much memory until its result is destroyed.
  /// May be empty.
  std::function<std::shared_ptr<void>(std::size_t)> take_memory = {};
};

/// Thread-safe.
class ObjectUploads {
 public:
  /// `tree` must outlive this object.
  ObjectUploads(ObjectTree& tree, UploadSettings settings);

  class Room;
  /// A new object that is being uploaded. For one thread. The destructor cancels the upload.
  class Upload {
   public:
    /// Waits for the object store's answer. Throws EEXIST if another object has the name. Other
    /// errors: as ObjectTree::put().
    void wait() { call_.wait(); }
    /// True if the object store has answered that another object has the name.
    bool is_taken() const;
    /// Returns the object's bytes if is_taken(), otherwise nothing.
    Bytes bytes() const;

   private:
    friend class ObjectUploads;
    struct Sent;
    std::shared_ptr<Sent> sent_;
    StoreCalls::Pending call_;
  };

  /// Starts an upload. First waits until the uploads under way leave enough room.
  std::unique_ptr<Upload> begin(const std::string& path, Bytes bytes);
  /// The threads of the uploads. They can run other calls to the same store, too.
  StoreCalls& calls() { return calls_; }

 private:
  ObjectTree& tree_;
  const UploadSettings settings_;
  const std::shared_ptr<Room> room_;
  StoreCalls calls_;
};

}  // namespace bloscfs::frame::inline store
