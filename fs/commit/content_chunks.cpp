// The chunks of a commit: which of them change, and how they are encoded.

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <utility>

#include "codec/error.hpp"
#include "frame/array/array_geometry.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/commit/content_commit.hpp"
#include "fs/encoding/new_frame.hpp"
#include "fs/view/thread_decoder.hpp"

namespace bloscfs::fs {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b == 0 ? 0 : 1); }

/// Of the index of a frame of chunks of one size.
constexpr std::size_t kMaxMapMemory = std::size_t{4} << 20;

bool is_hole(codec::SpecialValue value) {
  return value == codec::SpecialValue::zero || value == codec::SpecialValue::uninit;
}

/// A chunk with a bad entry is none.
bool is_hole_at(const frame::IndexPage& page, std::int64_t chunk) {
  try {
    return is_hole(page.place(chunk).special);
  } catch (const codec::Error&) {
    return false;
  }
}

/// Bytes that one step along the first dimension takes.
std::int64_t row_size(const frame::ArrayInfo& array, std::int64_t typesize) {
  std::int64_t row = typesize;
  for (std::size_t i = 1; i < array.shape.size(); i++) row *= array.shape[i];
  return row;
}

/// End of the run of array bytes from `offset` that one chunk holds, where chunks are cut as
/// frame::choose_cut() does: one dimension in parts, those behind it whole.
std::int64_t end_of_chunk(const frame::ArrayInfo& array, std::int64_t typesize, std::int64_t offset,
                          std::int64_t nbytes) {
  const std::size_t dimensions = array.shape.size();
  if (dimensions == 0) return nbytes;
  std::size_t cut = 0;
  while (cut + 1 < dimensions && array.chunkshape[cut] == 1) cut++;
  std::int64_t step = typesize;
  for (std::size_t i = cut + 1; i < dimensions; i++) step *= array.shape[i];
  const std::int64_t position = offset / step % array.shape[cut];
  return offset + step * std::min<std::int64_t>(array.chunkshape[cut], array.shape[cut] - position);
}

}  // namespace

void ContentCommit::fill() {
  const std::shared_ptr<void> working = take_working_memory();
  recoder_ = std::make_unique<ChunkRecoder>(
      encode_settings(transaction_->info(), content_->services_.options), content_->services_.pages,
      content_->services_.pool, kRunsAtOnce, kRunBytes,
      [this](std::span<const RecodedChunk> run) { put(run); });
  if (new_frame_)
    new_frame_->array ? fill_array(*new_frame_->array) : fill_flat();
  else
    view_->shape().blocked ? edit_array() : edit_flat();
  recoder_->finish();
}

/// For one large chunk at a time.
std::shared_ptr<void> ContentCommit::take_working_memory() const {
  BlockCache& cache = content_->services_.cache;
  const std::int64_t chunksize = transaction_->info().chunksize;
  if (chunksize <= static_cast<std::int64_t>(kBytesAtOnce)) return nullptr;
  const auto needed = static_cast<std::size_t>(memory_to_encode(chunksize));
  if (!can_be_encoded(chunksize, cache.capacity()))
    frame::throw_errno(EFBIG, "chunks need more than cache_size");
  cache.charge(0, needed);
  return {nullptr, [&cache, needed](void*) { cache.charge(needed, 0); }};
}

// --- new containers

