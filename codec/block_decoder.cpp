#include "codec/block_decoder.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "codec/compressor/codec_table.hpp"
#include "codec/error.hpp"
#include "codec/filter/pipeline.hpp"
#include "codec/filter/shuffle.hpp"
#include "codec/names.hpp"

namespace bloscfs::codec {
namespace {

constexpr std::int32_t kLongestRunCode = -255;
constexpr std::uint8_t kReadRunToken = 0x01;
constexpr std::size_t kStreamSizeBytes = 4;
constexpr std::size_t kLargeStep = std::size_t{1} << 20;  // smaller steps call no checkpoint

}  // namespace

struct BlockDecoder::State {
  /// The decoding of one block.
  struct Job {
    const Chunk& chunk;
    std::int32_t block;
    Bytes stored;  ///< bytes that are not read yet

    const ChunkHeader& header() const { return chunk.header(); }
    [[noreturn]] void fail(const std::string& what) const {
      throw_malformed("block " + std::to_string(block) + ": " + what);
    }
    std::int32_t read_int32();
    Bytes take(std::size_t size);
    /// Returns the number of streams of a block of `size` bytes. All have the same size.
    std::size_t stream_count(std::size_t size) const;
  };

  void decode(const Chunk& chunk, std::int32_t block, Bytes stored, Bytes reference,
              MutableBytes out);
  void decode_streams(Job& job, MutableBytes out);
  void decode_shuffled(Job& job, MutableBytes spare, MutableBytes out);
  Bytes decode_stream(Job& job, MutableBytes out);
  void decode_vl_stream(Job& job, MutableBytes out);
  void decompress(const Job& job, Bytes stream, MutableBytes out);
  Decompressor& decompressor(CodecId id);
  MutableBytes scratch_of(std::size_t size);

  /// Calls the checkpoint before a large step.
  void pass(std::size_t bytes) const {
    if (checkpoint != nullptr && bytes >= kLargeStep) checkpoint();
  }

