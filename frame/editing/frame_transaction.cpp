#include "frame/editing/frame_transaction.hpp"

#include <algorithm>
#include <cerrno>
#include <stdexcept>

#include <fmt/core.h>

#include "codec/chunk_encoder.hpp"
#include "frame/container/checksum.hpp"
#include "frame/editing/special_chunk.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline editing {
namespace {

using codec::SpecialValue;

/// Checks that a chunk is valid in a frame (frame/formats/cframe.md, "Chunks in a frame").
codec::ChunkHeader check_stored(codec::Bytes stored, const FrameInfo& frame) {
  const codec::ChunkHeader header =
      codec::parse_chunk_header(stored.first(std::min(stored.size(), codec::kChunkHeaderBytes)),
                                stored.size(), frame.typesize);
  if (static_cast<std::size_t>(header.cbytes) != stored.size())
    throw_errno(EINVAL, fmt::format("a chunk of {} bytes in {}", header.cbytes, stored.size()));
  if (header.header_size != codec::kExtendedHeaderSize || header.vl_blocks)
    throw_errno(EINVAL, "a chunk of Blosc1 or with VL blocks");
  if (header.is_special() && header.special != SpecialValue::value)
    throw_errno(EINVAL, "a special chunk with stored bytes");
  if (frame.has_blocked_array() && !header.is_special() && header.blocksize != frame.blocksize)
    throw_errno(EINVAL, fmt::format("blocks of {} bytes in an array of blocks of {}",
                                    header.blocksize, frame.blocksize));
  return header;
}

/// Returns the settings for vlmetalayers, which are C-Blosc2's defaults.
codec::EncodeSettings vlmetalayer_settings() {
  codec::EncodeSettings settings;
  settings.typesize = 8;
  settings.filters.back().id = codec::FilterId::shuffle;
  return settings;
}

}  // namespace

FrameTransaction::FrameTransaction(FrameEdit edit, std::unique_ptr<CommitTarget> target)
    : edit_(std::move(edit)), target_(std::move(target)) {}

void FrameTransaction::expect(Step step) const {
  if (step_ != step) throw std::logic_error("a transaction's steps out of order");
}

FrameEdit& FrameTransaction::changing() {
  expect(Step::changing);
  return edit_;
}

void FrameTransaction::discard(const std::vector<PutChunk>& chunks) {
  for (const PutChunk& chunk : chunks)
    if (chunk.is_stored()) target_->discard_chunk(chunk);
}

void FrameTransaction::put(std::int64_t number, const PutChunk& chunk) {
  // No header refers to a chunk that this transaction itself put before, so its space is free at
  // once.
  if (const auto replaced = edit_.put(number, chunk)) discard({*replaced});
}

void FrameTransaction::put_chunks(std::span<const NumberedChunk> chunks) {
  std::vector<codec::ChunkHeader> headers;
  for (const NumberedChunk& chunk : chunks) {
    changing().check_chunk(chunk.number);
    headers.push_back(check_stored(chunk.stored, info()));
  }
  // All chunks are checked before the first one is stored. A call that throws has put nothing.
  const std::vector<std::int64_t> entries = target_->store_chunks(chunks);
  for (std::size_t i = 0; i < chunks.size(); i++)
    put(chunks[i].number, {entries[i], headers[i].nbytes, headers[i].cbytes,
                           edit_.keeps_checksums() ? checksum_of(chunks[i].stored) : 0});
}

void FrameTransaction::put_special(std::int64_t number, SpecialValue value) {
  changing().check_chunk(number);
  if (value == SpecialValue::nan && info().typesize != 4 && info().typesize != 8)
    throw_errno(EINVAL, fmt::format("NaNs of {} bytes", info().typesize));
  // In a fixed-size frame the index entry is enough. In a variable-size frame it does not tell the
  // chunk's size, so a stored chunk must.
  if (!info().variable_chunks) return put(number, {special_entry(value), 0, 0, 0});
  const std::int32_t nbytes = edit_.chunk_nbytes(number, decoder_);
  if (nbytes > 0) put_chunk(number, store_special(value, nbytes, info()));
}

// Stores a chunk instead of a special index entry. C-Blosc2 reads special chunks only if they
// consist of whole items.
void FrameTransaction::store_partial_zeros() {
  if (const auto nbytes = edit_.partial_zeros(decoder_))
    put_chunk(info().nchunks - 1, store_special(SpecialValue::zero, *nbytes, info()));
}

void FrameTransaction::resize(std::int64_t nbytes) { discard(changing().resize(nbytes)); }

void FrameTransaction::set_chunksize(std::int32_t chunksize, std::int32_t blocksize) {
  changing().set_chunksize(chunksize, blocksize);
}

void FrameTransaction::set_shape(const std::vector<std::int64_t>& shape) {
  discard(changing().set_shape(shape));
}

void FrameTransaction::set_vlmetalayer(const std::string& name, codec::Bytes content) {
  expect(Step::changing);
  codec::ChunkEncoder encoder(vlmetalayer_settings());
  edit_.set_vlmetalayer(name, encoder.encode_stored(content));
}

void FrameTransaction::copy_vlmetalayer(const Snapshot& from, const MetalayerEntry& entry) {
  changing().copy_vlmetalayer(from.source(), entry);
}

bool FrameTransaction::remove_vlmetalayer(const std::string& name) {
  return changing().remove_vlmetalayer(name);
}

void FrameTransaction::set_metalayer(const std::string& name, codec::Bytes content) {
  changing().set_metalayer(name, content);
}

bool FrameTransaction::remove_metalayer(const std::string& name) {
  return changing().remove_metalayer(name);
}

void FrameTransaction::set_times(const FileTimes& times) {
  expect(Step::changing);
  times_ = times;
}

void FrameTransaction::write() {
  expect(Step::changing);
  // A last chunk of zeros that ends within an item is stored as a chunk.
  store_partial_zeros();
  // Chunks that were stored in the background may lie elsewhere: the index gets their new entries.
  edit_.move_chunks(target_->await_chunks());
  edit_.check_sizes(decoder_);
  target_->write(edit_, times_);
  step_ = Step::written;
}

void FrameTransaction::begin_flush() {
  expect(Step::changing);
  target_->begin_flush();
}

void FrameTransaction::flush() {
  if (step_ != Step::written) expect(Step::published);
  // A failed flush cannot be repeated. The kernel may have dropped the pages that it could not
  // write, and a second flush would then succeed without them.
  const Step next = step_ == Step::written ? Step::flushed : Step::durable;
  step_ = Step::failed;
  target_->flush();
  step_ = next;
}

void FrameTransaction::flushed() {
  if (step_ != Step::written) expect(Step::published);
  step_ = step_ == Step::written ? Step::flushed : Step::durable;
}

FileStamp FrameTransaction::publish() {
  expect(Step::flushed);
  step_ = Step::failed;
  const FileStamp stamp = target_->publish(times_);
  step_ = Step::published;
  return stamp;
}

std::shared_ptr<const Snapshot> FrameTransaction::finish() {
  expect(Step::durable);
  auto snapshot = target_->finish();
  step_ = Step::finished;
  return snapshot;
}

}  // namespace bloscfs::frame::inline editing
