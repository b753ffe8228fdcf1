#include "fs/commit/chunk_filler.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "codec/error.hpp"
#include "frame/array/array_shapes.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/content/size_limit.hpp"
#include "fs/encoding/new_frame.hpp"
#include "fs/view/thread_decoder.hpp"

namespace bloscfs::fs {
namespace {

/// The most bytes that the chunk map of a frame with chunks of one size may take in add_zeroed().
constexpr std::size_t kMaxMapMemory = std::size_t{4} << 20;

bool is_hole(codec::SpecialValue value) {
  return value == codec::SpecialValue::zero || value == codec::SpecialValue::uninit;
}

/// A chunk with a damaged index entry counts as no hole, so it is stored anew, as zeros.
bool is_hole_at(const frame::IndexPage& page, std::int64_t chunk) {
  try {
    return is_hole(page.place(chunk).special);
  } catch (const codec::Error&) {
    return false;
  }
}

/// Returns the bytes of a chunk that are elements of the array; the others are padding.
std::int64_t used_bytes(const frame::ArrayInfo& array, std::int64_t typesize, std::int64_t chunk) {
  std::int64_t used = typesize;
  for (std::size_t dim = array.shape.size(); dim-- > 0;) {
    const std::int64_t extent = array.chunkshape[dim];
    const std::int64_t chunks = codec::ceil_div(array.shape[dim], extent);
    used *= std::min(extent, array.shape[dim] - chunk % chunks * extent);
    chunk /= chunks;
  }
  return used;
}

/// Returns the budget if it has room for one chunk. Otherwise throws std::system_error(EFBIG).
MemoryBudget& budget_for_chunks(std::int64_t chunksize, MemoryBudget& budget) {
  if (!can_be_encoded(chunksize, budget.capacity()))
    frame::throw_errno(EFBIG, "chunks need more than cache_size: mount with a larger one");
  return budget;
}

}  // namespace

ChunkFiller::ChunkFiller(Request& request, const FrozenBytes& file, frame::Transaction& transaction,
                         const Services& services, std::function<void(std::size_t)> on_chunk_put)
    : request_(request),
      file_(file),
      transaction_(transaction),
      was_put_(std::move(on_chunk_put)),
      cut_{transaction.info().chunksize, transaction.info().typesize, file.size},
      recoder_(request, encode_settings(transaction.info(), services.options),
               services.cache.pages(), services.pool,
               &budget_for_chunks(transaction.info().chunksize, services.cache.budget()),
               RunBounds(), [this](std::span<const RecodedChunk> run) { put(run); }) {}

FilledChunks ChunkFiller::fill_new(const std::optional<frame::ArrayInfo>& array) {
  array ? fill_array(*array) : fill_flat();
  recoder_.finish();
  return std::move(filled_);
}

FilledChunks ChunkFiller::edit() {
  if (file_.view->shape().blocked) {
    edit_array();
  } else {
    contents_at_ = static_cast<std::int64_t>(file_.view->shape().header.size());
    cut_.size -= contents_at_;
    edit_flat();
  }
  recoder_.finish();
  return std::move(filled_);
}

// --- new containers

/// Stores only chunks with data. Holes of the committed file and of the layer stay holes.
void ChunkFiller::fill_flat() {
  transaction_.resize(file_.size);
  const FileView* const view = file_.view;
  const std::int64_t committed =
      view == nullptr ? 0 : std::min({view->size(), file_.size, file_.layer->lower_end});
  std::set<std::int64_t> written = written_chunks(file_.layer->bytes, cut_);
  if (const auto last = cut_.chunk_within_item()) written.insert(*last);
  const std::int64_t old_chunks = codec::ceil_div(committed, cut_.chunksize);
  const auto next_committed = [&](std::int64_t chunk) -> std::optional<std::int64_t> {
    const auto data =
        chunk < old_chunks ? view->seek_data(request_, chunk * cut_.chunksize) : std::nullopt;
    return data && *data < committed ? std::optional(*data / cut_.chunksize) : std::nullopt;
  };
  // Merges two ascending sequences of chunks: written chunks, and chunks in which the committed
  // file has data. Example with chunks of 100 bytes, data in 0 and 3, writes to 3 and 7: encodes 0,
  // 3 and 7. Chunks 1, 2 and 4 to 6 stay holes.
  auto below = next_committed(0);
  for (auto above = written.begin(); below || above != written.end();) {
    const std::int64_t chunk =
        above == written.end() || (below && *below < *above) ? *below : *above;
    add_whole_chunk(chunk, cut_.range(chunk));
    if (above != written.end() && *above == chunk) ++above;
    if (below == chunk) below = next_committed(chunk + 1);
  }
}

void ChunkFiller::fill_array(const frame::ArrayInfo& array) {
  geometry_.emplace(array, transaction_.info().typesize);
  const std::int64_t nbytes = geometry_->nbytes();
  // frame::choose_cut() cuts the chunks so that each holds one run of the array's bytes.
  for (std::int64_t begin = 0; begin < nbytes;) {
    const auto run = geometry_->chunk_run(begin);
    add_array_chunk(run.chunk, begin, run.end, file_.size - nbytes);
    begin = run.end;
  }
}

void ChunkFiller::add_array_chunk(std::int64_t chunk, std::int64_t begin, std::int64_t end,
                                  std::int64_t header_size) {
  const auto nbytes = static_cast<std::size_t>(cut_.chunksize);
  const auto encode = [this, nbytes, begin, end, header_size](
                          Request& own, codec::ChunkEncoder& encoder, codec::MutableBytes out) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(end - begin));
    file_.read(own, begin + header_size, bytes);
    // Blocks at the edge of an array are stored whole, with zeros beyond the shape.
    std::vector<std::uint8_t> padded(nbytes);
    geometry_->for_each_block(begin, end - begin,
                              [&](const frame::ArrayGeometry::BlockPart& block) {
                                block.for_each_run([&](const frame::ArrayGeometry::Run& run) {
                                  std::memcpy(padded.data() + block.chunk_offset + run.in_block,
                                              bytes.data() + (run.array_offset - begin),
                                              static_cast<std::size_t>(run.length));
                                });
                              });
    return encoder.encode_into(padded, out);
  };
  recoder_.add(chunk, nbytes, encode);
}

