#pragma once
// Finds where the items of two containers differ.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tools/elements.hpp"

namespace bloscfs::tools {

struct ContentDifference {
  std::int64_t first_item = 0;  ///< in C order
  std::vector<std::uint8_t> first_value, other_value;
  std::int64_t items = 1;  ///< differing items, as far as counted
};

/// For use by one thread.
class ContentComparison {
 public:
  /// Compares items of `itemsize` bytes, up to the end of the shorter side. The inputs and elements
  /// must outlive this object.
  ContentComparison(Input& first_input, Elements& first, Input& other_input, Elements& other,
                    std::int64_t itemsize);

  /// Returns the first difference. With `count_all`, also counts all that follow. Calls `done` with
  /// the bytes of each side that have been compared. Does not decode chunks whose stored bytes are
  /// equal. Throws what Elements::read() throws.
  std::optional<ContentDifference> run(bool count_all,
                                       const std::function<void(std::int64_t)>& done);

 private:
  bool have_same_layout() const;
  bool have_equal_stored_bytes(std::int64_t first_chunk, std::int64_t end_chunk);
  bool has_equal_stored_bytes(std::int64_t chunk);
  /// Looks at the chunk, or for an array at the row of chunks, that begins at `offset`, and sets
  /// `next` to its end. Returns `next` if the stored bytes of both sides are equal, else `offset`.
  std::int64_t skip_equal_chunks(std::int64_t offset, std::int64_t& next);
  std::int64_t skip_holes(std::int64_t offset) const;
  void compare(std::int64_t offset, std::int64_t end);

  Input& first_input_;
  Elements& first_;
  Input& other_input_;
  Elements& other_;
  const std::int64_t itemsize_;
  const std::int64_t nbytes_;
  const bool same_layout_;
  std::optional<frame::ArrayGeometry> geometry_;  ///< only for arrays with the same layout
  std::optional<ContentDifference> found_;
  std::vector<std::uint8_t> first_bytes_, other_bytes_;
};

}  // namespace bloscfs::tools
