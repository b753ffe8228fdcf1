#include "frame/bloscpack/bloscpack.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <mutex>
#include <utility>

#include <boost/endian/conversion.hpp>
#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/bloscpack/bloscpack_format.hpp"
#include "frame/bloscpack/bloscpack_header.hpp"
#include "frame/bloscpack/bloscpack_metadata.hpp"
#include "frame/bloscpack/bloscpack_page.hpp"
#include "frame/bloscpack/bloscpack_walk.hpp"
#include "frame/stored/stored_chunk.hpp"

namespace bloscfs::frame::inline bloscpack {
namespace {

/// Roughly the most bytes that a chunk takes in addition to its contents.
constexpr std::uint64_t kLargestExtra = std::uint64_t{64} << 10;
/// Most bytes of a chunk to request early. open_chunk() requests the rest.
constexpr std::uint64_t kMostExpected = std::uint64_t{8} << 20;

using codec::throw_malformed;

constexpr std::int64_t kPageEntries = 2048;
constexpr std::int64_t kUnknownOffset = -1;
/// Most table entries before a chunk that are searched for a known offset.
constexpr std::int64_t kMaxGap = 32 * kPageEntries;
constexpr std::size_t kPassMemory = 1 << 20;

class BloscpackSnapshot final : public Snapshot {
 public:
  BloscpackSnapshot(FrameInfo info, std::shared_ptr<const ByteSource> source, FileStamp stamp,
                    const BloscpackHeader& header, std::uint64_t table_begin);

  bool unchanged() const override {
    const std::lock_guard guard(mutex_);
    return source_->stamp() == expected_;
  }
  void change_times(const std::function<void()>& change) const override {
    const std::lock_guard guard(mutex_);
    const bool is_known = source_->stamp() == expected_;
    change();
    if (is_known) expected_ = source_->stamp();
  }
  bool needs_chunk_map() const override { return needs_map_; }
  std::int64_t chunk_map_memory() const override { return kPassMemory; }
  std::unique_ptr<const ChunkMap> read_chunk_map(std::size_t max_memory,
                                                 codec::BlockDecoder&) const override {
    return std::make_unique<BloscpackMap>(*source_, geometry_.area, geometry_.nchunks, max_memory);
  }
  std::int64_t page_of_chunk(std::int64_t chunk, const ChunkMap* map) const override {
    return chunk / chunks_per_page(map);
  }
  std::int64_t page_at(std::int64_t content_offset, const ChunkMap* map) const override;
  std::int64_t page_memory(std::int64_t page, const ChunkMap* map) const override;
  std::unique_ptr<const IndexPage> read_page(std::int64_t page, const ChunkMap* map,
                                             codec::BlockDecoder&) const override;
  OpenedChunk open_chunk(const ChunkPlace& place, std::size_t max_memory) const override;
  void read_stored(const OpenedChunk& chunk, const codec::ByteRange& range,
                   MutableBytes out) const override {
    source_->read_exactly_at(chunk.place.stored_offset + static_cast<std::uint64_t>(range.offset),
                             out, "Bloscpack chunk");
  }
  std::vector<StoredRange> likely_stored(const ChunkPlace& place, const ChunkPlace* next,
                                         const ByteRange& content) const override;
  std::optional<StoredRange> stored_at(const OpenedChunk& chunk,
                                       const codec::ByteRange& range) const override {
    const auto begin = static_cast<std::int64_t>(chunk.place.stored_offset);
    return StoredRange{{begin + range.offset, range.size}, {}};
  }

 private:
  static const BloscpackMap& as_map(const ChunkMap* map) {
    return static_cast<const BloscpackMap&>(*map);
  }
  std::int64_t chunks_per_page(const ChunkMap* map) const {
    return map != nullptr ? as_map(map).stride() : kPageEntries;
  }
  void set_uniform_sizes(const BloscpackHeader& header);
  void set_sizes_from_chunks();
  void set_array_typesize();
  bool table_is_filled() const;
  std::vector<std::int64_t> read_offsets(std::int64_t first, std::int64_t count) const;
  std::string fill_gaps(std::int64_t first, std::vector<std::int64_t>& offsets) const;
  ChunkWalker walker_before(std::int64_t chunk) const;