// --- changed ones

codec::ByteRange ChunkFiller::chunk_range(std::int64_t chunk) const {
  if (cut_.chunksize > 0) return cut_.range(chunk);
  // Chunks of various sizes: the index tells where each one lies.
  ReadRequest reading = file_.view->reader().begin_request(request_);
  const frame::ChunkPlace place = file_.view->reader().index().place_of_chunk(chunk, reading);
  return {place.content_offset, place.nbytes};
}

/// Adds to `touched` the chunks of a range of zeros that are not holes yet. Skips holes, since
/// there may be more of them than fit into memory.
void ChunkFiller::add_zeroed(const codec::ByteRange& range, std::set<std::int64_t>& touched) const {
  const frame::Snapshot& snapshot = *file_.snapshot();
  if (const auto all = snapshot.all_chunks_special(); all && is_hole(*all)) return;
  // Read the index without the cache, since other values need the cache's memory more.
  const auto map =
      snapshot.has_chunk_map() ? snapshot.read_chunk_map(kMaxMapMemory, thread_decoder()) : nullptr;
  const std::int64_t end =
      std::min(codec::ceil_div(range.offset + range.size, cut_.chunksize), snapshot.info().nchunks);
  for (std::int64_t chunk = range.offset / cut_.chunksize; chunk < end;) {
    const auto page =
        snapshot.read_page(snapshot.page_of_chunk(chunk, map.get()), map.get(), thread_decoder());
    const std::int64_t page_end = page->first_chunk() + page->chunk_count();
    if (page->uniform_hole().value_or(false)) {
      chunk = page_end;
      continue;
    }
    for (; chunk < std::min(end, page_end); chunk++)
      if (!is_hole_at(*page, chunk)) touched.insert(chunk);
  }
}

/// Returns the chunks into which the layer writes, and those that it zeroes and that are no holes.
std::set<std::int64_t> ChunkFiller::touched_chunks() const {
  const auto chunk_of = [&](std::int64_t offset) {
    if (cut_.chunksize > 0) return offset / cut_.chunksize;
    ReadRequest reading = file_.view->reader().begin_request(request_);
    return file_.view->reader().index().place_at(offset, reading).number;
  };
  std::set<std::int64_t> touched;
  file_.layer->bytes.for_each(contents_at_, cut_.size, [&](const ByteOverlay::Part& part) {
    const std::int64_t offset = part.offset - contents_at_;
    if (part.bytes == nullptr && cut_.chunksize > 0)
      return add_zeroed({offset, part.size}, touched);
    const std::int64_t last = chunk_of(offset + part.size - 1);
    for (std::int64_t chunk = chunk_of(offset); chunk <= last; chunk++) touched.insert(chunk);
  });
  return touched;
}

