#include "frame/store/object_chunks.hpp"

#include <optional>
#include <utility>

namespace bloscfs::frame::inline store {

ObjectChunks::Chunk ObjectChunks::find(const std::string& name) {
  const std::lock_guard guard(mutex_);
  if (const Chunk* const chunk = open_.find(name)) return *chunk;
  const Chunk* const chunk = opening_.find(name);
  return chunk ? *chunk : Chunk{};
}

void ObjectChunks::keep(const std::string& name, Chunk chunk) {
  std::optional<Chunk> dropped, opening;  // destroyed after the lock is released
  const std::lock_guard guard(mutex_);
  // Another thread has opened the chunk already.
  if (!chunk.source && open_.peek(name)) return;
  opening = opening_.take(name);
  dropped = (chunk.source ? open_ : opening_).put(name, std::move(chunk));
}

/// Forgets a chunk that could not be opened, so that the next open() asks the object store again.
void ObjectChunks::forget(const std::string& name) {
  std::optional<Chunk> dropped;  // destroyed after the lock is released
  const std::lock_guard guard(mutex_);
  dropped = opening_.take(name);
}

std::shared_ptr<const ObjectSource> ObjectChunks::open(const std::string& name) {
  Chunk chunk = find(name);
  if (chunk.source) return chunk.source;
  try {
    chunk.source = chunk.opening && !chunk.opening->is_lost()
                       ? chunk.opening->wait()
                       : tree_.open(directory_ + "/" + name, nullptr);
  } catch (...) {
    forget(name);
    throw;
  }
  chunk.opening.reset();
  auto source = chunk.source;
  keep(name, std::move(chunk));
  return source;
}

void ObjectChunks::expect(const std::string& name, std::span<const ByteRange> ranges) {
  Chunk chunk = find(name);
  if (chunk.source) return chunk.source->expect(ranges);
  if (chunk.opening && !chunk.opening->is_lost()) return chunk.opening->expect(ranges);
  chunk.opening = tree_.begin(directory_ + "/" + name, ranges, this);
  if (chunk.opening) keep(name, std::move(chunk));
}

bool ObjectChunks::is_available(const std::string& name, std::span<const ByteRange> ranges) {
  const Chunk chunk = find(name);
  if (chunk.source) return chunk.source->is_available(ranges);
  return chunk.opening && chunk.opening->is_available(ranges);
}

}  // namespace bloscfs::frame::inline store
