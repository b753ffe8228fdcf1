#include "codec/block_encoder.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include <boost/endian/conversion.hpp>

#include "codec/compressor/codec_table.hpp"
#include "codec/filter/pipeline.hpp"
#include "codec/names.hpp"
#include "codec/noise.hpp"
#include "codec/special_value.hpp"

namespace bloscfs::codec {
namespace {

constexpr std::size_t kStreamPrefix = 4;
constexpr std::uint8_t kRunToken = 0x01;
constexpr std::size_t kMinStream = 16;  // shorter streams are not compressed

/// Writes a run: minus the byte as the size, and a token unless the byte is zero
/// (codec/formats/chunk.md, "Streams").
std::size_t write_run(std::uint8_t byte, MutableBytes out) {
  const std::size_t size = byte == 0 ? kStreamPrefix : kStreamPrefix + 1;
  if (out.size() < size) return 0;
  boost::endian::store_little_s32(out.data(), -std::int32_t{byte});
  if (byte != 0) out[kStreamPrefix] = kRunToken;
  return size;
}

MutableBytes resized(std::vector<std::uint8_t>& scratch, std::size_t size) {
  if (scratch.size() < size) {
    scratch = std::vector<std::uint8_t>();  // freed first, so that old and new never exist together
    scratch.resize(size);
  }
  return MutableBytes(scratch).first(size);
}

}  // namespace

BlockEncoder::BlockEncoder(int clevel) : clevel_(clevel) {}
BlockEncoder::~BlockEncoder() = default;
BlockEncoder::BlockEncoder(BlockEncoder&&) noexcept = default;
BlockEncoder& BlockEncoder::operator=(BlockEncoder&&) noexcept = default;

Bytes BlockEncoder::filter(const ChunkHeader& header, bool own_reference, Bytes reference,
                           Bytes contents) {
  const int count = forward_buffers(header);
  const MutableBytes first = count > 0 ? resized(scratch_[0], contents.size()) : MutableBytes();
  const MutableBytes second = count > 1 ? resized(scratch_[1], contents.size()) : MutableBytes();
  return apply_filters(header, own_reference, reference, contents, first, second);
}

BlockEncoder::StreamEncoder& BlockEncoder::encoder(CodecId id) {
  auto found = encoders_.find(id);
  if (found == encoders_.end()) {
    std::unique_ptr<Compressor> made = make_compressor(id, clevel_);
    if (made == nullptr) throw std::logic_error("codec " + codec_name(id) + " is only read");
    const bool slow_on_noise = clevel_ >= find_codec(id)->slow_on_noise_from_level;
    found = encoders_.emplace(id, StreamEncoder{std::move(made), slow_on_noise}).first;
  }
  return found->second;
}

/// True for noise in which LZ4 finds no repetitions. Slow codecs take much longer to see that.
bool BlockEncoder::is_incompressible(Bytes stream, MutableBytes out) {
  return looks_random(stream) && encoder(CodecId::lz4).compressor->compress(stream, {}, out) == 0;
}

std::size_t BlockEncoder::compress(const ChunkHeader& header, Bytes stream, Bytes dictionary,
                                   MutableBytes out) {
  const StreamEncoder& codec = encoder(header.codec);
  if (codec.slow_on_noise && dictionary.empty() && is_incompressible(stream, out)) return 0;
  return codec.compressor->compress(stream, codec_use(header, dictionary), out);
}

std::size_t BlockEncoder::write_stream(const ChunkHeader& header, Bytes stream, Bytes dictionary,
                                       MutableBytes out) {
  // Blosc1 has no runs.
  if (header.header_size == kExtendedHeaderSize && is_run(stream)) return write_run(stream[0], out);
  if (out.size() <= kStreamPrefix) return 0;
  const MutableBytes room = out.subspan(kStreamPrefix);
  std::size_t size = 0;
  if (clevel_ > 0 && stream.size() >= kMinStream) {
    // A compressed stream as long as its contents would be taken for uncompressed contents.
    const std::size_t most = std::min(room.size(), stream.size() - 1);
    size = compress(header, stream, dictionary, room.first(most));
  }
  if (size == 0) {
    if (room.size() < stream.size()) return 0;
    size = stream.size();
    std::memcpy(room.data(), stream.data(), size);
  }
  boost::endian::store_little_s32(out.data(), static_cast<std::int32_t>(size));
  return kStreamPrefix + size;
}

std::size_t BlockEncoder::write_streams(const ChunkHeader& header, Bytes filtered, Bytes dictionary,
                                        MutableBytes out) {
  const auto count =
      static_cast<std::size_t>(header.stream_count(static_cast<std::int64_t>(filtered.size())));
  const std::size_t stream_size = filtered.size() / count;
  std::size_t written = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size = write_stream(header, filtered.subspan(i * stream_size, stream_size),
                                          dictionary, out.subspan(written));
    if (size == 0) return 0;
    written += size;
  }
  return written;
}

std::size_t BlockEncoder::scratch_memory() const {
  return scratch_[0].capacity() + scratch_[1].capacity();
}

void BlockEncoder::trim(std::size_t keep) {
  for (std::vector<std::uint8_t>& scratch : scratch_) {
    if (scratch_memory() > keep) scratch = std::vector<std::uint8_t>();
  }
}

}  // namespace bloscfs::codec
