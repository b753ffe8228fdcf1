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
  std::int64_t items = 1;  ///< that differ, as far as they were counted
};

/// For one thread.
class ContentComparison {
 public:
  /// Items of `itemsize` bytes, of which only those that both have are compared. The two outlive
  /// it.
  ContentComparison(Input& first_input, Elements& first, Input& other_input, Elements& other,
                    std::int64_t itemsize);

  /// Goes on behind the first difference where all are to be counted. `done` is called with the
  /// bytes of each side that have been compared. Chunks that are the same as they are stored are
  /// not decoded. Errors as Elements'.
  std::optional<ContentDifference> run(bool count_all,
                                       const std::function<void(std::int64_t)>& done);

 private:
  bool have_same_layout() const;
  bool are_stored_alike(std::int64_t first_chunk, std::int64_t end_chunk);
  bool is_stored_alike(std::int64_t chunk);
  /// The end of the bytes from `offset` on that are the same as they are stored, which begins a
  /// chunk or a row of them; `offset` where they are not. Sets where the next one begins.
  std::int64_t skip_alike(std::int64_t offset, std::int64_t& next);
  std::int64_t skip_holes(std::int64_t offset) const;
  void compare(std::int64_t offset, std::int64_t end);

  Input& first_input_;
  Elements& first_;
  Input& other_input_;
  Elements& other_;
  const std::int64_t itemsize_;
  const std::int64_t nbytes_;
  const bool same_layout_;
  std::optional<frame::ArrayGeometry> geometry_;  ///< of arrays of the same layout
  std::optional<ContentDifference> found_;
  std::vector<std::uint8_t> first_bytes_, other_bytes_;
};

}  // namespace bloscfs::tools
