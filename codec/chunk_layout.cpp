#include "codec/chunk_layout.hpp"

#include <algorithm>
#include <cstring>

#include <boost/endian/conversion.hpp>

#include "codec/special_value.hpp"

namespace bloscfs::codec {
namespace {

constexpr std::size_t kStart = 4;        // bytes of a block's start
constexpr std::size_t kLengthField = 4;  // of a dictionary or stream

std::size_t header_size(const ChunkHeader& header) {
  return static_cast<std::size_t>(header.header_size);
}

void put_int32(MutableBytes out, std::size_t offset, std::size_t value) {
  boost::endian::store_little_s32(out.data() + offset, static_cast<std::int32_t>(value));
}

}  // namespace

std::size_t put_chunk_header(ChunkHeader header, std::size_t stored_size, MutableBytes out) {
  header.cbytes = static_cast<std::int32_t>(stored_size);
  std::memcpy(out.data(), serialize_chunk_header(header).data(), header_size(header));
  return header_size(header);
}

ChunkLayout::ChunkLayout(const ChunkHeader& header, Bytes dictionary, MutableBytes out)
    : header_(header), out_(out) {
  header_.has_dictionary = !dictionary.empty();
  const std::size_t starts_end =
      header_size(header) + kStart * static_cast<std::size_t>(header.block_count);
  first_ = starts_end + (dictionary.empty() ? 0 : kLengthField + dictionary.size());
  written_ = std::min(first_, out.size());
  if (first_ <= out.size() && !dictionary.empty()) {
    put_int32(out, starts_end, dictionary.size());
    std::memcpy(out.data() + starts_end + kLengthField, dictionary.data(), dictionary.size());
  }
}

void ChunkLayout::end_block(std::size_t size) {
  put_int32(out_, header_size(header_) + kStart * blocks_, written_);
  ++blocks_;
  written_ += size;
}

bool ChunkLayout::is_zero() const {
  if (header_.nbytes % header_.full_typesize != 0) return false;
  const std::size_t full = static_cast<std::size_t>(header_.nbytes / header_.blocksize);
  const std::size_t streams =
      full * static_cast<std::size_t>(header_.stream_count(header_.blocksize)) + (blocks_ - full);
  // A run of zeros is a stream that consists only of a length of 0.
  const Bytes streams_bytes = out_.first(written_).subspan(first_);
  return streams_bytes.size() == kLengthField * streams && streams_bytes[0] == 0 &&
         is_run(streams_bytes);
}

std::size_t ChunkLayout::finish() {
  put_chunk_header(header_, written_, out_);
  return written_;
}

}  // namespace bloscfs::codec
