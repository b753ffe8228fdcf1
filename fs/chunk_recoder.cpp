#include "fs/chunk_recoder.hpp"

#include <optional>
#include <utility>

namespace bloscfs::fs {
namespace {

constexpr std::size_t kKeptEncoder = std::size_t{1} << 20;

}  // namespace

codec::EncodedSize encode_whole(codec::ChunkEncoder& encoder, codec::Bytes contents,
                                CellBytes& out) {
  return encoder.encode_into(contents, room_for_chunk(out, contents.size()));
}

void put_encoded(frame::Transaction& transaction, std::int64_t chunk, codec::SpecialValue special,
                 codec::Bytes stored) {
  if (special != codec::SpecialValue::none)
    transaction.put_special(chunk, special);
  else
    transaction.put_chunk(chunk, stored);
}

ChunkRecoder::ChunkRecoder(const codec::EncodeSettings& settings, WorkerPool& pool,
                           std::size_t at_once, Put put)
    : settings_(settings), pool_(pool), at_once_(at_once), put_(std::move(put)) {}

ChunkRecoder::~ChunkRecoder() {
  for (const auto& job : jobs_)
    if (job != last_) wait_for(*job);
}

void ChunkRecoder::run(Job& job) {
  // Kept from one commit to the next: its buffers and contexts take longer to make than a small
  // chunk to encode.
  static thread_local std::optional<codec::ChunkEncoder> encoder;
  try {
    if (!encoder || encoder->settings() != settings_) encoder.emplace(settings_);
    job.result = job.encode(*encoder, job.stored);
    if (encoder->scratch_memory() > kKeptEncoder) encoder.reset();
  } catch (...) {
    job.error = std::current_exception();
    encoder.reset();
  }
  const MutexLock lock(mutex_);
  job.done = true;
  done_.notify_all();
}

void ChunkRecoder::add(std::int64_t chunk, Encode encode) {
  while (jobs_.size() >= at_once_) hand_over_first();
  auto job = std::make_shared<Job>();
  job->chunk = chunk;
  job->encode = std::move(encode);
  if (!spare_.empty()) {
    job->stored = std::move(spare_.back());
    spare_.pop_back();
  }
  jobs_.push_back(job);
  if (last_) pool_.post([this, begun = last_] { run(*begun); });
  last_ = std::move(job);
}

void ChunkRecoder::wait_for(const Job& job) {
  const MutexLock lock(mutex_);
  while (!job.done) done_.wait(mutex_);
}

void ChunkRecoder::hand_over_first() {
  const std::shared_ptr<Job> job = jobs_.front();
  if (job == last_)
    run(*std::exchange(last_, nullptr));
  else
    wait_for(*job);
  jobs_.pop_front();
  if (job->error) std::rethrow_exception(job->error);
  put_(job->chunk, job->result.special, codec::Bytes(job->stored).first(job->result.stored));
  spare_.push_back(std::move(job->stored));
}

void ChunkRecoder::finish() {
  while (!jobs_.empty()) hand_over_first();
}

}  // namespace bloscfs::fs
