#include "frame/reading/frame_snapshot.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <limits>
#include <thread>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/header/metalayer_names.hpp"
#include "frame/header/packed_tensor.hpp"
#include "frame/reading/chunk_map.hpp"
#include "frame/reading/copied_source.hpp"
#include "frame/reading/likely_stored.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline reading {
namespace {

using codec::throw_malformed;

/// The first attempts follow at once, later ones after pauses of 1, 2, 4... ms, because writing a
/// state takes longer than reading it.
constexpr int kOpenAttempts = 10, kAttemptsAtOnce = 4;
/// Most bytes to read based on a guess of how many blocks a chunk has.
constexpr std::size_t kMaxFirstRead = std::size_t{64} << 10;
/// Most memory for a page of checksums, because it is not charged to a memory budget.
constexpr std::int64_t kMaxChecksumPage = std::int64_t{1} << 20;
/// A map of more chunks would make its first reader wait for more than a few seconds.
constexpr std::int64_t kMaxMappedChunks = std::int64_t{4} << 20;
/// The limit for sparse frames is lower, because each chunk has its own file to open.
constexpr std::int64_t kMaxMappedFiles = std::int64_t{256} << 10;
/// Roughly the most bytes that a chunk takes in addition to contents and block starts.
constexpr std::int64_t kLargestExtra = std::int64_t{64} << 10;
/// Margin for requests to a chunk file whose size is unknown.
constexpr std::int64_t kFileMargin = std::int64_t{16} << 10;
/// Most chunks without stored bytes that max_mapped_chunks() allows in addition to the stored ones.
constexpr std::int64_t kMapSlack = 65536;

std::size_t guess_first_read(const FrameInfo& info) {
  if (info.chunksize <= 0 || info.blocksize <= 0) return 256;
  const std::int64_t blocks = codec::ceil_div<std::int64_t>(info.chunksize, info.blocksize);
  return std::min<std::size_t>(kMaxFirstRead,
                               codec::kChunkHeaderBytes + 4 * static_cast<std::size_t>(blocks));
}

/// The index chunk and, in variable-size frames, where the chunks begin.
struct FrameMap final : ChunkMap {
  std::size_t memory() const override {
    return sizeof(*this) + (table ? table->memory() : 0) + (chunks ? chunks->memory() : 0);
  }

  std::shared_ptr<const TableChunk> table;  ///< null: no chunks
  std::optional<VariableChunkMap> chunks;
};

/// Returns a source for bytes that do not change while the frame has this state: `source`, or a
/// source with more of it in memory.
std::shared_ptr<const ByteSource> contents_of(FrameParts& parts,
                                              const std::shared_ptr<const ByteSource>& source) {
  if (parts.copy) return std::move(parts.copy);
  if (parts.whole.empty()) return source;
  return std::make_shared<CopiedSource>(source, 0, std::move(parts.whole));
}

const VariableChunkMap& variable(const ChunkMap* map) {
  const auto* known = dynamic_cast<const FrameMap*>(map);
  if (known == nullptr || !known->chunks)
    throw std::logic_error("variable-size frame read without its chunk map");
  return *known->chunks;
}

void check_chunk_number(std::int64_t chunk, std::int64_t nchunks) {
  if (chunk < 0 || chunk >= nchunks) throw_malformed(fmt::format("chunk {} of {}", chunk, nchunks));
}

}  // namespace

FrameParts read_stable_parts(const ByteSource& source, std::uint8_t frame_type, FileStamp& stamp,
                             SourceStart* start) {
  for (int attempt = 1;; ++attempt) {
    std::optional<CopiedSource> started;
    if (attempt == 1 && start != nullptr)
      // This pointer does not own `source`, which outlives `started`.
      started.emplace(std::shared_ptr<const ByteSource>(std::shared_ptr<void>(), &source), 0,
                      std::move(start->bytes));
    stamp = started ? start->stamp : source.stamp();
    const bool last = attempt == kOpenAttempts;
    try {
      FrameParts parts = read_frame_parts(
          started ? static_cast<const ByteSource&>(*started) : source, stamp.size, frame_type);
      // Header and trailer are of one state if the stamps before and after reading are equal. If
      // the file has changed, an error says nothing about it.
      if (source.stamp() == stamp) return parts;
    } catch (const codec::Error&) {
      if (last || source.stamp() == stamp) throw;
    }
    if (last) throw_errno(EIO, "frame changes while opening");
    if (attempt >= kAttemptsAtOnce)
      std::this_thread::sleep_for(std::chrono::milliseconds(1 << (attempt - kAttemptsAtOnce)));
  }
}