void ChunkFiller::edit_flat() {
  const std::int64_t old_size = file_.view->size() - contents_at_;
  const std::int64_t kept = std::max<std::int64_t>(
      0, std::min({old_size, cut_.size, file_.layer->lower_end - contents_at_}));
  std::set<std::int64_t> touched = touched_chunks();
  filled_.were_dropped = kept < old_size;
  if (filled_.were_dropped) transaction_.resize(kept);
  // If bytes were cut off and the file grew again (250 -> 30 -> 250), resize in two steps. The
  // first step drops the chunks beyond 30, so that the new ones are zeros and not the old data.
  if (kept < cut_.size) transaction_.resize(cut_.size);
  const std::set<std::int64_t> whole = resized_chunks(cut_, kept, old_size);
  touched.insert(whole.begin(), whole.end());
  for (const std::int64_t chunk : touched) {
    const codec::ByteRange range = chunk_range(chunk);
    // Behind `kept` no committed bytes may be read: the old chunk is gone, even if its number is in
    // use again.
    if (whole.count(chunk) != 0 || range.offset >= kept)
      add_whole_chunk(chunk, range);
    else
      add_changed_chunk(
          chunk, {range.size, range.size},
          changes_of_range(file_.layer->bytes, {range.offset + contents_at_, range.size}));
  }
}

void ChunkFiller::edit_array() {
  const frame::FrameInfo& info = file_.snapshot()->info();
  const auto header_size = static_cast<std::int64_t>(file_.view->shape().header.size());
  frame::ArrayInfo array = *info.array;
  // Content::check_writable() has let the size grow only by whole rows.
  if (file_.size != file_.view->size()) {
    array.shape.front() = (file_.size - header_size) / frame::row_size(array, info.typesize);
    transaction_.set_shape(array.shape);
  }
  const frame::ArrayGeometry geometry(array, info.typesize);
  auto by_chunk =
      changes_of_array(geometry, *file_.layer, header_size, file_.size, file_.view->size());
  for (auto& [chunk, changes] : by_chunk)
    add_changed_chunk(chunk,
                      {transaction_.info().chunksize, used_bytes(array, info.typesize, chunk)},
                      std::move(changes));
}

void ChunkFiller::add_whole_chunk(std::int64_t chunk, const codec::ByteRange& range) {
  if (range.size <= 0) return;
  const auto size = static_cast<std::size_t>(range.size);
  recoder_.add(
      chunk, size,
      [this, range, size](Request& own, codec::ChunkEncoder& encoder, codec::MutableBytes out) {
        const std::int64_t offset = range.offset + contents_at_;
        const codec::Bytes written = file_.layer->bytes.extent(offset, range.size);
        // A chunk that was written in one piece is encoded from where it lies, without a copy.
        if (!written.empty()) return encoder.encode_into(written, out);
        std::vector<std::uint8_t> contents(size);
        file_.read(own, offset, contents);
        return encoder.encode_into(contents, out);
      });
}

void ChunkFiller::add_changed_chunk(std::int64_t chunk, const ChunkSize& size,
                                    ChunkChanges changes) {
  // A chunk that one change replaces as a whole needs no old bytes. As zeros it becomes a special
  // chunk, unless it ends within an item (FlatCut::chunk_within_item()).
  const bool covered = changes.size() == 1 && changes.front().size == size.nbytes;
  const bool whole_items = size.nbytes % cut_.typesize == 0;
  if (covered && changes.front().bytes == nullptr && whole_items) {
    const RecodedChunk zeros{chunk, 0, codec::SpecialValue::zero, {}};
    return put({&zeros, 1});
  }
  const auto nbytes = static_cast<std::size_t>(size.nbytes);
  recoder_.add(chunk, nbytes,
               [this, chunk, size, nbytes, covered, changes = std::move(changes)](
                   Request& own, codec::ChunkEncoder& encoder, codec::MutableBytes out) {
                 if (covered && changes.front().bytes != nullptr)
                   return encoder.encode_into({changes.front().bytes, nbytes}, out);
                 return encode_changed_chunk(own, encoder, *file_.view, chunk, size, changes, out);
               });
}

void ChunkFiller::put(std::span<const RecodedChunk> run) {
  std::size_t nbytes = 0;
  for (const RecodedChunk& chunk : run) {
    filled_.numbers.push_back(chunk.number);
    nbytes += chunk.nbytes;
  }
  put_recoded(transaction_, run);
  was_put_(nbytes);
}

}  // namespace bloscfs::fs