  BloscpackGeometry geometry_;
  DigestKind checksum_;
  std::uint64_t table_begin_;  ///< file position of the offset table
  bool needs_map_ = true;
  mutable std::mutex mutex_;
  mutable FileStamp expected_;  ///< stamp_, but with the times that change_times() has set since
};

BloscpackSnapshot::BloscpackSnapshot(FrameInfo info, std::shared_ptr<const ByteSource> source,
                                     FileStamp stamp, const BloscpackHeader& header,
                                     std::uint64_t table_begin)
    : Snapshot(std::move(info), std::move(source), stamp),
      checksum_(header.checksum),
      table_begin_(table_begin),
      expected_(stamp) {
  geometry_.nchunks = header.nchunks;
  geometry_.area = {static_cast<std::uint64_t>(info_.header_len),
                    static_cast<std::uint64_t>(info_.frame_len), digest_size(header.checksum)};
  if (header.sizes_known()) {
    set_uniform_sizes(header);
    needs_map_ = header.nchunks > 0 && !(header.has_offsets && table_is_filled());
  } else {
    set_sizes_from_chunks();
  }
  info_.nchunks = geometry_.nchunks;
  set_array_typesize();
}

void BloscpackSnapshot::set_uniform_sizes(const BloscpackHeader& header) {
  geometry_.uniform = true;
  geometry_.chunk_size = header.chunk_size;
  geometry_.last_chunk = header.last_chunk;
  if (header.nchunks > 0 &&
      (__builtin_mul_overflow(std::int64_t{header.chunk_size}, header.nchunks - 1, &info_.nbytes) ||
       __builtin_add_overflow(info_.nbytes, std::int64_t{header.last_chunk}, &info_.nbytes)))
    throw_malformed(fmt::format("Bloscpack nchunks: {} chunks of {} bytes overflow", header.nchunks,
                                header.chunk_size));
  // Cannot overflow, because check_fits() has found room for all digests in the file. cbytes
  // includes bytes behind the last chunk.
  info_.cbytes = static_cast<std::int64_t>(geometry_.area.end - geometry_.area.begin) -
                 header.nchunks * static_cast<std::int64_t>(geometry_.area.digest_size);
  info_.cbytes = std::max<std::int64_t>(info_.cbytes, 0);
}

void BloscpackSnapshot::set_sizes_from_chunks() {
  const BloscpackMap map(*source_, geometry_.area, geometry_.nchunks, kPassMemory);
  if (!map.failure().empty()) throw_malformed(map.failure());
  geometry_.nchunks = map.chunk_count();
  info_.nbytes = map.content_size();
  info_.variable_chunks = true;
  info_.cbytes = static_cast<std::int64_t>(map.end() - geometry_.area.begin) -
                 map.chunk_count() * static_cast<std::int64_t>(geometry_.area.digest_size);
}

void BloscpackSnapshot::set_array_typesize() {
  if (!info_.array) return;
  std::int64_t items = 1;
  for (const std::int64_t extent : info_.array->shape) {
    if (__builtin_mul_overflow(items, extent, &items)) return;
  }
  // The header has only one byte for the item size, so this computes the size from the shape.
  if (items > 0 && info_.nbytes > 0 && info_.nbytes % items == 0 &&
      info_.nbytes / items <= std::numeric_limits<std::int32_t>::max())
    info_.typesize = static_cast<std::int32_t>(info_.nbytes / items);
}

/// True if the table is complete. Writers fill it at the end, so its first and last entries are
/// enough.
bool BloscpackSnapshot::table_is_filled() const {
  return read_offsets(0, 1)[0] != kUnknownOffset &&
         read_offsets(geometry_.nchunks - 1, 1)[0] != kUnknownOffset;
}

std::vector<std::int64_t> BloscpackSnapshot::read_offsets(std::int64_t first,
                                                          std::int64_t count) const {
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(count) * 8);
  source_->read_exactly_at(table_begin_ + static_cast<std::uint64_t>(first) * 8, bytes,
                           "Bloscpack offsets");
  std::vector<std::int64_t> offsets(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < offsets.size(); ++i)
    offsets[i] = boost::endian::load_little_s64(bytes.data() + 8 * i);
  return offsets;
}

/// Returns a walker that has moved to `chunk` from the nearest earlier chunk with a known offset.
ChunkWalker BloscpackSnapshot::walker_before(std::int64_t chunk) const {
  std::int64_t known = chunk;
  auto position = static_cast<std::int64_t>(geometry_.area.begin);
  bool found = false;
  while (!found && known > 0 && chunk - known < kMaxGap) {
    const std::int64_t count = std::min(known, kPageEntries);
    const std::vector<std::int64_t> offsets = read_offsets(known - count, count);
    const auto last = std::find_if(offsets.rbegin(), offsets.rend(),
                                   [](std::int64_t offset) { return offset != kUnknownOffset; });
    found = last != offsets.rend();
    known -= last - offsets.rbegin() + (found ? 1 : 0);
    if (found) position = *last;
  }
  if (!found && known > 0)
    throw_malformed(fmt::format("Bloscpack offsets: more than {} unknown ones before chunk {}",
                                kMaxGap, chunk));
  geometry_.area.check_position(known, position);
  ChunkWalker walker(*source_, geometry_.area, static_cast<std::uint64_t>(position));
  for (; known < chunk; ++known) walker.step();
  return walker;
}

/// Fills the unknown offsets by walking over the chunks. Where that fails, offsets stay unknown.
/// Returns the message of the last failure, or an empty text.
std::string BloscpackSnapshot::fill_gaps(std::int64_t first,
                                         std::vector<std::int64_t>& offsets) const {
  std::optional<ChunkWalker> walker;
  bool broken = false;
  std::string failure;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    if (offsets[i] != kUnknownOffset) {
      walker.reset();
      broken = false;
      continue;
    }
    if (broken) continue;
    try {
      if (walker)
        walker->step();
      else
        walker.emplace(walker_before(first + static_cast<std::int64_t>(i)));
      offsets[i] = static_cast<std::int64_t>(walker->position());
    } catch (const codec::Error& e) {
      failure = e.what();
      broken = true;
    }
  }
  return failure;
}

