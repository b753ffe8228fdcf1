#include "fs/content/layer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace bloscfs::fs {

void Layer::apply(std::int64_t offset, codec::MutableBytes out) const {
  const std::int64_t end = offset + static_cast<std::int64_t>(out.size());
  if (end > lower_end) {
    const std::int64_t from = std::max(offset, lower_end);
    std::memset(out.data() + (from - offset), 0, static_cast<std::size_t>(end - from));
  }
  bytes.apply(offset, out);
}

void Layer::merge(const Layer& upper) {
  if (upper.lower_end < lower_end) lower_end = upper.lower_end;
  // Truncate first. The upper layer may have shrunk the file and grown it again: this layer's bytes
  // behind that end must not show through.
  bytes.truncate(upper.lower_end);
  bytes.merge(upper.bytes);
  for (const auto& [name, value] : upper.metalayers) metalayers[name] = value;
}

Layer Layer::split_off_first(std::size_t least) {
  Layer first(bytes.pages());
  first.bytes = bytes.split_off_first(least);
  // The first part will lie below the rest. Truncation, zeros and metalayers may go with it, since
  // the written bytes lie over them.
  first.lower_end = std::exchange(lower_end, kNoEnd);
  first.metalayers = std::exchange(metalayers, {});
  return first;
}

Layer Layer::take_all() { return std::exchange(*this, Layer(bytes.pages())); }

}  // namespace bloscfs::fs
