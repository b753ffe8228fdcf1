#pragma once
// The positions of a grid's cells in a picture.

#include <cstdint>
#include <string>

#include "fs/survey/chunk_grid.hpp"

namespace bloscfs::tools {

/// All lengths are in cells.
class MapLayout {
 public:
  explicit MapLayout(const fs::ChunkGrid& grid);

  std::int64_t columns() const { return columns_; }
  std::int64_t rows() const { return rows_; }
  struct Position {
    std::int64_t x, y;
  };
  Position position(std::int64_t cell) const;
  /// Returns a sentence that says how to read the picture.
  const std::string& explanation() const { return explanation_; }

 private:
  void set_sequence(std::int64_t count);
  void set_panels(std::int64_t count);

  std::int64_t width_ = 1, height_ = 1;  ///< of a panel, which shows the last two axes
  std::int64_t panels_along_ = 1;        ///< panels next to each other
  bool is_sequence_ = true;
  std::int64_t columns_ = 1, rows_ = 1;
  std::string explanation_;
};

}  // namespace bloscfs::tools
