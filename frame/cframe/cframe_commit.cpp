#include "frame/cframe/cframe_commit.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "codec/error.hpp"
#include "frame/cframe/cframe.hpp"
#include "frame/editing/frame_file.hpp"
#include "frame/editing/frame_tail.hpp"
#include "frame/header/cframe_format.hpp"
#include "frame/header/frame_header_writer.hpp"
#include "frame/header/frame_parts.hpp"
#include "frame/reading/expected_state.hpp"
#include "frame/store/peer_lock.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline cframe {
namespace {

/// Bytes that a disk writes atomically.
constexpr std::ptrdiff_t kSector = 512;

/// begin_flush() starts the disk early for at least this much. For less, a second request costs
/// more time than the early start gains.
constexpr std::uint64_t kWorthBeginning = std::uint64_t{1} << 20;

/// Largest index and trailer that the snapshot of a commit keeps in memory.
constexpr std::size_t kMostKept = std::size_t{64} << 10;

/// Most chunks that a commit considers for moving. It reads a header for each of them.
constexpr int kMostMoves = 1024;

/// Most live bytes of a frame that should_rewrite_for_readers() lets the commit rewrite.
constexpr std::uint64_t kMostReplaced = std::uint64_t{256} << 20;

/// Returns the number of leading bytes that cover all differences.
std::ptrdiff_t changed_bytes(codec::Bytes before, codec::Bytes after) {
  std::ptrdiff_t changed = std::ssize(before);
  while (changed > 0 && before[static_cast<std::size_t>(changed - 1)] ==
                            after[static_cast<std::size_t>(changed - 1)])
    --changed;
  return changed;
}

/// Returns how many chunks, beginning with the first, are adjacent in memory.
std::size_t adjacent(std::span<const NumberedChunk> chunks) {
  const auto gap = std::adjacent_find(
      chunks.begin(), chunks.end(), [](const NumberedChunk& chunk, const NumberedChunk& next) {
        return chunk.stored.data() + chunk.stored.size() != next.stored.data();
      });
  return gap == chunks.end() ? chunks.size() : static_cast<std::size_t>(gap - chunks.begin()) + 1;
}

std::size_t size_of(std::span<const NumberedChunk> chunks) {
  std::size_t size = 0;
  for (const NumberedChunk& chunk : chunks) size += chunk.stored.size();
  return size;
}

/// Returns where index and trailer of a state begin.
std::uint64_t tail_start(const FrameSnapshot& frame) {
  const FrameInfo& info = frame.info();
  if (info.nbytes > 0) return frame.index_at().position;
  return static_cast<std::uint64_t>(info.frame_len - info.trailer_len);
}

std::uint64_t old_tail_size(const FrameEdit& edit) {
  return static_cast<std::uint64_t>(edit.base()->info().frame_len) - tail_start(*edit.base());
}

}  // namespace

CframeCommit::CframeCommit(CframeState& state, ContainerLock lock, NewFile new_file,
                           ChunkMoves moves)
    : state_(state), lock_(std::move(lock)), new_file_(new_file), moves_(moves) {
  if (state_.current)
    old_header_.assign(state_.current->header_bytes().begin(),
                       state_.current->header_bytes().end());
  else
    start_.emplace(state_.file);  // a small new frame is written by one write at the end
  // Dead space is not free yet while readers may still use what lies there.
  readers_hold_space_ = state_.notes.space.dead_size() > state_.notes.space.free_size();
  state_.in_transaction = true;
}

CframeCommit::~CframeCommit() {
  if (step_ == Step::finished) return;
  take_back();
  state_.in_transaction = false;
}

