#include "tools/conversion.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/header/b2nd.hpp"
#include "tools/interrupt.hpp"

namespace bloscfs::tools {
namespace {

std::int64_t chunksize_of(const frame::FrameSettings& frame) {
  return frame.array ? frame::array_sizes(*frame.array, frame.typesize).chunksize : frame.chunksize;
}

/// True if frame::Transaction::put_chunks() can store the bytes of the chunk in the new frame
/// unchanged.
bool is_regular(const codec::ChunkHeader& header, const frame::FrameInfo& info, std::size_t size,
                std::size_t room) {
  if (header.header_size != codec::kExtendedHeaderSize || header.vl_blocks) return false;
  if (info.has_blocked_array() && header.blocksize != info.blocksize) return false;
  return static_cast<std::size_t>(header.nbytes) == size &&
         static_cast<std::size_t>(header.cbytes) <= room;
}

}  // namespace

Conversion::Conversion(Input& input, Elements& elements, const ConversionPlan& plan,
                       unsigned threads, FrameOutput& out,
                       std::function<void(std::int64_t)> advance)
    : input_(input),
      elements_(elements),
      plan_(plan),
      out_(out),
      advance_(std::move(advance)),
      chunksize_(chunksize_of(plan.target.frame)),
      pipeline_(plan.target.encode, threads,
                [this](const fs::RecodedChunk& chunk) { store(chunk); }) {
  if (plan.target.frame.array) regions_.emplace(elements, *plan.target.frame.array);
}

void Conversion::run() {
  const std::int64_t count = chunk_count();
  for (std::int64_t chunk = 0; chunk < count; chunk++) {
    throw_if_interrupted();
    add(chunk);
  }
  pipeline_.finish();
}

std::int64_t Conversion::chunk_count() const {
  return regions_ ? regions_->chunk_count() : (elements_.nbytes() + chunksize_ - 1) / chunksize_;
}

std::size_t Conversion::chunk_size(std::int64_t chunk) const {
  const std::int64_t rest = elements_.nbytes() - chunk * chunksize_;
  return static_cast<std::size_t>(regions_ ? chunksize_ : std::min(chunksize_, rest));
}

void Conversion::add(std::int64_t chunk) {
  const std::size_t size = chunk_size(chunk);
  pipeline_.add_made(size, [this, chunk, size](fs::Request&, codec::ChunkEncoder& encoder,
                                               codec::MutableBytes out) {
    return plan_.copies_chunks ? copy(chunk, size, encoder, out)
                               : reencode(chunk, size, encoder, out);
  });
}

/// Keeps the special value or the stored bytes of a chunk where the new frame can have them.
/// Otherwise decodes the chunk and encodes it anew.
codec::EncodedSize Conversion::copy(std::int64_t chunk, std::size_t size,
                                    codec::ChunkEncoder& encoder, codec::MutableBytes out) {
  fs::Request request;
  const auto opened = input_.reader().open_chunk(request, chunk);
  const codec::ChunkHeader& header = opened->chunk.header();
  if (header.is_special() && header.special != codec::SpecialValue::value) {
    const bool is_whole = size % static_cast<std::size_t>(elements_.itemsize()) == 0;
    if (is_whole && header.special != codec::SpecialValue::nan) return {header.special, 0};
  } else if (is_regular(header, input_.info(), size, out.size())) {
    const auto stored = static_cast<std::size_t>(header.cbytes);
    input_.snapshot().read_stored(*opened, {0, header.cbytes}, out.first(stored));
    return {codec::SpecialValue::none, stored};
  }
  require_chunk_limit(size);
  const fs::MemoryBudget::Part part(input_.limits().cache().budget(), size);
  std::vector<std::uint8_t> contents(size);
  input_.reader().visit_chunk(
      request, chunk, 0, static_cast<std::int64_t>(size),
      [&](const fs::BlockReader::Span& span, std::int64_t position) {
        span.copy(0, codec::MutableBytes(contents).subspan(static_cast<std::size_t>(position),
                                                           static_cast<std::size_t>(span.size)));
      });
  return encoder.encode_into(contents, out);
}

codec::EncodedSize Conversion::reencode(std::int64_t chunk, std::size_t size,
                                        codec::ChunkEncoder& encoder, codec::MutableBytes out) {
  if (is_hole(chunk)) return {codec::SpecialValue::zero, 0};
  require_chunk_limit(size);
  const fs::MemoryBudget::Part part(input_.limits().cache().budget(), size);
  std::vector<std::uint8_t> contents(size);
  read(chunk, contents);
  return encoder.encode_into(contents, out);
}

void Conversion::require_chunk_limit(std::size_t size) const {
  if (plan_.has_asked_chunks || size <= RunLimits::kMaxWholeChunk) return;
  throw codec::Error(codec::FormatErrc::too_large,
                     fmt::format("chunks of {} bytes take too much memory to encode: give another "
                                 "--chunk-size or --chunk-shape",
                                 size));
}

bool Conversion::is_hole(std::int64_t chunk) const {
  if (regions_) return regions_->is_hole(chunk);
  const std::int64_t begin = chunk * chunksize_;
  const std::int64_t end = std::min(begin + chunksize_, elements_.nbytes());
  fs::Request request;
  return elements_.view().seek_data(request, begin).value_or(end) >= end;
}

void Conversion::read(std::int64_t chunk, codec::MutableBytes contents) {
  if (regions_)
    regions_->read_chunk(chunk, contents);
  else
    elements_.read(chunk * chunksize_, contents);
}

void Conversion::store(const fs::RecodedChunk& chunk) {
  const std::int64_t end = std::min((chunk.number + 1) * chunksize_, elements_.nbytes());
  out_.add_chunk(end, chunk.special, chunk.stored);
  const std::int64_t begin = std::min(chunk.number * chunksize_, elements_.nbytes());
  advance_(end - begin);
}

}  // namespace bloscfs::tools
