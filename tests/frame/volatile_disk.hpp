#pragma once
// A disk with a cache that a power cut empties.

#include <memory>
#include <random>
#include <vector>

#include "tests/frame/memory_store.hpp"

namespace bloscfs::frame::test {

class VolatileDisk {
 public:
  /// All that is on `before` is durable.
  explicit VolatileDisk(const MemoryDisk& before) : durable_(before.clone()) {}

  /// Operations in the order in which they were done.
  void perform(const StoreOperation& operation);
  /// What a power cut leaves now. Of what was not synced each operation is there or not, as
  /// `random` has it, writes in sectors of 512 bytes; with null, all of it is there. Directories
  /// alone are moved in order, since each has one place, and none of them is below itself.
  std::shared_ptr<MemoryDisk> after_cut(std::mt19937* random) const;

 private:
  std::shared_ptr<MemoryDisk> durable_;
  std::vector<StoreOperation> pending_;
};

}  // namespace bloscfs::frame::test