FrameSnapshot::FrameSnapshot(FrameParts parts, std::shared_ptr<const ByteSource> source,
                             FileStamp stamp, std::shared_ptr<ExpectedState> expected,
                             std::shared_ptr<PeerLock> lock)
    : Snapshot(std::move(parts.header.info), std::move(source), stamp),
      copied_bytes_(parts.copied + parts.whole.size()),
      is_copied_(info_.kind == ContainerKind::cframe && !parts.whole.empty()),
      contents_(contents_of(parts, source_)),
      index_at_(parts.index_at),
      index_limit_(parts.index_limit),
      entry_size_(parts.header.offset_width),
      early_(parts.header.early),
      first_read_(guess_first_read(info_)),
      header_bytes_(std::move(parts.header_bytes)),
      peer_lock_(std::move(lock)),
      foreign_changes_(peer_lock_ ? peer_lock_->foreign_changes() : 0),
      expected_(std::move(expected)) {
  metalayers_ = std::move(parts.metalayers);
  for (const MetalayerEntry& entry : parts.vlmetalayers) {
    if (entry.name == kChecksumLayerName && !checksum_layer_) checksum_layer_ = entry;
    if (entry.name == kPackedTensorLayer && !info_.array) info_.array = read_packed_tensor(entry);
  }
  if (!expected_) expected_ = std::make_shared<ExpectedState>(stamp_, header_bytes_);
  // The header gives the number of chunks of a fixed-size frame.
  if (!info_.variable_chunks || info_.nbytes == 0) return;
  // Only the index tells how many chunks a variable-size frame has.
  info_.nchunks = read_chunk_header(*contents_, {index_at_, index_limit_}, {}).nbytes / entry_size_;
}

std::optional<ArrayInfo> FrameSnapshot::read_packed_tensor(const MetalayerEntry& layer) const {
  try {
    codec::BlockDecoder decoder;
    return parse_packed_tensor(read_vlmetalayer(layer, kMaxPackedTensor, decoder), info_.nbytes);
  } catch (const codec::Error&) {
    return std::nullopt;
  }
}

bool FrameSnapshot::unchanged() const {
  if (is_lasting()) return true;
  const PeerLock::Shared shared(peer_lock_);
  return is_unchanged_without_wait();
}

void FrameSnapshot::wait_for_peers() const {
  if (!is_lasting()) const PeerLock::Shared shared(peer_lock_);
}

bool FrameSnapshot::is_unchanged_without_wait() const {
  return is_unchanged_by_peer() && expected_->matches(*source_);
}

IndexRules FrameSnapshot::rules() const {
  return {info_.kind,    static_cast<std::uint64_t>(info_.header_len),
          info_.cbytes,  info_.nbytes,
          info_.nchunks, info_.chunksize};
}

std::vector<MetalayerEntry> FrameSnapshot::vlmetalayers() const {
  const PeerLock::Shared shared(peer_lock_);
  return read_vlmetalayers(*contents_, info_, early_);
}

std::shared_ptr<const PagedTable> FrameSnapshot::index() const {
  if (info_.nchunks == 0) return nullptr;
  auto table =
      std::make_shared<const PagedTable>(contents_, StoredAt{index_at_, index_limit_}, entry_size_);
  if (table->entry_count() != info_.nchunks)
    throw_malformed(fmt::format("frame index at {}: {} entries for {} chunks", index_at_,
                                table->entry_count(), info_.nchunks));
  return table;
}

std::shared_ptr<const PagedTable> FrameSnapshot::table_of(const ChunkMap* map) const {
  const auto* known = dynamic_cast<const FrameMap*>(map);
  if (known == nullptr || !known->table) return index();
  return std::make_shared<const PagedTable>(contents_, known->table);
}

std::optional<codec::SpecialValue> FrameSnapshot::all_chunks_special() const {
  if (info_.variable_chunks || info_.nchunks == 0) return std::nullopt;
  const PeerLock::Shared shared(peer_lock_);
  if (!read_chunk_header(*contents_, {index_at_, index_limit_}, {}).is_special())
    return std::nullopt;
  const std::optional<std::int64_t> entry = index()->uniform_entry();
  if (!entry || *entry >= 0) return std::nullopt;
  return special_of_entry(*entry);
}

std::int64_t FrameSnapshot::max_mapped_chunks() const {
  if (info_.kind != ContainerKind::cframe) return kMaxMappedFiles;
  // At most as many chunks as the stored bytes have room for, whatever the index claims.
  return std::min(info_.cbytes / kMinStoredChunk + kMapSlack, kMaxMappedChunks);
}

std::optional<MetalayerEntry> FrameSnapshot::array_metalayer() const {
  for (const char* name : {"b2nd", "caterva"})
    for (const MetalayerEntry& entry : metalayers_)
      if (entry.name == name) return entry;
  return std::nullopt;
}

