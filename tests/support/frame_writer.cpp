#include "tests/support/frame_writer.hpp"

#include <algorithm>
#include <cstdio>

#include <lz4.h>

namespace bloscfs::test {

namespace {

constexpr std::size_t kChunkHeader = 32;
constexpr std::size_t kIndexBlock = 16384;
constexpr std::size_t kIndexEntry = 8;
constexpr std::uint8_t kExtended = 0x05, kCopied = 0x02, kUnsplit = 0x10;

void put_little(ByteVector& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

void put_big(ByteVector& out, std::uint64_t value, int bytes) {
  for (int i = bytes; i-- > 0;) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

/// Appends a msgpack marker and a big-endian number of `bytes` bytes.
void put_field(ByteVector& out, std::uint8_t marker, std::uint64_t value, int bytes) {
  out.push_back(marker);
  put_big(out, value, bytes);
}

void append(ByteVector& out, const ByteVector& more) {
  out.insert(out.end(), more.begin(), more.end());
}

void set_little32(ByteVector& out, std::size_t at, std::size_t value) {
  for (std::size_t i = 0; i < 4; ++i) out[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
}

ByteVector chunk_header(std::uint8_t flags, std::size_t typesize, std::size_t nbytes,
                        std::size_t blocksize, std::uint8_t codec) {
  ByteVector out{5, 1, flags, static_cast<std::uint8_t>(typesize > 255 ? 1 : typesize)};
  put_little(out, nbytes, 4);
  put_little(out, blocksize, 4);
  put_little(out, 0, 4);
  out.resize(kChunkHeader);
  out[0x16] = codec;
  return out;
}

ByteVector encode_stream(const std::uint8_t* block, std::size_t size, Stored how) {
  ByteVector stream(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(size))));
  int got = 0;
  if (how == Stored::lz4)
    got = LZ4_compress_default(reinterpret_cast<const char*>(block),
                               reinterpret_cast<char*>(stream.data()), static_cast<int>(size),
                               static_cast<int>(stream.size()));
  if (got <= 0 || static_cast<std::size_t>(got) >= size) return {block, block + size};
  stream.resize(static_cast<std::size_t>(got));
  return stream;
}

/// Encodes the map of frame/formats/metalayers.md, "The map". Its offsets count from `base` bytes
/// before the start of the result.
ByteVector encode_metalayers(const Metalayers& layers, std::size_t base) {
  std::size_t names = 0;
  for (const auto& layer : layers) names += 1 + layer.first.size() + 5;
  const std::size_t map_end = 7 + names;
  ByteVector out{0x93};
  put_field(out, 0xcd, map_end, 2);
  put_field(out, 0xde, layers.size(), 2);
  std::size_t at = base + map_end + 3;
  for (const auto& [name, content] : layers) {
    out.push_back(static_cast<std::uint8_t>(0xa0 + name.size()));
    append(out, bytes_of(name));
    put_field(out, 0xd2, at, 4);
    at += 5 + content.size();
  }
  put_field(out, 0xdc, layers.size(), 2);
  for (const auto& [name, content] : layers) {
    put_field(out, 0xc6, content.size(), 4);
    append(out, content);
  }
  return out;
}

constexpr std::size_t kFixedHeader = 0x57;

ByteVector encode_trailer(const FramePlan& plan) {
  Metalayers stored = plan.vlmetalayers;
  if (!plan.has_encoded_vlmetalayers)
    for (auto& [name, content] : stored) content = encode_copied_chunk(content, 1);
  ByteVector out{0x94, 0x01};
  append(out, encode_metalayers(stored, out.size()));
  put_field(out, 0xce, out.size() + 5 + 18, 4);
  out.push_back(0xd8);
  out.resize(out.size() + 17);
  return out;
}

ByteVector encode_header(const FramePlan& plan, std::size_t area, std::size_t frame_len) {
  ByteVector out{0x9e, 0xa8};
  append(out, bytes_of(std::string("b2frame\0", 8)));
  put_field(out, 0xd2, header_size(plan), 4);
  put_field(out, 0xcf, frame_len, 8);
  append(out, {0xa4, 0x12, static_cast<std::uint8_t>(plan.sparse ? 1 : 0), 0x51, 0x03});
  put_field(out, 0xd3, static_cast<std::uint64_t>(plan.nbytes), 8);
  put_field(out, 0xd3, area, 8);
  put_field(out, 0xd2, plan.typesize, 4);
  put_field(out, 0xd2, plan.blocksize, 4);
  put_field(out, 0xd2, plan.chunksize, 4);
  put_field(out, 0xd1, 1, 2);
  put_field(out, 0xd1, 1, 2);
  out.push_back(plan.vlmetalayers.empty() ? 0xc2 : 0xc3);
  append(out, {0xd8, 6});
  out.resize(kFixedHeader);
  out[0x4d] = 1;
  append(out, encode_metalayers(plan.metalayers, kFixedHeader));
  return out;
}

bool all_zero(const ByteVector& bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

/// Divides contents into encoded chunks. An all-zero chunk is nullopt.
std::vector<std::optional<ByteVector>> cut_chunks(const ByteVector& contents, const Cut& cut) {
  std::vector<std::optional<ByteVector>> chunks;
  for (std::size_t at = 0; at < contents.size(); at += cut.chunksize) {
    const std::size_t end = std::min(contents.size(), at + cut.chunksize);
    const ByteVector part(contents.begin() + static_cast<std::ptrdiff_t>(at),
                          contents.begin() + static_cast<std::ptrdiff_t>(end));
    if (all_zero(part))
      chunks.emplace_back();
    else
      chunks.emplace_back(encode_chunk(part, cut.typesize, cut.blocksize));
  }
  return chunks;
}

FramePlan plan_of(const ByteVector& contents, const Cut& cut) {
  FramePlan plan;
  plan.typesize = cut.typesize;
  plan.chunksize = cut.chunksize;
  plan.blocksize = cut.blocksize;
  plan.nbytes = static_cast<std::int64_t>(contents.size());
  plan.metalayers = cut.metalayers;
  plan.vlmetalayers = cut.vlmetalayers;
  return plan;
}

}  // namespace

ByteVector bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

ByteVector encode_copied_chunk(const ByteVector& contents, std::size_t typesize) {
  ByteVector out = chunk_header(kExtended | kCopied, typesize, contents.size(),
                                std::max<std::size_t>(contents.size(), 1), 0);
  append(out, contents);
  set_little32(out, 12, out.size());
  return out;
}

ByteVector encode_blosc1_chunk(const ByteVector& contents, std::size_t typesize) {
  ByteVector out{2, 1, kCopied, static_cast<std::uint8_t>(typesize)};
  put_little(out, contents.size(), 4);
  put_little(out, std::max<std::size_t>(contents.size(), 1), 4);
  put_little(out, contents.size() + 16, 4);
  append(out, contents);
  return out;
}

ByteVector encode_chunk(const ByteVector& contents, std::size_t typesize, std::size_t blocksize,
                        Stored how) {
  if (contents.size() < kChunkHeader) return encode_copied_chunk(contents, typesize);
  blocksize = std::min(blocksize, contents.size());
  constexpr std::uint8_t kLz4Format = 1 << 5;
  ByteVector out =
      chunk_header(kExtended | kUnsplit | kLz4Format, typesize, contents.size(), blocksize, 1);
  const std::size_t blocks = (contents.size() + blocksize - 1) / blocksize;
  out.resize(kChunkHeader + 4 * blocks);
  for (std::size_t block = 0; block < blocks; ++block) {
    set_little32(out, kChunkHeader + 4 * block, out.size());
    const std::size_t at = block * blocksize;
    const ByteVector stream =
        encode_stream(contents.data() + at, std::min(blocksize, contents.size() - at), how);
    put_little(out, stream.size(), 4);
    append(out, stream);
  }
  set_little32(out, 12, out.size());
  return out;
}

ByteVector encode_run_chunk(const ByteVector& streams, std::int64_t nbytes,
                            std::int64_t blocksize) {
  constexpr std::uint8_t kLz4Format = 1 << 5, kShuffle = 1;
  constexpr std::size_t kLastFilter = 0x15;
  ByteVector block;
  for (const std::uint8_t byte : streams) {
    put_little(block, static_cast<std::uint64_t>(-std::int64_t{byte}), 4);
    if (byte != 0) block.push_back(1);
  }
  ByteVector out =
      chunk_header(kExtended | kLz4Format, streams.size(), static_cast<std::size_t>(nbytes),
                   static_cast<std::size_t>(blocksize), 1);
  if (streams.size() > 1) out[kLastFilter] = kShuffle;
  const auto blocks = static_cast<std::size_t>((nbytes + blocksize - 1) / blocksize);
  for (std::size_t i = 0; i < blocks; i++)
    put_little(out, kChunkHeader + 4 * blocks + i * block.size(), 4);
  for (std::size_t i = 0; i < blocks; i++) append(out, block);
  set_little32(out, 12, out.size());
  return out;
}

ByteVector encode_repeated_chunk(const ByteVector& value, std::int64_t nbytes) {
  constexpr std::size_t kBlosc2Flags = 0x1f, kLargestBlock = 0x1FFFF000;
  constexpr std::uint8_t kRepeatedValue = 3 << 4;
  ByteVector out =
      chunk_header(kExtended, value.size(), static_cast<std::size_t>(nbytes),
                   std::min<std::size_t>(static_cast<std::size_t>(nbytes), kLargestBlock), 0);
  out[kBlosc2Flags] = kRepeatedValue;
  append(out, value);
  set_little32(out, 12, out.size());
  return out;
}

std::pair<std::size_t, std::size_t> block_extent(const ByteVector& chunk, std::size_t block) {
  const auto number_at = [&chunk](std::size_t at) {
    return std::size_t{chunk[at]} | std::size_t{chunk[at + 1]} << 8 |
           std::size_t{chunk[at + 2]} << 16 | std::size_t{chunk[at + 3]} << 24;
  };
  const std::size_t start = number_at(kChunkHeader + 4 * block);
  return {start, 4 + number_at(start)};
}

std::size_t header_size(const FramePlan& plan) {
  return kFixedHeader + encode_metalayers(plan.metalayers, kFixedHeader).size();
}

ByteVector encode_frame(const FramePlan& plan, const ByteVector& chunk_area,
                        const std::vector<std::int64_t>& entries) {
  ByteVector index;
  if (!entries.empty()) {
    ByteVector table;
    table.reserve(entries.size() * kIndexEntry);
    for (const auto entry : entries) put_little(table, static_cast<std::uint64_t>(entry), 8);
    index = encode_chunk(table, kIndexEntry, kIndexBlock);
  }
  return encode_frame_around(plan, chunk_area, index);
}

ByteVector encode_frame_around(const FramePlan& plan, const ByteVector& chunk_area,
                               const ByteVector& index) {
  const ByteVector trailer = encode_trailer(plan);
  const std::size_t in_file = plan.sparse ? 0 : chunk_area.size();
  ByteVector out = encode_header(plan, chunk_area.size(),
                                 header_size(plan) + in_file + index.size() + trailer.size());
  if (!plan.sparse) append(out, chunk_area);
  append(out, index);
  append(out, trailer);
  return out;
}

ByteVector flat_frame(const ByteVector& contents, const Cut& cut) {
  ByteVector area;
  std::vector<std::int64_t> entries;
  for (const auto& chunk : cut_chunks(contents, cut)) {
    entries.push_back(chunk ? static_cast<std::int64_t>(area.size()) : kZeroChunk);
    if (chunk) append(area, *chunk);
  }
  return encode_frame(plan_of(contents, cut), area, entries);
}

ByteVector flat_frame(const std::string& contents, const Cut& cut) {
  return flat_frame(bytes_of(contents), cut);
}

ByteVector with_unknown_codec(ByteVector frame) {
  constexpr std::size_t kHeaderLength = 11, kFrameCodec = 0x1b, kFrameCodecId = 0x4d;
  constexpr std::size_t kChunkFlags = 2, kChunkCodecId = 22;
  constexpr std::uint8_t kCodecInExtendedField = 6;
  std::size_t chunk = 0;
  for (std::size_t i = 0; i < 4; i++) chunk = chunk << 8 | frame.at(kHeaderLength + i);
  frame.at(kFrameCodec) =
      static_cast<std::uint8_t>((frame[kFrameCodec] & 0xf0) | kCodecInExtendedField);
  frame.at(kFrameCodecId) = kUnknownCodec;
  std::uint8_t& flags = frame.at(chunk + kChunkFlags);
  flags = static_cast<std::uint8_t>((flags & 0x1f) | kCodecInExtendedField << 5);
  frame.at(chunk + kChunkCodecId) = kUnknownCodec;
  return frame;
}

void write_sparse_frame(const fs_std::path& path, const ByteVector& contents, const Cut& cut) {
  fs_std::create_directory(path);
  std::vector<std::int64_t> entries;
  ByteVector all;  // the header needs its size only
  for (const auto& chunk : cut_chunks(contents, cut)) {
    const auto number = static_cast<std::int64_t>(entries.size());
    entries.push_back(chunk ? number : kZeroChunk);
    if (!chunk) continue;
    char name[32];
    std::snprintf(name, sizeof name, "%08X.chunk", static_cast<unsigned>(number));
    write_file(path / name, *chunk);
    append(all, *chunk);
  }
  FramePlan plan = plan_of(contents, cut);
  plan.sparse = true;
  write_file(path / "chunks.b2frame", encode_frame(plan, all, entries));
}

ByteVector b2nd_metalayer(const std::vector<std::int64_t>& shape, const std::string& dtype) {
  const auto array_marker = static_cast<std::uint8_t>(0x90 + shape.size());
  ByteVector out{0x97, 0, static_cast<std::uint8_t>(shape.size()), array_marker};
  for (const auto extent : shape) put_field(out, 0xd3, static_cast<std::uint64_t>(extent), 8);
  for (int i = 0; i < 2; ++i) {
    out.push_back(array_marker);
    for (const auto extent : shape) put_field(out, 0xd2, static_cast<std::uint64_t>(extent), 4);
  }
  out.push_back(0);
  put_field(out, 0xdb, dtype.size(), 4);
  append(out, bytes_of(dtype));
  return out;
}

Cut array_cut(const std::vector<std::int64_t>& shape, const std::string& dtype,
              std::size_t typesize) {
  Cut cut;
  cut.typesize = typesize;
  cut.chunksize = typesize;
  for (const auto extent : shape) cut.chunksize *= static_cast<std::size_t>(extent);
  cut.blocksize = cut.chunksize;
  cut.metalayers = {{"b2nd", b2nd_metalayer(shape, dtype)}};
  return cut;
}

ByteVector array_frame(const ByteVector& contents, const std::vector<std::int64_t>& shape,
                       const std::string& dtype, std::size_t typesize) {
  return flat_frame(contents, array_cut(shape, dtype, typesize));
}

ByteVector bloscpack_file(const ByteVector& contents, std::size_t chunksize,
                          const std::string& json) {
  const std::size_t chunks = (contents.size() + chunksize - 1) / chunksize;
  ByteVector out = bytes_of("blpk");
  append(out, {3, static_cast<std::uint8_t>(json.empty() ? 0 : 2), 0, 1});
  put_little(out, chunksize, 4);
  put_little(out, contents.size() - (chunks - 1) * chunksize, 4);
  put_little(out, chunks, 8);
  put_little(out, 0, 8);
  if (!json.empty()) {
    append(out, bytes_of(std::string("JSON\0\0\0\0\0\0\0\0", 12)));
    for (int i = 0; i < 3; ++i) put_little(out, json.size(), 4);
    put_little(out, 0, 8);
    append(out, bytes_of(json));
  }
  for (std::size_t at = 0; at < contents.size(); at += chunksize) {
    const std::size_t end = std::min(contents.size(), at + chunksize);
    append(out, encode_blosc1_chunk({contents.begin() + static_cast<std::ptrdiff_t>(at),
                                     contents.begin() + static_cast<std::ptrdiff_t>(end)},
                                    1));
  }
  return out;
}

}  // namespace bloscfs::test