void ContentCommit::fill_flat() {
  transaction_->resize(size_);
  const std::int64_t chunksize = transaction_->info().chunksize;
  const std::int64_t committed =
      view_ == nullptr ? 0 : std::min({view_->size(), size_, layer_->lower_end});
  // Holes stay holes, however large.
  std::set<std::int64_t> written;
  layer_->bytes.for_each(0, size_, [&](const ByteOverlay::Part& part) {
    if (part.bytes == nullptr) return;
    for (std::int64_t at = part.offset / chunksize * chunksize; at < part.offset + part.size;
         at += chunksize)
      written.insert(at / chunksize);
  });
  const std::int64_t last = ceil_div(size_, chunksize) - 1;
  if (last >= 0 && ends_within_item(chunk_range(last, size_))) written.insert(last);
  const std::int64_t old_chunks = ceil_div(committed, chunksize);
  const auto next_committed = [&](std::int64_t chunk) -> std::optional<std::int64_t> {
    const auto data = chunk < old_chunks ? view_->seek_data(chunk * chunksize) : std::nullopt;
    return data && *data < committed ? std::optional(*data / chunksize) : std::nullopt;
  };
  auto below = next_committed(0);
  for (auto above = written.begin(); below || above != written.end();) {
    const std::int64_t chunk =
        above == written.end() || (below && *below < *above) ? *below : *above;
    add_whole_chunk(chunk, chunk_range(chunk, size_));
    if (above != written.end() && *above == chunk) ++above;
    if (below == chunk) below = next_committed(chunk + 1);
  }
}

void ContentCommit::fill_array(const frame::ArrayInfo& array) {
  const std::int64_t typesize = transaction_->info().typesize;
  const std::int64_t chunksize = transaction_->info().chunksize;
  const frame::ArrayGeometry geometry(array, transaction_->info().typesize);
  const std::int64_t header = size_ - geometry.nbytes();
  for (std::int64_t begin = 0, chunk = 0; begin < geometry.nbytes(); chunk++) {
    const std::int64_t end = end_of_chunk(array, typesize, begin, geometry.nbytes());
    const auto encode = [this, &geometry, begin, end, chunksize, header](
                            codec::ChunkEncoder& encoder, codec::MutableBytes out) {
      std::vector<std::uint8_t> bytes(static_cast<std::size_t>(end - begin));
      read(begin + header, bytes);
      std::vector<std::uint8_t> padded(static_cast<std::size_t>(chunksize));
      geometry.for_each_block(begin, end - begin,
                              [&](const frame::ArrayGeometry::BlockPart& block) {
                                for (const auto& run : *block.runs)
                                  std::memcpy(padded.data() + block.chunk_offset + run.in_block,
                                              bytes.data() + (run.array_offset - begin),
                                              static_cast<std::size_t>(run.length));
                              });
      return encoder.encode_into(padded, out);
    };
    recoder_->add(chunk, static_cast<std::size_t>(chunksize), encode);
    begin = end;
  }
  recoder_->finish();  // before the geometry goes
}

// --- changed ones

codec::ByteRange ContentCommit::chunk_range(std::int64_t chunk, std::int64_t frame_size) const {
  const std::int64_t chunksize = transaction_->info().chunksize;
  if (chunksize > 0)
    return {chunk * chunksize, std::min(chunksize, frame_size - chunk * chunksize)};
  Request request = view_->reader().begin_request();
  const frame::ChunkPlace place = view_->reader().index().place_of_chunk(chunk, request);
  return {place.content_offset, place.nbytes};
}

/// C-Blosc2 2.17 reads no zeros without stored bytes there, so such a chunk is always encoded.
bool ContentCommit::ends_within_item(const codec::ByteRange& range) const {
  return range.size % transaction_->info().typesize != 0;
}

/// Chunks of a range of zeros that are no holes yet: there may be more chunks than memory.
void ContentCommit::add_zeroed(const codec::ByteRange& range,
                               std::set<std::int64_t>& touched) const {
  const std::int64_t chunksize = transaction_->info().chunksize;
  if (const auto all = snapshot_->all_chunks_special(); all && is_hole(*all)) return;
  // Not through the cache, which has better use for its memory.
  const auto map = snapshot_->has_chunk_map()
                       ? snapshot_->read_chunk_map(kMaxMapMemory, thread_decoder())
                       : nullptr;
  const std::int64_t end =
      std::min(ceil_div(range.offset + range.size, chunksize), snapshot_->info().nchunks);
  for (std::int64_t chunk = range.offset / chunksize; chunk < end;) {
    const auto page = snapshot_->read_page(snapshot_->page_of_chunk(chunk, map.get()), map.get(),
                                           thread_decoder());
    const std::int64_t page_end = page->first_chunk() + page->chunk_count();
    if (page->uniform_hole().value_or(false)) {
      chunk = page_end;
      continue;
    }
    for (; chunk < std::min(end, page_end); chunk++)
      if (!is_hole_at(*page, chunk)) touched.insert(chunk);
  }
}