void CframeCommit::take_back() noexcept {
  std::vector<Extent> taken{tail_};
  for (const auto& [start, end] : chunks_.extents()) taken.push_back({start, end - start});
  try {
    if (rewritten_ && rewritten_->is_published()) state_.broken = true;
    rewritten_.reset();
    if (step_ >= Step::switching) {
      // Until another commit is durable, the disk may hold either header.
      state_.notes.space.distrust(taken);
      // If another program has overwritten the new header since, this commit must not undo that.
      if (step_ == Step::switching || state_.expected->matches(*state_.file))
        state_.expected->replace_header(old_header_, [&] {
          state_.file->write_at(0, old_front_.empty() ? old_header_ : old_front_);
        });
    } else {
      for (const Extent& extent : taken) state_.notes.space.give_back(extent);
      if (step_ == Step::changing) cut_added_space();
    }
    if (state_.expected) {
      restore_time();
      state_.expected->end_writing(*state_.file);
    }
  } catch (const std::exception&) {
    state_.broken = true;
  }
}

/// Gives the file back the modification time that it had before this commit wrote into free space.
/// If another program has changed the file since, the time is that program's.
void CframeCommit::restore_time() noexcept {
  try {
    const FileStamp before = state_.expected->stamp(), now = state_.file->stamp();
    if (id_of(now) != id_of(before) || !state_.expected->matches(*state_.file)) return;
    if (now.mtime_s != before.mtime_s || now.mtime_ns != before.mtime_ns)
      state_.file->set_times({0, UTIME_OMIT}, {before.mtime_s, before.mtime_ns});
  } catch (const std::exception&) {
    // Only the owner can set times.
  }
}

/// Cuts off the space that a failed commit has taken behind the frame. If another program has
/// changed the frame since, the bytes may belong to it, and they stay.
void CframeCommit::cut_added_space() {
  if (state_.current && !state_.expected->matches(*state_.file)) return;
  const std::uint64_t end = state_.notes.space.cut_end(1);
  if (static_cast<std::uint64_t>(state_.file->stamp().size) > end) state_.file->truncate(end);
}

std::uint64_t CframeCommit::store(codec::Bytes bytes) {
  const Placing placing = state_.current ? Placing::spread : Placing::packed;
  const Extent extent{state_.notes.space.take(bytes.size(), placing), bytes.size()};
  chunks_.add(extent);
  try {
    file().write_at(extent.start, bytes);
  } catch (const std::system_error&) {
    give_back(extent);
    throw;
  }
  return extent.start;
}

void CframeCommit::give_back(const Extent& extent) {
  chunks_.remove(extent);
  state_.notes.space.give_back(extent);
}

std::vector<std::int64_t> CframeCommit::store_chunks(std::span<const NumberedChunk> chunks) {
  std::vector<std::int64_t> entries;
  std::vector<Extent> stored;
  try {
    while (!chunks.empty()) {
      const std::size_t count = adjacent(chunks);
      const std::size_t size = size_of(chunks.first(count));
      std::uint64_t position = store({chunks.front().stored.data(), size});
      stored.push_back({position, size});
      for (const NumberedChunk& chunk : chunks.first(count)) {
        largest_put_ = std::max<std::uint64_t>(largest_put_, chunk.stored.size());
        entries.push_back(static_cast<std::int64_t>(position - state_.header_len));
        position += chunk.stored.size();
      }
      chunks = chunks.subspan(count);
    }
  } catch (const std::system_error&) {
    for (const Extent& extent : stored) give_back(extent);
    throw;
  }
  return entries;
}

void CframeCommit::discard_chunk(const PutChunk& chunk) {
  give_back({state_.header_len + static_cast<std::uint64_t>(chunk.entry),
             static_cast<std::uint64_t>(chunk.cbytes)});
}

std::vector<std::uint8_t> CframeCommit::new_header(const FrameEdit& edit,
                                                   bool has_vlmetalayers) const {
  if (!edit.base()) return first_header(state_.planned, info_, has_vlmetalayers);
  std::vector<std::uint8_t> header = old_header_;
  update_frame_header(header, info_, has_vlmetalayers);
  const auto layer = edit.base()->array_metalayer();
  if (layer && info_.array &&
      layer->stored_offset + 4 + 9 * info_.array->shape.size() <= header.size())
    update_shape(header, static_cast<std::size_t>(layer->stored_offset), info_.array->shape);
  return header;
}