codec::ChunkHeader FrameSnapshot::read_header(const ChunkPlace& place) const {
  const ChunkFile file = chunk_file(place);
  return read_chunk_header(*file.source, file.at, {.full_typesize = info_.typesize});
}

ChunkPlace FrameSnapshot::place_of(std::int64_t entry, std::int64_t number) const {
  check_chunk_number(number, info_.nchunks);
  const std::int64_t content_offset = number * std::int64_t{info_.chunksize};
  const std::int64_t nbytes =
      info_.variable_chunks
          ? 0
          : std::min<std::int64_t>(info_.chunksize, info_.nbytes - content_offset);
  return place_of_entry(rules(), entry, number, content_offset, static_cast<std::int32_t>(nbytes));
}

std::int64_t FrameSnapshot::chunk_map_memory() const {
  if (!needs_chunk_map()) return 0;
  const PeerLock::Shared shared(peer_lock_);
  // Making the map reads the index page by page. The block starts of the index take little memory
  // compared with a page.
  const codec::ChunkHeader header = read_chunk_header(*contents_, {index_at_, index_limit_}, {});
  return PagedTable::page_memory(header, entry_size_);
}

std::unique_ptr<const ChunkMap> FrameSnapshot::read_chunk_map(std::size_t max_memory,
                                                              codec::BlockDecoder& decoder) const {
  const PeerLock::Shared shared(peer_lock_);
  auto map = std::make_unique<FrameMap>();
  const auto table = index();
  if (table) map->table = table->chunk();
  if (needs_chunk_map())
    map->chunks = build_chunk_map(
        rules(), *table, max_mapped_chunks(), max_memory,
        [&](const ChunkPlace& place) { return read_header(place).nbytes; }, decoder);
  return map;
}

std::int64_t FrameSnapshot::page_of_chunk(std::int64_t chunk, const ChunkMap* map) const {
  check_chunk_number(chunk, info_.nchunks);
  if (needs_chunk_map()) return variable(map).page_of(chunk);
  const PeerLock::Shared shared(peer_lock_);
  return table_of(map)->page_of(chunk);
}

std::int64_t FrameSnapshot::page_at(std::int64_t content_offset, const ChunkMap* map) const {
  if (content_offset < 0 || content_offset >= info_.nbytes)
    throw_malformed(fmt::format("content offset {} of {}", content_offset, info_.nbytes));
  if (needs_chunk_map()) return variable(map).page_at(content_offset);
  return page_of_chunk(content_offset / info_.chunksize, map);
}

std::int64_t FrameSnapshot::page_memory(std::int64_t, const ChunkMap* map) const {
  if (info_.nchunks == 0) return 0;
  const PeerLock::Shared shared(peer_lock_);
  const auto table = table_of(map);
  return needs_chunk_map() ? variable_page_memory(*table, variable(map)) : table->page_memory();
}

std::unique_ptr<const IndexPage> FrameSnapshot::read_page(std::int64_t page, const ChunkMap* map,
                                                          codec::BlockDecoder& decoder) const {
  if (info_.nchunks == 0) throw_malformed(fmt::format("index page {} of an empty frame", page));
  const PeerLock::Shared shared(peer_lock_);
  const auto table = table_of(map);
  if (!needs_chunk_map())
    return std::make_unique<FixedIndexPage>(rules(), table->read_page(page, decoder));
  return read_variable_page(
      rules(), *table, variable(map), page,
      [&](const ChunkPlace& place) { return read_header(place).nbytes; }, decoder);
}

OpenedChunk FrameSnapshot::open_chunk(const ChunkPlace& place, std::size_t max_memory) const {
  if (place.special != codec::SpecialValue::none)
    return {codec::Chunk::make_special(place.special, place.nbytes, info_.typesize), place, {}};
  const PeerLock::Shared shared(peer_lock_);
  const ChunkFile file = chunk_file(place);
  return {open_stored_chunk(*file.source, file.at,
                            {.full_typesize = info_.typesize,
                             .block_shape = info_.block_shape,
                             .nbytes = place.nbytes,
                             .first_read = first_read_,
                             .max_memory = max_memory}),
          place, file.stamp};
}

