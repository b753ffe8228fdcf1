#pragma once
// The chunks of a sparse frame that are open or being opened. Chunks never change.

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
  /// `tree` must outlive this object.
  ObjectChunks(ObjectTree& tree, std::string directory)
      : tree_(tree), directory_(std::move(directory)) {}

  /// Errors: as ObjectTree::open().
  std::shared_ptr<const ObjectSource> open(const std::string& name);
  /// Announces ranges of a chunk that will be read soon. Never waits.
  void expect(const std::string& name, std::span<const ByteRange> ranges);
  /// False if reading these ranges would wait for the network.
  bool is_available(const std::string& name, std::span<const ByteRange> ranges);

 private:
  struct Chunk {
    std::shared_ptr<ObjectOpening> opening;      ///< null once `source` is set
    std::shared_ptr<const ObjectSource> source;  ///< null until opened
  };

  /// Returns an empty Chunk if the name is unknown.
  Chunk find(const std::string& name);
  void keep(const std::string& name, Chunk chunk);
  void forget(const std::string& name);

  ObjectTree& tree_;
  const std::string directory_;
  std::mutex mutex_;
  /// The chunks that are open, and those being opened. Few stay open, because each keeps its first
  /// 64 KiB in memory.
  LruMap<std::string, Chunk> open_{16}, opening_{512};
};

}  // namespace bloscfs::frame::inline store