bool CframeCommit::fits_reserve(const FrameEdit& edit) const {
  return edit.vlmetalayers().empty() && state_.reserve == plain_trailer(edit.keeps_checksums());
}

bool CframeCommit::is_front_free(const FrameEdit& edit) {
  const std::uint64_t end = state_.header_len + FrameTail(edit, decoder_).trailer_len();
  return state_.notes.space.is_free(state_.chunks_at(), end);
}

bool CframeCommit::fits_first_sector(const FrameEdit& edit) {
  const auto old_size = static_cast<std::uint64_t>(edit.base()->info().trailer_len);
  const std::uint64_t size = FrameTail(edit, decoder_).trailer_len();
  return state_.header_len + std::max(old_size, size) <= kSector;
}

bool CframeCommit::must_rewrite(const FrameEdit& edit) {
  if (new_file_ == NewFile::always) return true;
  if (!edit.base()) return false;
  // A changed fixed metalayer may change the length of the header. Everything behind the header
  // would then have to move.
  if (edit.changes_metalayers()) return true;
  // A frame that becomes empty needs its trailer right behind the header. The reserve there has
  // room only for a plain trailer.
  if (edit.info().nchunks == 0 && !fits_reserve(edit)) {
    // A file with one name can be replaced. If it has several names, the other names would still
    // lead to the old state.
    if (state_.file->link_count() < 2 || state_.settings.anew) return true;
    const bool was_empty = edit.base()->info().nchunks == 0;
    if (was_empty && !fits_first_sector(edit)) return true;
    // Readers may still need bytes where the new trailer has to be: those of an earlier state, or
    // of chunks before FrameWriter::prepare_to_empty() moved them.
    const FrameSpace& space = state_.notes.space;
    if (was_empty ? space.dead_size() != space.free_size() : !is_front_free(edit))
      throw_errno(EBUSY, state_.name + ": has several hard links, and others have it open");
    return false;
  }
  if (!edit.info().array || edit.info().array->shape == edit.base()->info().array->shape)
    return false;
  const auto layer = edit.base()->array_metalayer();
  const std::uint64_t end = layer->stored_offset + 4 + 9 * edit.info().array->shape.size();
  // A shape beyond the first sector of the header cannot be switched together with the header.
  return end > old_header_.size() || changed_bytes(old_header_, new_header(edit, false)) > kSector;
}

void CframeCommit::write(FrameEdit& edit, const std::optional<FileTimes>&) {
  info_ = edit.info();
  rewritten_.reset();
  // write() may be called again after an error such as ENOSPC. Frees what the first call wrote.
  state_.notes.space.give_back(std::exchange(tail_, {}));
  tail_bytes_.clear();
  new_front_.clear();
  if (must_rewrite(edit)) {
    rewrite_frame(edit);
    return;
  }
  superseded_ = superseded(edit);
  move_chunks(edit);
  if (!should_rewrite_for_readers(edit)) return write_in_place(edit);
  try {
    rewrite_frame(edit);
  } catch (const std::system_error&) {
    // For example, there may be no room for a second file. The commit in place then leaves the
    // frame longer than it should be.
    rewritten_.reset();
    write_in_place(edit);
  }
}

void CframeCommit::rewrite_frame(const FrameEdit& edit) {
  rewritten_ = std::make_unique<CframeRewrite>(state_);
  rewritten_->write(edit, decoder_);
}

CframeCommit::ExpectedLength CframeCommit::expected_length(const FrameEdit& edit,
                                                           const ExtentSet& gone) const {
  const FrameSpace& space = state_.notes.space;
  // Assumes the size of the old tail, and 8 bytes for each chunk that was put, because entries of
  // moved chunks compress less well.
  const std::uint64_t tail = old_tail_size(edit) + 8 * edit.chunks().size();
  const std::uint64_t live = space.live_size() + tail - std::min(space.live_size(), gone.total());
  return {live, tail, state_.notes.max_frame_len(live)};
}