std::int64_t BloscpackSnapshot::page_at(std::int64_t content_offset, const ChunkMap* map) const {
  if (geometry_.uniform) return geometry_.chunk_at(content_offset) / chunks_per_page(map);
  const auto& checkpoints = as_map(map).checkpoints();
  const auto behind = std::upper_bound(
      checkpoints.begin(), checkpoints.end(), content_offset,
      [](std::int64_t offset, const auto& point) { return offset < point.content_offset; });
  return std::max<std::int64_t>(behind - checkpoints.begin() - 1, 0);
}

std::int64_t BloscpackSnapshot::page_memory(std::int64_t, const ChunkMap* map) const {
  // Two numbers for each chunk: position and content offset, or an offset and its stored bytes. In
  // addition the window of the walker.
  constexpr std::int64_t kPerChunk = 2 * sizeof(std::int64_t);
  constexpr auto kFixed = static_cast<std::int64_t>(sizeof(BloscpackPage) + kMaxWalkWindow + 1024);
  return kFixed + std::min(chunks_per_page(map), geometry_.nchunks) * kPerChunk;
}

std::unique_ptr<const IndexPage> BloscpackSnapshot::read_page(std::int64_t page,
                                                              const ChunkMap* map,
                                                              codec::BlockDecoder&) const {
  const std::int64_t first = page * chunks_per_page(map);
  const std::int64_t count = std::min(chunks_per_page(map), geometry_.nchunks - first);
  if (map != nullptr) {
    const BloscpackMap& walked = as_map(map);
    auto result = std::make_unique<BloscpackPage>(geometry_, first, count, walked.failure());
    if (static_cast<std::size_t>(page) < walked.checkpoints().size())
      result->walk(*source_, walked.checkpoints()[static_cast<std::size_t>(page)]);
    return result;
  }
  std::vector<std::int64_t> offsets = read_offsets(first, count);
  std::string failure = fill_gaps(first, offsets);
  auto result = std::make_unique<BloscpackPage>(geometry_, first, count, std::move(failure));
  result->set_positions(std::move(offsets));
  return result;
}

