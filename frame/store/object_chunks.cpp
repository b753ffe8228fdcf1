#include "frame/store/object_chunks.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace bloscfs::frame::inline store {
namespace {

/// Each that is open has its first 64 KiB.
constexpr std::size_t kMostOpen = 16, kMostComing = 512;

}  // namespace

ObjectChunks::Chunk ObjectChunks::find(const std::string& name) {
  const std::lock_guard guard(mutex_);
  for (Chunks* chunks : {&open_, &coming_}) {
    const auto found = std::find_if(chunks->begin(), chunks->end(),
                                    [&](const Chunk& chunk) { return chunk.name == name; });
    if (found == chunks->end()) continue;
    chunks->splice(chunks->begin(), *chunks, found);
    return *found;
  }
  return {name, nullptr, nullptr};
}

void ObjectChunks::keep(Chunk chunk) {
  Chunks dropped;  // destroyed behind the lock
  const std::lock_guard guard(mutex_);
  for (Chunks* chunks : {&open_, &coming_})
    for (auto at = chunks->begin(); at != chunks->end();) {
      const auto next = std::next(at);
      if (at->name == chunk.name) dropped.splice(dropped.begin(), *chunks, at);
      at = next;
    }
  Chunks& chunks = chunk.source ? open_ : coming_;
  chunks.push_front(std::move(chunk));
  if (open_.size() > kMostOpen) dropped.splice(dropped.begin(), open_, std::prev(open_.end()));
  if (coming_.size() > kMostComing)
    dropped.splice(dropped.begin(), coming_, std::prev(coming_.end()));
}

/// Nothing that failed is remembered.
void ObjectChunks::forget(const std::string& name) {
  Chunks dropped;
  const std::lock_guard guard(mutex_);
  const auto found = std::find_if(coming_.begin(), coming_.end(),
                                  [&](const Chunk& chunk) { return chunk.name == name; });
  if (found != coming_.end()) dropped.splice(dropped.begin(), coming_, found);
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
  keep(std::move(chunk));
  return source;
}

void ObjectChunks::expect(const std::string& name, std::span<const ByteRange> ranges) {
  Chunk chunk = find(name);
  if (chunk.source) return chunk.source->expect(ranges);
  if (chunk.opening && !chunk.opening->is_lost()) return chunk.opening->expect(ranges);
  chunk.opening = tree_.begin(directory_ + "/" + name, ranges, this);
  if (chunk.opening) keep(std::move(chunk));
}

bool ObjectChunks::is_at_hand(const std::string& name, std::span<const ByteRange> ranges) {
  const Chunk chunk = find(name);
  if (chunk.source) return chunk.source->is_at_hand(ranges);
  return chunk.opening && chunk.opening->is_at_hand(ranges);
}

}  // namespace bloscfs::frame::inline store