std::uint64_t CframeCommit::expected_end(const ExpectedLength& length,
                                         const ExtentSet& gone) const {
  const FrameSpace& space = state_.notes.space;
  return space.find_tail(length.tail, space.live_end(gone)).start + length.tail;
}

/// True if readers of earlier states keep the frame from shrinking for long. A new file then leaves
/// the old file to these readers. Only the owner of the file, or root, can make another file like
/// it.
bool CframeCommit::should_rewrite_for_readers(const FrameEdit& edit) const {
  if (!readers_hold_space_ || new_file_ != NewFile::if_shorter || !edit.base()) return false;
  if (edit.info().nchunks == 0 || state_.file->link_count() != 1) return false;
  const uid_t user = ::geteuid();
  if (user != 0 && user != state_.file->attributes().owner) return false;
  const ExtentSet gone = this->gone();
  const ExpectedLength length = expected_length(edit, gone);
  return length.live <= kMostReplaced && expected_end(length, gone) > length.most;
}

void CframeCommit::write_in_place(const FrameEdit& edit) {
  FrameTail tail(edit, decoder_);
  if (info_.nchunks == 0)
    write_empty_tail(edit, tail);
  else
    write_tail(edit, tail);
  new_header_ = new_header(edit, tail.has_vlmetalayers());
  if (!new_front_.empty())
    new_front_.insert(new_front_.begin(), new_header_.begin(), new_header_.end());
  if (edit.base()) return;
  // The frame is new, so writing the header overwrites no state.
  if (tail_.start != state_.header_len) start_->write_at(state_.header_len, state_.reserve);
  start_->write_at(0, new_header_);
  start_->flush();
}

/// Returns the extents of the old state that the new state does not use.
std::vector<Extent> CframeCommit::superseded(const FrameEdit& edit) {
  std::vector<Extent> gone;
  if (!edit.base()) return gone;
  const FrameSnapshot& base = *edit.base();
  const std::uint64_t tail = std::max(tail_start(base), state_.chunks_at());
  const auto frame_len = static_cast<std::uint64_t>(base.info().frame_len);
  if (tail < frame_len) gone.push_back({tail, frame_len - tail});
  all_dropped_ = edit.kept() == 0;
  // If all chunks are gone, the space between header and index is free, except for what this
  // transaction has put there. The old index need not be read.
  if (all_dropped_ && tail > state_.chunks_at()) {
    ExtentSet live = state_.notes.space.live_between(state_.chunks_at(), tail);
    for (const auto& [start, end] : chunks_.extents()) live.remove({start, end - start});
    for (const auto& [start, end] : live.extents()) gone.push_back({start, end - start});
    return gone;
  }
  edit.for_each_superseded(decoder_, [&](std::int64_t number, std::int64_t entry) {
    try {
      const ChunkPlace place = base.place_of(entry, number);
      const auto size = static_cast<std::uint64_t>(base.read_header(place).cbytes);
      if (place.stored_offset >= state_.chunks_at()) gone.push_back({place.stored_offset, size});
      largest_gone_ = std::max(largest_gone_, size);
    } catch (const codec::Error&) {
      // The size of a chunk with a bad header is unknown, so its space stays unused.
    }
  });
  return gone;
}

ExtentSet CframeCommit::gone() const {
  ExtentSet gone;
  for (const Extent& extent : superseded_)
    if (all_dropped_ || !state_.notes.space.is_doubtful(extent)) gone.add(extent);
  return gone;
}

