#include "fs/content/frozen_bytes.hpp"

#include <algorithm>

namespace bloscfs::fs {

void read_committed(Request& request, const FileView* view, std::int64_t end, std::int64_t offset,
                    codec::MutableBytes out) {
  const auto wanted = static_cast<std::int64_t>(out.size());
  const std::int64_t size = view == nullptr ? 0 : std::min(view->size(), end);
  // Of the wanted bytes, those before `end` and before the end of the view.
  const std::int64_t there = std::clamp<std::int64_t>(size - offset, 0, wanted);
  if (there > 0) {
    ReplyData data(view->reader().cache().pages());
    view->read(request, offset, there, data);
    data.copy_to(out.first(static_cast<std::size_t>(there)));
  }
  std::fill(out.begin() + there, out.end(), std::uint8_t{0});
}

void FrozenBytes::read(Request& request, std::int64_t offset, codec::MutableBytes out) const {
  if (view != nullptr)
    view->require_checksums(
        request, offset,
        std::min<std::int64_t>(std::ssize(out),
                               std::max<std::int64_t>(0, layer->lower_end - offset)));
  read_committed(request, view, layer->lower_end, offset, out);
  layer->apply(offset, out);
}

std::vector<std::uint8_t> FrozenBytes::read_start(Request& request, std::size_t most) const {
  std::vector<std::uint8_t> bytes(std::min(most, static_cast<std::size_t>(size)));
  read(request, 0, bytes);
  return bytes;
}

}  // namespace bloscfs::fs
