#include "frame/bloscpack/bloscpack_header.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/bloscpack/bloscpack_format.hpp"

namespace bloscfs::frame::inline bloscpack {
namespace {

using codec::throw_malformed;

constexpr int kNewestVersion = 3;

template <typename Raw>
Raw view_as(Bytes bytes) {
  Raw raw;
  std::memcpy(&raw, bytes.data(), sizeof raw);
  return raw;
}

void parse_options(BloscpackHeader& header, std::uint8_t options) {
  const std::uint8_t known = header.version >= 3
                                 ? kBloscpackOptionOffsets | kBloscpackOptionMetadata
                                 : kBloscpackOptionOffsets;
  if ((options & ~known) != 0)
    throw_malformed(fmt::format("Bloscpack options: {:#04x}, version {} knows {:#04x}", options,
                                header.version, known));
  header.has_offsets = (options & kBloscpackOptionOffsets) != 0;
  header.has_metadata = (options & kBloscpackOptionMetadata) != 0;
}

DigestKind parse_checksum(std::uint8_t id) {
  if (id > kMaxDigestId) throw_malformed(fmt::format("Bloscpack checksum: unknown id {}", id));
  return static_cast<DigestKind>(id);
}

void parse_version_1(BloscpackHeader& header, Bytes bytes) {
  const auto raw = view_as<RawBloscpackHeaderV1>(bytes);
  if (std::any_of(std::begin(raw.reserved), std::end(raw.reserved),
                  [](std::uint8_t byte) { return byte != 0; }))
    throw_malformed("Bloscpack header of version 1: reserved bytes are not zero");
  header.nchunks = raw.nchunks.value();
}

void parse_version_2_or_3(BloscpackHeader& header, Bytes bytes) {
  const auto raw = view_as<RawBloscpackHeader>(bytes);
  parse_options(header, raw.options);
  header.checksum = parse_checksum(raw.checksum);
  header.typesize = raw.typesize;
  header.chunk_size = raw.chunk_size.value();
  header.last_chunk = raw.last_chunk.value();
  header.nchunks = raw.nchunks.value();
  header.max_app_chunks = raw.max_app_chunks.value();
}

void check_field(const char* name, std::int64_t value, std::int64_t least) {
  if (value < least) throw_malformed(fmt::format("Bloscpack {}: {} < {}", name, value, least));
}

void check_counts(const BloscpackHeader& header) {
  check_field("chunk_size", header.chunk_size, -1);
  check_field("last_chunk", header.last_chunk, -1);
  check_field("nchunks", header.nchunks, -1);
  check_field("max_app_chunks", header.max_app_chunks, 0);
  if (header.chunk_size >= 0 && header.last_chunk > header.chunk_size)
    throw_malformed(fmt::format("Bloscpack last_chunk: {} > chunk_size {}", header.last_chunk,
                                header.chunk_size));
  if (header.nchunks == -1 && header.max_app_chunks != 0)
    throw_malformed(
        fmt::format("Bloscpack max_app_chunks: {}, but nchunks is unknown", header.max_app_chunks));
  if (header.nchunks == -1 && header.has_offsets)
    throw_malformed("Bloscpack options: offsets, but nchunks is unknown");
  if (header.max_app_chunks >
      std::numeric_limits<std::int64_t>::max() - std::max<std::int64_t>(header.nchunks, 0))
    throw_malformed(fmt::format("Bloscpack nchunks {} + max_app_chunks {} overflow", header.nchunks,
                                header.max_app_chunks));
}

void check_fits(const BloscpackHeader& header, std::uint64_t file_size) {
  const std::uint64_t least = kBloscpackChunkHeader + digest_size(header.checksum);
  if (header.nchunks > 0 && static_cast<std::uint64_t>(header.nchunks) > file_size / least)
    throw_malformed(
        fmt::format("Bloscpack nchunks: {} do not fit into {} bytes", header.nchunks, file_size));
}

}  // namespace

BloscpackHeader read_bloscpack_header(const ByteSource& source, std::uint64_t file_size) {
  std::uint8_t buffer[sizeof(RawBloscpackHeader)] = {};
  const MutableBytes bytes(buffer);
  source.read_exactly_at(0, bytes.first(sizeof(RawBloscpackHeaderV1)), "Bloscpack header");
  if (!std::equal(std::begin(kBloscpackMagic), std::end(kBloscpackMagic), buffer))
    throw_malformed("Bloscpack header: no magic");
  BloscpackHeader header;
  header.version = buffer[4];
  if (header.version == 0) throw_malformed("Bloscpack version: 0");
  if (header.version > kNewestVersion)
    codec::throw_unsupported(fmt::format("Bloscpack version: {}", header.version));
  header.header_size =
      header.version == 1 ? sizeof(RawBloscpackHeaderV1) : sizeof(RawBloscpackHeader);
  source.read_exactly_at(0, bytes.first(header.header_size), "Bloscpack header");
  if (header.version == 1) {
    parse_version_1(header, bytes);
  } else {
    parse_version_2_or_3(header, bytes);
  }
  check_counts(header);
  check_fits(header, file_size);
  return header;
}

}  // namespace bloscfs::frame::inline bloscpack