void CframeCommit::move_chunks(FrameEdit& edit) {
  if (!edit.base() || edit.info().nchunks == 0 || edit.info().vl_blocks) return;
  try {
    if (moves_ == ChunkMoves::to_end)
      move_to_end(edit);
    else if (moves_ == ChunkMoves::off_front)
      move_off_front(edit);
    else
      move_to_front(edit);
  } catch (const std::system_error&) {
    // The frame stays longer than it should be. That must not fail the commit.
  }
}

void CframeCommit::move_to_front(FrameEdit& edit) {
  const FrameSpace& space = state_.notes.space;
  ExtentSet gone = this->gone();
  const ExpectedLength length = expected_length(edit, gone);
  const bool all = moves_ != ChunkMoves::as_needed;
  const Placing placing = moves_ == ChunkMoves::pack ? Placing::packed : Placing::spread;
  const std::uint64_t wanted = all ? length.live : length.most;
  const auto end = [&] { return expected_end(length, gone); };
  if (space.free_size() == 0 || end() <= wanted) return;
  // Also moves chunks in front of a last chunk that cannot move. Their old places join the free
  // space on both sides, and a later commit may need so large a gap. `left` limits the bytes of
  // these moves.
  std::uint64_t left = std::max(chunks_.total(), end() - wanted);
  int tries = kMostMoves;
  for (const KeptChunk& kept : last_kept_chunks(edit, space.first_free(), decoder_)) {
    if (!all && (left == 0 || tries-- == 0 || end() <= wanted)) return;
    const FoundChunk chunk = find_chunk(kept, edit);
    const auto room = space.find_before(chunk.extent.size, chunk.extent.start, placing);
    if (!room || space.is_doubtful(chunk.extent)) continue;
    move_chunk(chunk, *room, edit);
    gone.add(chunk.extent);
    left -= std::min(left, chunk.extent.size);
  }
}

void CframeCommit::move_to_end(FrameEdit& edit) {
  const FrameSpace& space = state_.notes.space;
  for (const KeptChunk& kept : last_kept_chunks(edit, space.first_free(), decoder_)) {
    const FoundChunk chunk = find_chunk(kept, edit);
    move_chunk(chunk, {space.end_of_file().start, chunk.extent.size}, edit);
  }
}

void CframeCommit::move_off_front(FrameEdit& edit) {
  // Space up to front_end must not be used for chunks or for the tail, even where it lies behind
  // all chunks.
  const std::uint64_t place = state_.notes.space.end_of_file().start;
  if (place < state_.front_end) {
    const Extent front{place, state_.front_end - place};
    state_.notes.space.take_at(front);
    chunks_.add(front);
    superseded_.push_back(front);
  }
  EditedIndex entries(edit, decoder_);
  if (const auto uniform = entries.uniform_entry(); uniform && *uniform < 0) return;
  std::vector<KeptChunk> chunks;
  std::vector<std::int64_t> some;
  for (std::int64_t first = 0; first < entries.count(); first += std::ssize(some)) {
    some.resize(
        static_cast<std::size_t>(std::min<std::int64_t>(kMostKeptChunks, entries.count() - first)));
    entries.read(first, some);
    for (std::size_t i = 0; i < some.size(); ++i)
      if (some[i] >= 0 &&
          state_.header_len + static_cast<std::uint64_t>(some[i]) < state_.front_end)
        chunks.push_back({first + static_cast<std::int64_t>(i), some[i]});
    if (chunks.size() > kMostKeptChunks) return;
  }
  // Chunks that share bytes could lead to any number of copies. Chunks that share none and begin
  // before front_end take at most front_end bytes plus one chunk, so the copying stops there.
  std::uint64_t moved = 0;
  for (const KeptChunk& kept : chunks) {
    const FoundChunk chunk = find_chunk(kept, edit);
    if (moved >= state_.front_end) return;
    move_chunk(chunk, {state_.notes.space.end_of_file().start, chunk.extent.size}, edit);
    moved += chunk.extent.size;
  }
}