  Checkpoint checkpoint = nullptr;
  std::map<CodecId, std::unique_ptr<Decompressor>> decompressors;
  CodecId latest_id{};
  Decompressor* latest = nullptr;  ///< for latest_id, once there is one
  std::vector<std::uint8_t> scratch;
};

std::int32_t BlockDecoder::State::Job::read_int32() {
  return load_int32(take(kStreamSizeBytes), 0);
}

Bytes BlockDecoder::State::Job::take(std::size_t size) {
  if (size > stored.size()) {
    fail("a stream needs " + std::to_string(size) + " bytes, " + std::to_string(stored.size()) +
         " left");
  }
  const Bytes taken = stored.first(size);
  stored = stored.subspan(size);
  return taken;
}

std::size_t BlockDecoder::State::Job::stream_count(std::size_t size) const {
  const auto count =
      static_cast<std::size_t>(header().stream_count(static_cast<std::int64_t>(size)));
  if (size % count != 0)
    fail(std::to_string(size) + " bytes in " + std::to_string(count) + " streams");
  return count;
}

Decompressor& BlockDecoder::State::decompressor(CodecId id) {
  if (latest != nullptr && latest_id == id) return *latest;
  auto found = decompressors.find(id);
  if (found == decompressors.end()) {
    std::unique_ptr<Decompressor> made = make_decompressor(id);
    if (made == nullptr) throw_unsupported("codec " + codec_name(id) + " is not supported");
    found = decompressors.emplace(id, std::move(made)).first;
  }
  latest_id = id;
  latest = found->second.get();
  return *latest;
}

MutableBytes BlockDecoder::State::scratch_of(std::size_t size) {
  if (scratch.size() < size) {
    scratch = std::vector<std::uint8_t>();  // freed first, so that old and new never exist together
    scratch.resize(size);
  }
  return MutableBytes(scratch).first(size);
}

void BlockDecoder::State::decompress(const Job& job, Bytes stream, MutableBytes out) {
  const CodecId id = job.header().codec;
  if (!decompressor(id).decompress(stream, codec_use(job.header(), job.chunk.dictionary()), out)) {
    job.fail(codec_name(id) + " stream of " + std::to_string(stream.size()) +
             " bytes does not decode to " + std::to_string(out.size()));
  }
}

/// Decodes a stream (codec/formats/chunk.md, "Streams"). A size of 0 to -255 means a run of the
/// byte 0 to 255. Returns the contents: in `out`, or, if they are not compressed, in the stored
/// bytes.
Bytes BlockDecoder::State::decode_stream(Job& job, MutableBytes out) {
  const std::int32_t size = job.read_int32();
  if (size <= 0) {
    if (size < kLongestRunCode) job.fail("stream size " + std::to_string(size));
    if (size < 0 && (job.take(1)[0] & kReadRunToken) == 0) job.fail("unknown run token");
    std::memset(out.data(), -size, out.size());
    return out;
  }
  const std::size_t length = static_cast<std::size_t>(size);
  // Blosc1 kept Snappy streams that were longer than their contents.
  if (length > out.size() && job.header().codec != CodecId::snappy) {
    job.fail("stream of " + std::to_string(size) + " bytes for " + std::to_string(out.size()));
  }
  const Bytes stream = job.take(length);
  if (length == out.size()) return stream;
  decompress(job, stream, out);
  return out;
}

/// Decodes a VL block (codec/formats/chunk.md, "VL blocks"). Its stream is the rest of the stored
/// bytes.
void BlockDecoder::State::decode_vl_stream(Job& job, MutableBytes out) {
  const std::int32_t size = job.read_int32();
  if (size < 0 || static_cast<std::size_t>(size) != out.size()) {
    job.fail("VL block of " + std::to_string(size) + " bytes, not " + std::to_string(out.size()));
  }
  const Bytes stream = job.stored;
  if (stream.empty() || stream.size() > out.size()) {
    job.fail("VL stream of " + std::to_string(stream.size()) + " bytes for " +
             std::to_string(out.size()));
  }
  if (stream.size() == out.size()) {
    std::memcpy(out.data(), stream.data(), out.size());
  } else {
    decompress(job, stream, out);
  }
}

void BlockDecoder::State::decode_streams(Job& job, MutableBytes out) {
  if (job.header().vl_blocks) return decode_vl_stream(job, out);
  const std::size_t count = job.stream_count(out.size());
  const std::size_t stream_size = out.size() / count;
  for (std::size_t i = 0; i < count; ++i) {
    pass(stream_size);
    const MutableBytes place = out.subspan(i * stream_size, stream_size);
    const Bytes stream = decode_stream(job, place);
    if (stream.data() != place.data()) std::memcpy(place.data(), stream.data(), stream.size());
  }
}

/// Decodes a block that is only shuffled. Unshuffles uncompressed streams directly from the stored
/// bytes, without a copy.
void BlockDecoder::State::decode_shuffled(Job& job, MutableBytes spare, MutableBytes out) {
  std::array<const std::uint8_t*, kMaxShuffleWidth> streams;
  const std::size_t count = job.stream_count(out.size());
  const std::size_t stream_size = out.size() / count;
  for (std::size_t i = 0; i < count; ++i) {
    pass(stream_size);
    streams[i] = decode_stream(job, spare.subspan(i * stream_size, stream_size)).data();
  }
  unshuffle_streams({streams.data(), count}, out);
}

BlockDecoder::BlockDecoder() : state_(std::make_unique<State>()) {}
BlockDecoder::~BlockDecoder() = default;
BlockDecoder::BlockDecoder(BlockDecoder&&) noexcept = default;
BlockDecoder& BlockDecoder::operator=(BlockDecoder&&) noexcept = default;

void BlockDecoder::decode(const Chunk& chunk, std::int32_t block, Bytes stored, Bytes reference,
                          MutableBytes out) {
  if (out.size() != static_cast<std::size_t>(chunk.block_content(block).size) ||
      stored.size() != static_cast<std::size_t>(chunk.block_stored(block).size) ||
      (chunk.needs_reference(block) && reference.size() < out.size())) {
    throw std::invalid_argument("buffers do not fit block " + std::to_string(block));
  }
  state_->decode(chunk, block, stored, reference, out);
}

void BlockDecoder::State::decode(const Chunk& chunk, std::int32_t block, Bytes stored,
                                 Bytes reference, MutableBytes out) {
  const ChunkHeader& header = chunk.header();
  if (header.is_special()) return chunk.fill_special(chunk.block_content(block).offset, out);
  if (header.memcpyed) {
    std::memcpy(out.data(), stored.data(), out.size());
    return;
  }
  Job job{chunk, block, stored};
  if (!header.is_filtered()) return decode_streams(job, out);
  check_filters(header);
  const MutableBytes spare =
      pipeline_needs_scratch(header) ? scratch_of(out.size()) : MutableBytes{};
  if (is_shuffled_by_stream(header, job.stream_count(out.size())))
    return decode_shuffled(job, spare, out);
  decode_streams(job, filtered_buffer(header, out, spare));
  undo_filters(header, !chunk.needs_reference(block), reference, out, spare,
               out.size() >= kLargeStep ? checkpoint : nullptr);
}

void BlockDecoder::set_checkpoint(Checkpoint checkpoint) { state_->checkpoint = checkpoint; }

void BlockDecoder::decode_all(const Chunk& chunk, Bytes stored, MutableBytes out) {
  const auto part = [](auto bytes, const ByteRange& range) {
    return bytes.subspan(static_cast<std::size_t>(range.offset),
                         static_cast<std::size_t>(range.size));
  };
  for (std::int32_t block = 0; block < chunk.block_count(); ++block) {
    const Bytes reference =
        chunk.needs_reference(block) ? Bytes(part(out, chunk.block_content(0))) : Bytes{};
    state_->decode(chunk, block, part(stored, chunk.block_stored(block)), reference,
                   part(out, chunk.block_content(block)));
  }
}

std::size_t BlockDecoder::scratch_memory() const { return state_->scratch.capacity(); }

void BlockDecoder::trim(std::size_t keep) {
  if (state_->scratch.capacity() > keep) state_->scratch = std::vector<std::uint8_t>();
}

}  // namespace bloscfs::codec