std::set<std::int64_t> ContentCommit::touched_chunks() const {
  const std::int64_t chunksize = transaction_->info().chunksize;
  const auto chunk_of = [&](std::int64_t offset) {
    if (chunksize > 0) return offset / chunksize;
    Request request = view_->reader().begin_request();
    return view_->reader().index().place_at(offset, request).number;
  };
  std::set<std::int64_t> touched;
  layer_->bytes.for_each(0, size_, [&](const ByteOverlay::Part& part) {
    if (part.bytes == nullptr && chunksize > 0)
      return add_zeroed({part.offset, part.size}, touched);
    const std::int64_t last = chunk_of(part.offset + part.size - 1);
    for (std::int64_t chunk = chunk_of(part.offset); chunk <= last; chunk++) touched.insert(chunk);
  });
  return touched;
}

void ContentCommit::edit_flat() {
  const std::int64_t chunksize = transaction_->info().chunksize;
  const std::int64_t old_size = view_->size();
  const std::int64_t kept = std::min({old_size, size_, layer_->lower_end});
  std::set<std::int64_t> touched = touched_chunks();
  drops_chunks_ = kept < old_size;
  if (drops_chunks_) transaction_->resize(kept);
  if (kept < size_) transaction_->resize(size_);
  std::set<std::int64_t> whole;
  if (kept < old_size || kept < size_) {
    // The chunk that the old bytes end in gets another size, or loses some of them.
    if (kept % chunksize != 0) whole.insert(kept / chunksize);
    const std::int64_t last = ceil_div(size_, chunksize) - 1;
    if (last >= 0 && ends_within_item(chunk_range(last, size_))) whole.insert(last);
    touched.insert(whole.begin(), whole.end());
  }
  for (const std::int64_t chunk : touched) {
    const codec::ByteRange range = chunk_range(chunk, size_);
    if (whole.count(chunk) != 0 || range.offset >= kept) {
      add_whole_chunk(chunk, range);
      continue;
    }
    Changes changes;
    layer_->bytes.for_each(range.offset, range.size, [&](const ByteOverlay::Part& part) {
      changes.push_back({part.offset - range.offset, part.size, part.bytes});
    });
    add_changed_chunk(chunk, range.size, std::move(changes));
  }
}

void ContentCommit::edit_array() {
  const frame::FrameInfo& info = snapshot_->info();
  const auto header = static_cast<std::int64_t>(view_->shape().header.size());
  frame::ArrayInfo array = *info.array;
  if (size_ != view_->size()) {
    array.shape.front() = (size_ - header) / row_size(array, info.typesize);
    transaction_->set_shape(array.shape);
  }
  const frame::ArrayGeometry geometry(array, info.typesize);
  std::map<std::int64_t, Changes> by_chunk;
  const auto add = [&](const ByteOverlay::Part& part) {
    geometry.for_each_block(
        part.offset - header, part.size, [&](const frame::ArrayGeometry::BlockPart& block) {
          Changes& changes = by_chunk[block.chunk];
          for (const auto& run : *block.runs) {
            const std::int64_t at = run.array_offset + header - part.offset;
            changes.push_back({block.chunk_offset + run.in_block, run.length,
                               part.bytes == nullptr ? nullptr : part.bytes + at});
          }
        });
  };
  // What was cut off and came back reads as zeros.
  const std::int64_t kept = std::max(header, layer_->lower_end);
  const std::int64_t end = std::min(size_, view_->size());
  if (kept < end) add({kept, end - kept, nullptr});
  layer_->bytes.for_each(header, size_ - header, add);
  for (auto& [chunk, changes] : by_chunk)
    add_changed_chunk(chunk, transaction_->info().chunksize, std::move(changes));
}