CframeCommit::FoundChunk CframeCommit::find_chunk(const KeptChunk& chunk,
                                                  const FrameEdit& edit) const {
  const FrameSnapshot& base = *edit.base();
  const ChunkPlace place = base.place_of(chunk.entry, chunk.number);
  const codec::ChunkHeader header = base.read_header(place);
  return {chunk.number,
          {place.stored_offset, static_cast<std::uint64_t>(header.cbytes)},
          header.nbytes};
}

void CframeCommit::move_chunk(const FoundChunk& chunk, const Extent& room, FrameEdit& edit) {
  std::uint64_t checksum = 0;
  if (edit.keeps_checksums())
    checksum = edit.base()->recorded_checksums(chunk.number, 1, decoder_).at(0);
  state_.notes.space.take_at(room);
  chunks_.add(room);
  try {
    StoreWriter out(state_.file.get(), room.start);
    out.copy(*state_.file, chunk.extent.start, chunk.extent.size);
    out.flush();
  } catch (const std::system_error&) {
    give_back(room);
    throw;
  }
  edit.put(chunk.number, {static_cast<std::int64_t>(room.start - state_.header_len), chunk.nbytes,
                          static_cast<std::int32_t>(chunk.extent.size), checksum});
  superseded_.push_back(chunk.extent);
  has_moved_ = true;
}

void CframeCommit::write_tail(const FrameEdit& edit, FrameTail& tail) {
  const FrameSpace& space = state_.notes.space;
  EditedIndex entries(edit, decoder_);
  // The tail goes behind the last chunk that stays. The file can then be cut behind the new tail,
  // once the old tail is free.
  const std::uint64_t front = moves_ == ChunkMoves::off_front ? state_.front_end : 0;
  const std::uint64_t from = std::max(space.live_end(gone()), front);
  const std::uint64_t most = static_cast<std::uint64_t>(tail.max_index_size()) + tail.trailer_len();
  Extent room = space.find_tail(most, from);
  // The worst-case size does not fit before the end, but most indexes compress well. If an index of
  // the old size would fit, encodes the new one an extra time, only to count its bytes.
  const auto is_at_end = [&](const Extent& extent) {
    return extent.start == space.end_of_file().start;
  };
  if (edit.base() && is_at_end(room) && !is_at_end(space.find_tail(old_tail_size(edit), from))) {
    StoreWriter counted(nullptr, 0);
    tail.write_index(entries, counted);
    room = space.find_tail(counted.position() + tail.trailer_len(), from);
  }
  if (!write_tail_at(room, entries, tail)) write_tail_at(space.end_of_file(), entries, tail);
}

bool CframeCommit::write_tail_at(const Extent& room, EditedIndex& entries, FrameTail& tail) {
  StoreWriter out(&file(), room.start);
  tail.write_index(entries, out);
  const std::uint64_t end = state_.notes.lengths.next_unused(out.position() + tail.trailer_len());
  // The trailer ends where the frame ends, at a length that the frame has never had. If the index
  // ends at 5000, a trailer of 100 bytes begins there, or at 5001 if frame_len 5100 has been used.
  if (end > room.end()) return false;
  out.skip_to(end - tail.trailer_len());
  tail.write_trailer(out);
  if (const codec::Bytes all = out.buffered();
      all.size() == end - room.start && all.size() <= kMostKept)
    tail_bytes_.assign(all.begin(), all.end());
  out.flush();
  tail_ = {room.start, end - room.start};
  state_.notes.space.take_at(tail_);
  info_.cbytes = static_cast<std::int64_t>(room.start - state_.header_len);
  info_.frame_len = static_cast<std::int64_t>(end);
  return true;
}

