#pragma once
// A file's bytes while nobody writes to them: a layer over what is committed.

#include <cstdint>
#include <vector>

#include "fs/content/layer.hpp"
#include "fs/view/file_view.hpp"

namespace bloscfs::fs {

/// Borrows both parts, which nobody changes. Thread-safe. Errors: as FileView's.
struct FrozenBytes {
  const FileView* view = nullptr;  ///< null: nothing is committed
  const Layer* layer = nullptr;
  std::int64_t size = 0;  ///< of the file

  void read(Request& request, std::int64_t offset, codec::MutableBytes out) const;
  /// The first bytes, as many as are asked for or the file has.
  std::vector<std::uint8_t> read_start(Request& request, std::size_t most) const;
  /// Null where the view is.
  const frame::Snapshot* snapshot() const {
    return view == nullptr ? nullptr : &view->reader().snapshot();
  }
};

/// Bytes of a view, which may be null: zeros behind `end`, and behind the end of the view.
void read_committed(Request& request, const FileView* view, std::int64_t end, std::int64_t offset,
                    codec::MutableBytes out);

}  // namespace bloscfs::fs
