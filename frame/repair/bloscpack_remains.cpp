#include "frame/repair/bloscpack_remains.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include <boost/endian/conversion.hpp>

#include "codec/error.hpp"
#include "frame/bloscpack/bloscpack_format.hpp"
#include "frame/bloscpack/bloscpack_header.hpp"
#include "frame/bloscpack/bloscpack_metadata.hpp"
#include "frame/bloscpack/bloscpack_walk.hpp"
#include "frame/header/frame_limits.hpp"
#include "frame/header/msgpack_json.hpp"

namespace bloscfs::frame::inline repair {
namespace {

constexpr std::int64_t kOffsetsAtOnce = 8192;

void add_entry(IndexRemains& index, std::int64_t value) {
  const bool is_known = value >= 0;
  ++index.count;
  if (!is_known) ++index.unknown;
  if (!is_known && !index.runs.empty() && !index.runs.back().is_known)
    ++index.runs.back().count;
  else
    index.runs.push_back({is_known ? value : 0, 1, is_known});
}

void read_table(const ByteSource& source, std::uint64_t at, std::int64_t count,
                IndexRemains& index) {
  std::vector<std::uint8_t> bytes;
  for (std::int64_t first = 0; first < count; first += kOffsetsAtOnce) {
    bytes.assign(static_cast<std::size_t>(8 * std::min(kOffsetsAtOnce, count - first)), 0xff);
    // Entries behind the end of the file stay -1, which means unknown.
    source.read_at(at + 8 * static_cast<std::uint64_t>(first), bytes);
    for (std::size_t i = 0; i < bytes.size(); i += 8)
      add_entry(index, boost::endian::load_little_s64(&bytes[i]));
  }
}

/// Walks from chunk to chunk as far as possible. Adds unknown entries for the rest.
void walk(const ByteSource& source, const ChunkArea& area, std::int64_t count,
          IndexRemains& index) {
  ChunkWalker walker(source, area, area.begin);
  try {
    while (!walker.at_end() && (count < 0 || index.count < count)) {
      const auto at = static_cast<std::int64_t>(walker.position());
      walker.step();
      add_entry(index, at);
    }
  } catch (const codec::Error&) {
    // If the number of chunks is unknown, one unknown entry stands for all the others.
    if (count < 0) add_entry(index, -1);
  }
  for (std::int64_t rest = count - index.count; rest > 0; --rest) add_entry(index, -1);
}

/// Returns the text of the metadata; nullopt if digest or size are wrong.
std::optional<std::string> read_text(const ByteSource& source, std::uint64_t at,
                                     std::uint64_t file_size) {
  try {
    return read_bloscpack_text(source, at, file_size);
  } catch (const codec::Error&) {
    return std::nullopt;
  }
}

void take_metadata(const ByteSource& source, std::uint64_t at, std::uint64_t file_size,
                   HeaderRemains& header) {
  const auto text = read_text(source, at, file_size);
  try {
    if (text) {
      const Bytes bytes(reinterpret_cast<const std::uint8_t*>(text->data()), text->size());
      header.metalayers.push_back({kMetadataLayerName, json_to_msgpack(bytes)});
      return;
    }
  } catch (const std::runtime_error&) {
    // The text is not JSON.
  }
  header.lost_metalayers.emplace_back(kMetadataLayerName);
}

}  // namespace

std::optional<BloscpackRemains> read_bloscpack_remains(const ByteSource& source,
                                                       std::uint64_t file_size) {
  BloscpackRemains remains;
  BloscpackHeader read;
  try {
    read = read_bloscpack_header(source, file_size);
  } catch (const codec::Error&) {
    return std::nullopt;
  }
  std::uint64_t at = read.header_size;
  remains.digest = read.checksum;
  if (read.has_metadata) {
    RawBloscpackMetadata raw;
    if (source.read_at(at, MutableBytes(reinterpret_cast<std::uint8_t*>(&raw), sizeof raw)) <
            sizeof raw ||
        raw.checksum > kMaxDigestId)
      return std::nullopt;
    take_metadata(source, at, file_size, remains.header);
    at += sizeof raw + raw.max_size.value() + digest_size(static_cast<DigestKind>(raw.checksum));
  }
  const std::uint64_t table = at;
  const auto entries = static_cast<std::uint64_t>(read.nchunks + read.max_app_chunks);
  if (at > file_size || (read.has_offsets && entries > (file_size - at) / 8)) return std::nullopt;
  if (read.has_offsets) at += 8 * entries;
  if (at > INT32_MAX || read.nchunks > max_chunk_count(false)) return std::nullopt;
  HeaderRemains& header = remains.header;
  header.is_sound = true;
  header.header_len = static_cast<std::int64_t>(at);
  header.typesize = std::max(1, read.typesize);
  // A single chunk is the last one, and only last_chunk gives its size.
  header.chunksize =
      read.nchunks == 1 && read.last_chunk > 0 ? read.last_chunk : std::max(0, read.chunk_size);
  header.variable_chunks = *header.chunksize == 0;
  header.blocksize = 0;
  header.defaults.splitmode = 4;
  if (read.sizes_known() && read.nchunks > 0)
    header.nbytes = (read.nchunks - 1) * std::int64_t{read.chunk_size} + read.last_chunk;
  if (read.has_offsets)
    read_table(source, table, read.nchunks, remains.index);
  else
    walk(source, {at, file_size, digest_size(read.checksum)}, read.nchunks, remains.index);
  return remains;
}

std::optional<bool> digest_agrees(const ByteSource& source, DigestKind kind, std::uint64_t at,
                                  std::int32_t cbytes) {
  if (kind == DigestKind::none) return std::nullopt;
  const auto size = static_cast<std::uint64_t>(cbytes);
  try {
    verify_stored_digest(source, kind, at, size, at + size, "chunk");
    return true;
  } catch (const codec::Error& error) {
    if (error.code() == codec::FormatErrc::unsupported) return std::nullopt;
    return false;
  }
}

}  // namespace bloscfs::frame::inline repair