// Readers look for the trailer of an empty frame right behind the header, and for its length at the
// end of the frame.
void CframeCommit::write_empty_tail(const FrameEdit& edit, FrameTail& tail) {
  const std::uint64_t size = tail.trailer_len();
  std::uint64_t end = state_.header_len + size;
  if (!edit.base()) {
    tail.write_trailer(*start_, state_.header_len);
    tail_ = {state_.header_len, size};
  } else if (!fits_reserve(edit) && edit.base()->info().nchunks == 0) {
    return prepare_front(tail);
  } else if (!fits_reserve(edit)) {
    // No state uses these bytes. They do not count as the reserve from now on, even if the commit
    // fails.
    if (const std::uint64_t first = state_.chunks_at(); first < end) {
      state_.notes.space.take_at({first, end - first});
      chunks_.add({first, end - first});
    }
    state_.reserve.clear();
    end = write_empty_trailer(tail, *state_.file, state_.header_len, state_.notes.lengths);
    if (end != state_.header_len + size) tail_ = {end - size, size};
  } else if (state_.notes.lengths.next_unused(end) != end) {
    // The reserve already is the trailer behind the header. The frame has had this length before,
    // so a second trailer gives it a new length.
    Extent room = state_.notes.space.find_tail(size, state_.chunks_at());
    end = state_.notes.lengths.next_unused(room.start + size);
    if (end > room.end())
      end = state_.notes.lengths.next_unused(state_.notes.space.end_of_file().start + size);
    tail.write_trailer(*state_.file, end - size);
    tail_ = {end - size, size};
  }
  state_.notes.space.take_at(tail_);
  info_.cbytes = 0;
  info_.frame_len = static_cast<std::int64_t>(end);
}

void CframeCommit::prepare_front(FrameTail& tail) {
  const std::uint64_t size = tail.trailer_len();
  std::uint64_t end = state_.header_len + size;
  if (state_.notes.lengths.next_unused(end) != end) {
    const std::uint64_t start = std::max(state_.notes.space.end_of_file().start, end);
    end = state_.notes.lengths.next_unused(start + size);
    tail.write_trailer(*state_.file, end - size);
  }
  StoreWriter trailer(state_.file.get(), state_.header_len);
  tail.write_trailer(trailer);
  new_front_.assign(trailer.buffered().begin(), trailer.buffered().end());
  const auto old_size = static_cast<std::uint64_t>(state_.current->info().trailer_len);
  old_front_.resize(state_.header_len + std::max(old_size, size));
  old_front_.resize(state_.file->read_at(0, old_front_));
  superseded_.clear();
  info_.cbytes = 0;
  info_.frame_len = static_cast<std::int64_t>(end);
}

void CframeCommit::begin_flush() {
  if (chunks_.total() >= kWorthBeginning) state_.file->begin_sync();
}

void CframeCommit::flush() {
  if (rewritten_)
    rewritten_->flush();
  else if (state_.current || step_ == Step::changing)
    state_.file->sync();
}

FileStamp CframeCommit::publish(const std::optional<FileTimes>& times) {
  step_ = Step::publishing;
  const auto set_times = [&] {
    try {
      if (times) state_.file->set_times(times->accessed, times->modified);
    } catch (const std::system_error& error) {
      // Only the owner can set times, and the sandbox of a mount of objects allows it to nobody
      // (ENOSYS). The file then gets the time of this commit.
      if (error.code() != std::errc::operation_not_permitted &&
          error.code() != std::errc::function_not_supported)
        throw;
    }
  };
  if (!state_.current) {
    set_times();
    return published_ = state_.file->stamp();
  }
  // The last check before the switch. Locks keep out our own programs and those that respect the
  // sidecar. Other programs can still change the file between this check and the write.
  if (!state_.expected->matches(*state_.file)) throw_stale(state_.name);
  if (rewritten_ && !state_.name.empty()) {
    // The rename must not bring back a name that was removed.
    const auto named = state_.directory->stamp(state_.name);
    if (!named || named->inode != state_.file->stamp().inode)
      throw_errno(ESTALE, state_.name + ": was removed");
  }
  if (rewritten_) return rewritten_->publish(times);
  const auto changed = static_cast<std::size_t>(changed_bytes(old_header_, new_header_));
  // Recorded even if the switch fails, because a reader may have seen the length.
  state_.notes.lengths.add(static_cast<std::uint64_t>(info_.frame_len));
  state_.expected->replace_header(new_header_, [&] {
    // After a failure from here on it is unknown which header the disk has.
    step_ = Step::switching;
    if (new_front_.empty())
      state_.file->write_at(0, codec::Bytes(new_header_).first(changed));
    else
      state_.file->write_at(0, new_front_);
    set_times();
  });
  step_ = Step::switched;
  return state_.file->stamp();
}

