#pragma once
// The bytes of a file that nothing changes: a frozen layer over the committed state.

#include <cstdint>
#include <vector>

#include "fs/content/layer.hpp"
#include "fs/view/file_view.hpp"

namespace bloscfs::fs {

/// Borrows the view and the layer, which stay unchanged. Thread-safe. Throws the errors of
/// FileView.
struct FrozenBytes {
  const FileView* view = nullptr;  ///< null: nothing is committed
  const Layer* layer = nullptr;
  std::int64_t size = 0;  ///< of the file

  void read(Request& request, std::int64_t offset, codec::MutableBytes out) const;
  /// Reads the first bytes: `most`, or as many as the file has.
  std::vector<std::uint8_t> read_start(Request& request, std::size_t most) const;
  /// Returns null if the view is null.
  const frame::Snapshot* snapshot() const {
    return view == nullptr ? nullptr : &view->reader().snapshot();
  }
};

/// Reads bytes of a view, which may be null. Bytes behind `end` and behind the end of the view are
/// zeros.
void read_committed(Request& request, const FileView* view, std::int64_t end, std::int64_t offset,
                    codec::MutableBytes out);

}  // namespace bloscfs::fs