void FrameSnapshot::read_stored(const OpenedChunk& chunk, const codec::ByteRange& range,
                                MutableBytes out) const {
  const std::int64_t cbytes = chunk.chunk.header().cbytes;
  if (range.offset < 0 || range.size < 0 || range.offset > cbytes ||
      range.size > cbytes - range.offset || static_cast<std::size_t>(range.size) != out.size())
    throw std::logic_error("read_stored outside of its chunk");
  if (out.empty()) return;
  const PeerLock::Shared shared(peer_lock_);
  const ChunkFile file = chunk_file(chunk.place);
  // In a sparse frame each read opens the chunk file by name. Another file may have that name by
  // now.
  if (file.stamp != chunk.stamp)
    throw_errno(EIO, fmt::format("chunk file {:08X} has changed", chunk.place.stored_offset));
  file.source->read_exactly_at(file.at.position + static_cast<std::uint64_t>(range.offset), out,
                               "chunk");
}

std::vector<StoredRange> FrameSnapshot::likely_stored(const ChunkPlace& place,
                                                      const ChunkPlace* next,
                                                      const ByteRange& content) const {
  const auto file = file_of(place);
  const auto limit = static_cast<std::int64_t>(
      std::min<std::uint64_t>(place.stored_limit, std::numeric_limits<std::int32_t>::max()));
  // Guesses the stored size. Most chunks are stored in order, and the next chunk then tells the
  // size (below). Otherwise assumes the average size.
  std::int64_t size = info_.nchunks > 0 ? info_.cbytes / info_.nchunks : 0;
  // The sizes of chunks in files of their own are not known, so adds a margin.
  if (file) size += size / 4 + kFileMargin;
  const bool is_followed = !file && next != nullptr && next->special == codec::SpecialValue::none &&
                           next->stored_offset > place.stored_offset;
  if (is_followed && next->stored_offset - place.stored_offset <= place.stored_limit)
    size = static_cast<std::int64_t>(next->stored_offset - place.stored_offset);
  // No chunk is stored in more bytes than its contents and its block starts take.
  size = std::min(
      size, std::int64_t{place.nbytes} + static_cast<std::int64_t>(first_read_) + kLargestExtra);
  ChunkPlace in_file = place;
  if (file) in_file.stored_offset = 0;
  std::vector<StoredRange> stored;
  for (const ByteRange& range : frame::likely_stored(
           {in_file, std::min(size, limit), info_.blocksize, first_read_}, content))
    stored.push_back({range, file});
  return stored;
}

std::vector<ByteRange> FrameSnapshot::likely_index(std::int64_t content_offset) const {
  if (index_limit_ == 0) return {};
  return likely_page(index_at_, static_cast<std::int64_t>(index_limit_), content_offset,
                     info_.nbytes);
}

std::optional<StoredRange> FrameSnapshot::stored_at(const OpenedChunk& chunk,
                                                    const ByteRange& range) const {
  if (const auto file = file_of(chunk.place)) return StoredRange{range, file};
  const auto begin = static_cast<std::int64_t>(chunk.place.stored_offset);
  return StoredRange{{begin + range.offset, range.size}, {}};
}

std::shared_ptr<const PagedTable> FrameSnapshot::checksums() const {
  if (!checksum_layer_) return nullptr;
  auto table = std::make_shared<const PagedTable>(
      source_, StoredAt{checksum_layer_->stored_offset, checksum_layer_->stored_size}, 8);
  if (table->page_memory() > kMaxChecksumPage)
    throw codec::Error(codec::FormatErrc::too_large,
                       fmt::format("{}: a block takes {} bytes > {}", kChecksumLayerName,
                                   table->page_memory(), kMaxChecksumPage));
  return table;
}

std::vector<std::uint64_t> FrameSnapshot::recorded_checksums(std::int64_t first, std::int64_t count,
                                                             codec::BlockDecoder& decoder) const {
  check_chunk_number(first, info_.nchunks);
  check_chunk_number(first + count - 1, info_.nchunks);
  if (!checksum_layer_) return {};
  const PeerLock::Shared shared(peer_lock_);
  const auto sums_table = checksums();
  const PagedTable& table = *sums_table;
  if (table.entry_count() != info_.nchunks)
    throw_malformed(fmt::format("{}: {} checksums for {} chunks", kChecksumLayerName,
                                table.entry_count(), info_.nchunks));
  std::vector<std::uint64_t> sums;
  for (std::int64_t chunk = first; chunk < first + count;) {
    const TablePage page = table.read_page(table.page_of(chunk), decoder);
    const std::int64_t end = std::min(first + count, page.first + std::ssize(page.entries));
    for (; chunk < end; ++chunk)
      sums.push_back(
          static_cast<std::uint64_t>(page.entries[static_cast<std::size_t>(chunk - page.first)]));
  }
  return sums;
}

std::size_t FrameSnapshot::memory() const {
  return Snapshot::memory() + sizeof(*this) - sizeof(Snapshot) + header_bytes_.capacity() +
         copied_bytes_;
}

}  // namespace bloscfs::frame::inline reading
