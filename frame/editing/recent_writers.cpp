#include "frame/editing/recent_writers.hpp"

#include <algorithm>
#include <utility>

namespace bloscfs::frame::inline editing {
namespace {

constexpr std::size_t kMostMemory = std::size_t{4} << 20;

}  // namespace

void RecentWriters::add(const FileId& file, std::shared_ptr<ExpectedState> state,
                        const GracePeriod& time) {
  const auto notes = state->notes();
  if (!notes) return;
  const std::size_t memory = sizeof(Ended) + notes->memory();
  const auto now = time.clock->now();
  const std::lock_guard guard(mutex_);
  remove(file);
  ended_.push_back({file, now + time.time, std::move(state), memory});
  memory_ += memory;
  while (!ended_.empty() && (memory_ > kMostMemory || ended_.front().until <= now)) {
    memory_ -= ended_.front().memory;
    ended_.pop_front();
  }
}

std::shared_ptr<WriterNotes> RecentWriters::take(const ByteSource& file) {
  std::shared_ptr<ExpectedState> state;
  {
    const std::lock_guard guard(mutex_);
    state = remove(id_of(file.stamp()));
  }
  if (!state || !state->matches(file)) return nullptr;
  auto notes = state->notes();
  // A writer that opens the file from a snapshot of that state must not get the notes a second
  // time.
  state->store_notes(nullptr);
  return notes;
}

std::shared_ptr<ExpectedState> RecentWriters::remove(const FileId& file) {
  const auto found = std::find_if(ended_.begin(), ended_.end(),
                                  [&](const Ended& ended) { return ended.file == file; });
  if (found == ended_.end()) return nullptr;
  auto state = std::move(found->state);
  memory_ -= found->memory;
  ended_.erase(found);
  return state;
}

}  // namespace bloscfs::frame::inline editing
