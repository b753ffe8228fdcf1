#pragma once
// The chunks of a sparse frame that are open, or on their way: no chunk ever changes.

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "frame/store/object_tree.hpp"

namespace bloscfs::frame::inline store {

/// Thread-safe.
class ObjectChunks {
 public:
  /// `tree` outlives it.
  ObjectChunks(ObjectTree& tree, std::string directory)
      : tree_(tree), directory_(std::move(directory)) {}

  /// Errors as of ObjectTree::open().
  std::shared_ptr<const ObjectSource> open(const std::string& name);
  /// Bytes of a chunk that will be read soon; waits for nothing.
  void expect(const std::string& name, std::span<const ByteRange> ranges);
  /// False where reading these would wait.
  bool is_at_hand(const std::string& name, std::span<const ByteRange> ranges);

 private:
  struct Chunk {
    std::string name;
    std::shared_ptr<ObjectOpening> opening;      ///< null: not any more
    std::shared_ptr<const ObjectSource> source;  ///< null: not opened yet
  };
  using Chunks = std::list<Chunk>;

  /// The one that is known, now in front; nothing else of it.
  Chunk find(const std::string& name);
  void keep(Chunk chunk);
  void forget(const std::string& name);

  ObjectTree& tree_;
  const std::string directory_;
  std::mutex mutex_;
  Chunks open_, coming_;  ///< those used last in front
};

}  // namespace bloscfs::frame::inline store