/// Returns the whole chunk, because its digest needs all of it.
std::vector<StoredRange> BloscpackSnapshot::likely_stored(const ChunkPlace& place,
                                                          const ChunkPlace* next,
                                                          const ByteRange&) const {
  std::uint64_t size = static_cast<std::uint64_t>(place.nbytes) + kLargestExtra;
  if (next != nullptr && next->stored_offset > place.stored_offset)
    size = std::min(size, next->stored_offset - place.stored_offset);
  size = std::min({size, place.stored_limit, kMostExpected});
  return {{{static_cast<std::int64_t>(place.stored_offset), static_cast<std::int64_t>(size)}, {}}};
}

OpenedChunk BloscpackSnapshot::open_chunk(const ChunkPlace& place, std::size_t max_memory) const {
  ChunkDemands demands;
  demands.nbytes = place.nbytes;
  demands.min_cbytes = kBloscpackChunkHeader;
  demands.max_memory = max_memory;
  codec::Chunk chunk =
      open_stored_chunk(*source_, {place.stored_offset, place.stored_limit}, demands);
  const auto cbytes = static_cast<std::uint64_t>(chunk.header().cbytes);
  verify_stored_digest(*source_, checksum_, place.stored_offset, cbytes,
                       place.stored_offset + cbytes, "Bloscpack chunk");
  return OpenedChunk{std::move(chunk), place, {}};
}

/// Returns the number of bytes of the offset table; 0 if there is none.
std::uint64_t table_size(const BloscpackHeader& header, std::uint64_t begin,
                         std::uint64_t file_size) {
  if (!header.has_offsets) return 0;
  const auto entries = static_cast<std::uint64_t>(header.nchunks + header.max_app_chunks);
  if (begin > file_size || entries > (file_size - begin) / 8)
    throw_malformed(fmt::format("Bloscpack offsets: {} entries at {}, file has {} bytes", entries,
                                begin, file_size));
  return entries * 8;
}

}  // namespace

bool has_bloscpack_magic(Bytes first_bytes) {
  return first_bytes.size() >= std::size(kBloscpackMagic) &&
         std::equal(std::begin(kBloscpackMagic), std::end(kBloscpackMagic), first_bytes.begin());
}

std::unique_ptr<Snapshot> open_bloscpack(std::shared_ptr<const ByteSource> source,
                                         const OpenSettings&) {
  const FileStamp stamp = source->stamp();
  const auto file_size = static_cast<std::uint64_t>(stamp.size);
  const BloscpackHeader header = read_bloscpack_header(*source, file_size);
  FrameInfo info;
  info.kind = ContainerKind::bloscpack;
  info.format_version = header.version;
  info.typesize = std::max(header.typesize, 1);
  info.chunksize = header.chunk_size;
  info.frame_len = stamp.size;
  info.checksum = digest_name(header.checksum);
  std::uint64_t position = header.header_size;
  if (header.has_metadata) {
    BloscpackMetadata metadata = read_bloscpack_metadata(*source, position, file_size);
    position += metadata.section_size;
    info.array = std::move(metadata.array);
  }
  const std::uint64_t chunks_begin = position + table_size(header, position, file_size);
  info.header_len = static_cast<std::int64_t>(chunks_begin);
  if (chunks_begin > file_size)
    throw_malformed(
        fmt::format("Bloscpack chunks at {}: file has {} bytes", chunks_begin, file_size));
  return std::make_unique<BloscpackSnapshot>(std::move(info), std::move(source), stamp, header,
                                             position);
}

}  // namespace bloscfs::frame::inline bloscpack
