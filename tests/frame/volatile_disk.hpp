#pragma once
// A disk with a cache that a power cut empties.

#include <memory>
#include <random>
#include <vector>

#include "tests/frame/memory_store.hpp"

namespace bloscfs::frame::test {

class VolatileDisk {
 public:
  /// Everything on `before` is durable.
  explicit VolatileDisk(const MemoryDisk& before) : durable_(before.clone()) {}

  /// Operations must be passed in the order in which they were made.
  void perform(const StoreOperation& operation);
  /// Returns what a power cut leaves now. If `random` is null, that is everything. Otherwise, each
  /// operation that was not synced is kept or lost at random; of a write, each sector of 512 bytes.
  /// Moves of directories are kept in order up to a random one, so that no directory gets two
  /// places or becomes a child of itself.
  std::shared_ptr<MemoryDisk> after_cut(std::mt19937* random) const;

 private:
  std::shared_ptr<MemoryDisk> durable_;
  std::vector<StoreOperation> pending_;
};

}  // namespace bloscfs::frame::test
