#pragma once
// The chunks of a sparse frame that are open, or on their way: no chunk ever changes.

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "frame/store/lru_map.hpp"
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
    std::shared_ptr<ObjectOpening> opening;      ///< null: not any more
    std::shared_ptr<const ObjectSource> source;  ///< null: not opened yet
  };

  /// The one that is known; empty if none is.
  Chunk find(const std::string& name);
  void keep(const std::string& name, Chunk chunk);
  void forget(const std::string& name);

  ObjectTree& tree_;
  const std::string directory_;
  std::mutex mutex_;
  /// Each that is open has its first 64 KiB.
  LruMap<std::string, Chunk> open_{16}, coming_{512};
};

}  // namespace bloscfs::frame::inline store
