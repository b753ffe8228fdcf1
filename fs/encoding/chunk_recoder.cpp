#include "fs/encoding/chunk_recoder.hpp"

#include <algorithm>
#include <utility>

namespace bloscfs::fs {
namespace {

/// A thread does not keep an encoder with more scratch memory than this.
constexpr std::size_t kKeptEncoder = std::size_t{1} << 20;

}  // namespace

void put_recoded(frame::Transaction& transaction, std::span<const RecodedChunk> run) {
  std::vector<frame::NumberedChunk> stored;
  for (const RecodedChunk& chunk : run) {
    if (chunk.special != codec::SpecialValue::none)
      transaction.put_special(chunk.number, chunk.special);
    else
      stored.push_back({chunk.number, chunk.stored});
  }
  if (!stored.empty()) transaction.put_chunks(stored);
}

ChunkRecoder::ChunkRecoder(Request& request, const codec::EncodeSettings& settings, PagePool& pages,
                           WorkerPool& pool, MemoryBudget* budget, const RunBounds& bounds, Put put)
    : request_(request),
      settings_(settings),
      pages_(pages),
      pool_(pool),
      bounds_(bounds),
      put_(std::move(put)) {
  if (budget != nullptr) memory_.emplace(*budget);
}

ChunkRecoder::~ChunkRecoder() {
  for (const auto& run : runs_)
    if (run != last_) wait_for(*run);
}

void ChunkRecoder::encode(Request& request, Run& run, codec::ChunkEncoder& encoder) {
  std::size_t room = 0;
  for (const Job& job : run.jobs) room += job.room();
  codec::MutableBytes free = run.stored.room_for(room);
  for (const Job& job : run.jobs) {
    const codec::EncodedSize size = job.encode(request, encoder, free.first(job.room()));
    run.done_chunks.push_back({job.number, job.nbytes, size.special, free.first(size.stored)});
    free = free.subspan(size.stored);
  }
}

void ChunkRecoder::run(Request& request, Run& run) {
  // Each thread keeps its encoder from one commit to the next. Making the buffers and contexts of
  // an encoder takes longer than encoding a small chunk.
  static thread_local std::optional<codec::ChunkEncoder> encoder;
  try {
    if (!encoder || encoder->settings() != settings_) encoder.emplace(settings_);
    encode(request, run, *encoder);
    if (encoder->scratch_memory() > kKeptEncoder) encoder.reset();
  } catch (...) {
    run.error = std::current_exception();
    encoder.reset();
  }
  const MutexLock lock(mutex_);
  run.done = true;
  done_.notify_all();
}

// The first runs are short, so that a small commit also has work for every thread.
std::size_t ChunkRecoder::run_limit() const { return std::min(bounds_.run_size, added_ / 2); }

void ChunkRecoder::begin_run(std::size_t nbytes) {
  while (runs_.size() >= bounds_.runs ||
         (!runs_.empty() && buffered_bytes_ + nbytes > bounds_.bytes))
    hand_over_first();
  auto run = std::make_shared<Run>(pages_);
  if (!spare_.empty()) {
    run->stored = std::move(spare_.back());
    spare_.pop_back();
  }
  runs_.push_back(run);
  // No more chunks are added to the previous run, so a worker may encode it.
  if (last_)
    pool_.post([this, begun = last_] {
      Request own;
      this->run(own, *begun);
    });
  last_ = std::move(run);
}

void ChunkRecoder::add(std::int64_t number, std::size_t nbytes, Encode encode) {
  if (!last_ || last_->nbytes + nbytes > run_limit()) {
    if (last_) added_ += last_->nbytes;
    begin_run(nbytes);
  }
  buffered_bytes_ += nbytes;
  const auto needed =
      static_cast<std::size_t>(memory_to_encode(static_cast<std::int64_t>(buffered_bytes_)));
  if (memory_ && memory_->size() < needed) memory_->resize(needed);
  last_->nbytes += nbytes;
  last_->jobs.push_back({number, nbytes, std::move(encode)});
}

void ChunkRecoder::wait_for(const Run& run) {
  const MutexLock lock(mutex_);
  while (!run.done) done_.wait(mutex_);
}

void ChunkRecoder::hand_over_first() {
  const std::shared_ptr<Run> first = runs_.front();
  // A run that may still grow was not given to a worker: the calling thread encodes it.
  if (first == last_)
    run(request_, *std::exchange(last_, nullptr));
  else
    wait_for(*first);
  runs_.pop_front();
  buffered_bytes_ -= first->nbytes;
  if (first->error) std::rethrow_exception(first->error);
  put_(first->done_chunks);
  if (first->nbytes <= bounds_.bytes) spare_.push_back(std::move(first->stored));
}

void ChunkRecoder::finish() {
  while (!runs_.empty()) hand_over_first();
}

}  // namespace bloscfs::fs
