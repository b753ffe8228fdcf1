#pragma once
// What a frame beside the file is made of: the file with all that was written to it.

#include <cstdint>
#include <vector>

#include "fs/content/layer.hpp"
#include "fs/encoding/plain_to_frame.hpp"
#include "fs/view/file_view.hpp"

namespace bloscfs::fs {

/// Borrows the view, which may be null, and the layer. What that was written over is there if it
/// can still be read, as from a file that was replaced by rename; else zeros stand for it, but for
/// the header of an array. Errors: as FileView's.
class PendingBytes final : public FileBytes {
 public:
  PendingBytes(const FileView* view, bool can_read, const Layer& layer, std::int64_t size)
      : base_(can_read ? view : nullptr),
        header_(view == nullptr ? std::vector<std::uint8_t>() : view->shape().header),
        layer_(layer),
        size_(size) {}

  std::int64_t size() const override { return size_; }
  std::int64_t next_data(Request& request, std::int64_t offset) const override;
  void read(Request& request, std::int64_t offset, codec::MutableBytes out) const override;

 private:
  /// The same for what it was written over, where that is not zeroed.
  std::int64_t next_below(Request& request, std::int64_t offset) const;

  const FileView* base_;
  const std::vector<std::uint8_t> header_;
  const Layer& layer_;
  const std::int64_t size_;
};

}  // namespace bloscfs::fs
