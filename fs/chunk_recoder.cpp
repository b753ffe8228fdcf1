#include "fs/chunk_recoder.hpp"

#include <utility>

namespace bloscfs::fs {

ChunkRecoder::ChunkRecoder(const codec::EncodeSettings& settings, WorkerPool& pool,
                           std::size_t at_once, Put put)
    : settings_(settings), pool_(pool), at_once_(at_once), put_(std::move(put)) {}

ChunkRecoder::~ChunkRecoder() {
  for (const auto& job : jobs_) wait_for(*job);
}

std::unique_ptr<codec::ChunkEncoder> ChunkRecoder::take_encoder() {
  const MutexLock lock(mutex_);
  if (idle_.empty()) return std::make_unique<codec::ChunkEncoder>(settings_);
  auto encoder = std::move(idle_.back());
  idle_.pop_back();
  return encoder;
}

void ChunkRecoder::run(Job& job) {
  std::unique_ptr<codec::ChunkEncoder> encoder;
  try {
    encoder = take_encoder();
    job.result = job.encode(*encoder);
  } catch (...) {
    job.error = std::current_exception();
  }
  const MutexLock lock(mutex_);
  if (encoder) idle_.push_back(std::move(encoder));
  job.done = true;
  done_.notify_all();
}

void ChunkRecoder::add(std::int64_t chunk, Encode encode) {
  while (jobs_.size() >= at_once_) hand_over_first();
  auto job = std::make_shared<Job>();
  job->chunk = chunk;
  job->encode = std::move(encode);
  jobs_.push_back(job);
  pool_.post([this, job] { run(*job); });
}

void ChunkRecoder::wait_for(const Job& job) {
  const MutexLock lock(mutex_);
  while (!job.done) done_.wait(mutex_);
}

void ChunkRecoder::hand_over_first() {
  const std::shared_ptr<Job> job = jobs_.front();
  wait_for(*job);
  jobs_.pop_front();
  if (job->error) std::rethrow_exception(job->error);
  put_(job->chunk, job->result);
}

void ChunkRecoder::finish() {
  while (!jobs_.empty()) hand_over_first();
}

}  // namespace bloscfs::fs
