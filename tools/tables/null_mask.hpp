#pragma once
// The absent values of a column that stores them in a separate mask.

#include <cstdint>
#include <memory>
#include <vector>

#include "frame/container/snapshot.hpp"
#include "tools/tables/array_reader.hpp"

namespace bloscfs::tools {

class NullMask {
 public:
  /// `notnull` is the leaf NAME.notnull, which is true where a value exists. It is null if all rows
  /// have a value.
  NullMask(std::shared_ptr<const frame::Snapshot> notnull, RunLimits& limits);

  /// Loads the mask of rows. Throws Error(malformed) if the mask has fewer rows.
  void load(std::int64_t first, std::int64_t count);
  /// True if a loaded row has no value.
  bool is_absent(std::int64_t row) const {
    return array_ && has_value_[static_cast<std::size_t>(row - first_)] == 0;
  }

 private:
  std::unique_ptr<ArrayReader> array_;
  std::int64_t first_ = 0;
  std::vector<std::uint8_t> has_value_;
};

}  // namespace bloscfs::tools