/// Opens a new frame as publish() has left it. If possible, reads nothing.
void CframeCommit::open_new() {
  state_.expected = std::make_shared<ExpectedState>(published_, new_header_);
  // Some filesystems change the times of a file that is renamed. If another program has changed the
  // frame, the frame is read.
  const std::optional<FileStamp> stamp =
      state_.file->stamp() == published_ ? published_ : state_.expected->end_writing(*state_.file);
  if (!stamp || tail_bytes_.empty()) return open_current(state_);
  std::vector<std::uint8_t> start = start_->take();
  if (start.empty() || start.size() > kSmallFrame) start = new_header_;
  std::shared_ptr<PeerLock> lock;
  if (!state_.name.empty())
    lock = PeerLock::open(state_.directory->descriptor(), state_.name + kSidecarSuffix);
  state_.current = open_written_cframe(state_.file, *stamp,
                                       {std::move(start), tail_.start, std::move(tail_bytes_)},
                                       state_.expected, std::move(lock));
  state_.notes.space.watch(state_.current);
}

/// Opens the committed state, and reads as little as possible.
void CframeCommit::open_written() {
  const auto stamp = state_.expected->end_writing(*state_.file);
  // A small frame is kept in memory as a whole. A frame that another program has changed by now
  // must be read.
  if (!stamp || tail_bytes_.empty() || info_.frame_len <= std::int64_t{kHeaderBytesKept})
    return open_current(state_);
  state_.current =
      open_written_cframe(state_.file, *stamp, {new_header_, tail_.start, std::move(tail_bytes_)},
                          state_.expected, lock_.peers.shared_lock());
  state_.notes.space.watch(state_.current);
}

/// Updates largest_chunk. If the largest chunk is gone, the next largest is not known. The average
/// is a lower bound of it.
void CframeCommit::note_largest_chunk() {
  CframeNotes& notes = state_.notes;
  if (all_dropped_)
    notes.largest_chunk = 0;
  else if (largest_gone_ >= notes.largest_chunk && info_.nchunks > 0)
    notes.largest_chunk = notes.space.live_size() / static_cast<std::uint64_t>(info_.nchunks);
  notes.largest_chunk = std::max(notes.largest_chunk, largest_put_);
}

std::shared_ptr<const Snapshot> CframeCommit::finish() {
  step_ = Step::finished;
  state_.in_transaction = false;
  try {
    if (rewritten_) {
      state_.expected->end_writing(*state_.file);
      rewritten_->adopt();
    } else {
      if (!state_.current) state_.notes.lengths.add(static_cast<std::uint64_t>(info_.frame_len));
      if (!new_front_.empty())
        state_.notes.restart(static_cast<std::uint64_t>(state_.file->stamp().size),
                             static_cast<std::uint64_t>(info_.frame_len), state_.settings.grace);
      else if (all_dropped_)
        state_.notes.space.supersede_all(superseded_);
      else
        state_.notes.space.supersede(superseded_);
      note_largest_chunk();
      if (tail_.start == state_.header_len && tail_.size != state_.reserve.size())
        state_.reserve.clear();
      state_.current ? open_written() : open_new();
    }
  } catch (...) {
    state_.broken = true;
    throw;
  }
  lock_ = {};
  return state_.current;
}

}  // namespace bloscfs::frame::inline cframe
