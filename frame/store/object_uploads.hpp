#pragma once
// Objects that are put while who has made them makes the next ones.

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
  /// Of all that is under way, whoever puts it; one object goes in any case.
  std::size_t bytes = std::size_t{32} << 20;
  /// So much memory is in use as long as what it returns lives. May be empty.
  std::function<std::shared_ptr<void>(std::size_t)> take_memory = {};
};

/// Thread-safe.
class ObjectUploads {
 public:
  /// `tree` outlives it.
  ObjectUploads(ObjectTree& tree, UploadSettings settings);

  class Room;
  /// A new object that is being put. For one thread; its destructor gives up.
  class Upload {
   public:
    /// Until the store has answered: EEXIST where another object has the name; else errors as of
    /// ObjectTree::put().
    void wait() { call_.wait(); }
    /// The store has said so.
    bool is_taken() const;
    /// Of one whose name is taken; of others none once they are put.
    Bytes bytes() const;

   private:
    friend class ObjectUploads;
    struct Sent;
    std::shared_ptr<Sent> sent_;
    StoreCalls::Pending call_;
  };

  /// Waits until there is room for it.
  std::unique_ptr<Upload> begin(const std::string& path, Bytes bytes);
  /// For other calls to the same store.
  StoreCalls& calls() { return calls_; }

 private:
  ObjectTree& tree_;
  const UploadSettings settings_;
  const std::shared_ptr<Room> room_;
  StoreCalls calls_;
};

}  // namespace bloscfs::frame::inline store
