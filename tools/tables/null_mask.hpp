#pragma once
// Which values of a column are absent, where that is stored beside them.

#include <cstdint>
#include <memory>
#include <vector>

#include "frame/container/snapshot.hpp"
#include "tools/tables/array_reader.hpp"

namespace bloscfs::tools {

class NullMask {
 public:
  /// `notnull` is the leaf NAME.notnull, true where there is a value; null where all rows have one.
  NullMask(std::shared_ptr<const frame::Snapshot> notnull, RunLimits& limits);

  /// Throws Error(malformed) where the mask ends before.
  void load(std::int64_t first, std::int64_t count);
  /// Of rows that are loaded.
  bool is_absent(std::int64_t row) const {
    return array_ && has_value_[static_cast<std::size_t>(row - first_)] == 0;
  }

 private:
  std::unique_ptr<ArrayReader> array_;
  std::int64_t first_ = 0;
  std::vector<std::uint8_t> has_value_;
};

}  // namespace bloscfs::tools
