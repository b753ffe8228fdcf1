#include "tools/ordered_output.hpp"

namespace bloscfs::tools {
namespace {

/// A thread may begin a piece only if at most this many pieces lie between it and the first one
/// that has not ended.
constexpr std::uint64_t kMaxAhead = 256;
/// Most bytes that a piece may hold back until the pieces before it have ended.
constexpr std::size_t kMaxKept = std::size_t{64} << 10;

}  // namespace

void OrderedOutput::begin(std::uint64_t piece) {
  const fs::MutexLock lock(mutex_);
  while (piece > first_ + kMaxAhead) first_changed_.wait(mutex_);
}

void OrderedOutput::add(std::uint64_t piece, std::FILE* stream, const std::string& line) {
  const fs::MutexLock lock(mutex_);
  Kept& kept = kept_[piece];
  kept.stream = stream;
  kept.text += line;
  kept.text += '\n';
  while (piece != first_ && kept.text.size() > kMaxKept) first_changed_.wait(mutex_);
  if (piece == first_) print(kept);
}

void OrderedOutput::end(std::uint64_t piece) {
  const fs::MutexLock lock(mutex_);
  kept_[piece].has_ended = true;
  if (piece == first_) print_first();
}

void OrderedOutput::print_first() {
  for (auto at = kept_.find(first_); at != kept_.end(); at = kept_.find(first_)) {
    print(at->second);
    if (!at->second.has_ended) break;
    kept_.erase(at);
    first_++;
  }
  first_changed_.notify_all();
}

void OrderedOutput::print(Kept& kept) {
  if (kept.text.empty()) return;
  progress_.clear();
  std::fwrite(kept.text.data(), 1, kept.text.size(), kept.stream);
  kept.text.clear();
}

void OrderedOutput::advance(std::int64_t bytes) {
  const std::int64_t done = done_ += bytes;
  // Does not wait while another thread prints. The next call draws the progress.
  if (!mutex_.try_lock()) return;
  progress_.update(done);
  mutex_.unlock();
}

void OrderedOutput::set_file(const std::string& name) {
  const fs::MutexLock lock(mutex_);
  progress_.set_file(name);
}

void OrderedOutput::count_file(std::int64_t bytes_in, std::int64_t bytes_out) {
  const fs::MutexLock lock(mutex_);
  summary_.files++;
  summary_.bytes_in += bytes_in;
  summary_.bytes_out += bytes_out;
}

void OrderedOutput::finish() {
  const fs::MutexLock lock(mutex_);
  progress_.finish(summary_);
}

}  // namespace bloscfs::tools