void ContentCommit::add_whole_chunk(std::int64_t chunk, const codec::ByteRange& range) {
  if (range.size <= 0) return;
  const auto size = static_cast<std::size_t>(range.size);
  recoder_->add(chunk, size,
                [this, range, size](codec::ChunkEncoder& encoder, codec::MutableBytes out) {
                  const codec::Bytes written = layer_->bytes.extent(range.offset, range.size);
                  if (!written.empty()) return encoder.encode_into(written, out);
                  std::vector<std::uint8_t> contents(size);
                  read(range.offset, contents);
                  return encoder.encode_into(contents, out);
                });
}

void ContentCommit::add_changed_chunk(std::int64_t chunk, std::int64_t size, Changes changes) {
  const bool covered = changes.size() == 1 && changes.front().size == size;
  const bool whole_items = size % transaction_->info().typesize == 0;
  if (covered && changes.front().bytes == nullptr && whole_items) {
    const RecodedChunk zeros{chunk, 0, codec::SpecialValue::zero, {}};
    return put({&zeros, 1});
  }
  const auto nbytes = static_cast<std::size_t>(size);
  recoder_->add(chunk, nbytes,
                [this, chunk, size, nbytes, covered, changes = std::move(changes)](
                    codec::ChunkEncoder& encoder, codec::MutableBytes out) {
                  if (covered && changes.front().bytes != nullptr)
                    return encoder.encode_into({changes.front().bytes, nbytes}, out);
                  return encode_changed(encoder, chunk, size, changes, out);
                });
}

std::vector<std::uint8_t> ContentCommit::merged(std::int64_t chunk, const codec::ByteRange& range,
                                                const Changes& changes) const {
  std::vector<std::uint8_t> out(static_cast<std::size_t>(range.size));
  if (chunk < snapshot_->info().nchunks)
    view_->reader().visit_chunk(
        chunk, range.offset, range.size, [&](const BlockReader::Span& span, std::int64_t at) {
          span.copy(0, codec::MutableBytes(out).subspan(static_cast<std::size_t>(at),
                                                        static_cast<std::size_t>(span.size)));
        });
  for (const Change& change : changes) {
    const std::int64_t begin = std::max(range.offset, change.chunk_offset);
    const std::int64_t end = std::min(range.offset + range.size, change.chunk_offset + change.size);
    if (begin >= end) continue;
    std::uint8_t* const target = out.data() + (begin - range.offset);
    const auto size = static_cast<std::size_t>(end - begin);
    if (change.bytes == nullptr)
      std::memset(target, 0, size);
    else
      std::memcpy(target, change.bytes + (begin - change.chunk_offset), size);
  }
  return out;
}

codec::EncodedSize ContentCommit::encode_changed(codec::ChunkEncoder& encoder, std::int64_t chunk,
                                                 std::int64_t size, const Changes& changes,
                                                 codec::MutableBytes out) const {
  const auto encode_all = [&] {
    return encoder.encode_into(merged(chunk, {0, size}, changes), out);
  };
  if (chunk >= snapshot_->info().nchunks) return encode_all();
  const auto opened = view_->reader().open_chunk(chunk);
  const codec::Chunk& old = opened->chunk;
  if (!old.header().has_block_starts() || old.header().vl_blocks || old.nbytes() != size)
    return encode_all();
  std::set<std::int32_t> blocks;
  for (const Change& change : changes) {
    const std::int32_t last = old.block_at(change.chunk_offset + change.size - 1);
    for (std::int32_t block = old.block_at(change.chunk_offset); block <= last; block++)
      blocks.insert(block);
  }
  if (blocks.size() == static_cast<std::size_t>(old.block_count())) return encode_all();
  std::vector<std::vector<std::uint8_t>> contents;
  std::vector<codec::BlockUpdate> updates;
  for (const std::int32_t block : blocks) {
    contents.push_back(merged(chunk, old.block_content(block), changes));
    updates.push_back({block, contents.back()});
  }
  PooledBuffer stored(content_->services_.pages);
  snapshot_->read_stored(*opened, {0, old.header().cbytes},
                         stored.room_for(static_cast<std::size_t>(old.header().cbytes)));
  return encoder.update_into(old, stored, updates, out);
}

}  // namespace bloscfs::fs
