#include "fs/content/written.hpp"

#include <algorithm>
#include <utility>

namespace bloscfs::fs {

std::int64_t Written::lower_end() const {
  return frozen_ ? std::min(frozen_->lower_end, live_.lower_end) : live_.lower_end;
}

bool Written::is_untouched(std::int64_t offset, std::int64_t size) const {
  return !live_.hides(offset, size) && !(frozen_ && frozen_->hides(offset, size)) &&
         offset + size <= committed_;
}

void Written::apply(std::int64_t offset, codec::MutableBytes out) const {
  if (frozen_) frozen_->apply(offset, out);
  live_.apply(offset, out);
}

std::int64_t Written::data_size() const {
  std::int64_t data =
      std::min(committed_, live_.lower_end) + static_cast<std::int64_t>(live_.bytes.memory());
  if (frozen_) data += static_cast<std::int64_t>(frozen_->bytes.memory());
  return std::min(size_, data);
}

std::int64_t Written::written_size() const {
  std::int64_t written = 0;
  const auto count = [&](const ByteOverlay::Part& part) {
    if (part.bytes != nullptr) written += part.size;
  };
  live_.bytes.for_each(0, size_, count);
  if (frozen_) frozen_->bytes.for_each(0, size_, count);
  return written;
}

LayerChanges Written::metalayers() const {
  LayerChanges layers = live_.metalayers;
  // insert() does not overwrite the live layer's changes, which are newer.
  if (frozen_) layers.insert(frozen_->metalayers.begin(), frozen_->metalayers.end());
  return layers;
}

void Written::write(std::int64_t offset, codec::Bytes bytes) {
  live_.bytes.write(offset, bytes);
  size_ = std::max(size_, offset + static_cast<std::int64_t>(bytes.size()));
}

void Written::write(std::int64_t offset, std::span<PooledBuffer> cells) {
  for (PooledBuffer& cell : cells) {
    const auto size = static_cast<std::int64_t>(cell.size());
    live_.bytes.write(offset, cell);
    offset += size;
  }
  size_ = std::max(size_, offset);
}

void Written::resize(std::int64_t size) {
  if (size < size_) {
    // For 100 -> 30 -> 100 bytes, the lower end stays 30. So the last 70 bytes are zeros, and not
    // the committed bytes.
    live_.bytes.truncate(size);
    live_.lower_end = std::min(live_.lower_end, size);
  }
  size_ = size;
}

void Written::set_metalayer(const LayerName& name, LayerChange value) {
  const auto [known, is_new] = live_.metalayers.try_emplace(name);
  if (!is_new) metalayers_memory_ -= memory_of(*known);
  known->second = std::move(value);
  metalayers_memory_ += memory_of(*known);
}

void Written::drop_contents() {
  LayerChanges kept = std::move(live_.metalayers);
  live_.take_all();
  live_.metalayers = std::move(kept);
}

void Written::drop_metalayers() {
  live_.metalayers.clear();
  count_metalayers();
}

void Written::unfreeze() {
  frozen_->merge(live_);
  live_ = std::move(*frozen_);
  frozen_.reset();
  count_metalayers();
}

void Written::drop_frozen() {
  frozen_.reset();
  count_metalayers();
}

void Written::count_metalayers() {
  metalayers_memory_ = memory_of(live_.metalayers) + (frozen_ ? memory_of(frozen_->metalayers) : 0);
}

}  // namespace bloscfs::fs
