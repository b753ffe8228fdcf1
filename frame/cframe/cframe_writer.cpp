#include "frame/cframe/cframe_writer.hpp"

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/cframe/cframe.hpp"
#include "frame/cframe/cframe_commit.hpp"
#include "frame/cframe/cframe_state.hpp"
#include "frame/editing/frame_tail.hpp"
#include "frame/editing/frame_transaction.hpp"
#include "frame/editing/recent_writers.hpp"
#include "frame/header/cframe_format.hpp"
#include "frame/store/container_lock.hpp"
#include "frame/store/peer_lock.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline cframe {
namespace {

/// begin() punches free space once there is this much of it, and a quarter of the live space.
constexpr std::uint64_t kMuchFree = std::uint64_t{1} << 20;
/// begin() cuts the file if it gets shorter by at least this much.
constexpr std::uint64_t kMuchToCut = std::uint64_t{64} << 10;

/// Room for the names and sizes of metalayers that are added, in addition to their contents.
constexpr std::uint64_t kMetalayerHeads = 4096;

/// Larger contents are not moved to the end and back to collect small pieces of free space.
constexpr std::uint64_t kMostMoved = std::uint64_t{64} << 20;

class CframeWriter final : public FrameWriter {
 public:
  explicit CframeWriter(CframeState state) : state_(std::move(state)) {}

  ~CframeWriter() override {
    if (!state_.expected) return;
    state_.notes.file = state_.file;
    const bool has_waiting = state_.notes.space.has_waiting();
    state_.expected->store_notes(
        state_.broken ? nullptr : std::make_shared<CframeNotes>(std::move(state_.notes)));
    const auto& recent = state_.settings.recent_writers;
    if (recent && has_waiting)
      recent->add(id_of(state_.current->stamp()), state_.expected, state_.settings.grace);
  }

  std::shared_ptr<const Snapshot> snapshot() const override { return state_.current; }

  std::unique_ptr<Transaction> begin() override {
    const WriterSettings& settings = state_.settings;
    return begin_transaction(state_.current && settings.anew ? NewFile::always
                             : settings.new_file_to_shrink   ? NewFile::if_shorter
                                                             : NewFile::if_needed);
  }

  bool is_broken() const override { return state_.broken; }

  void tidy() override {
    if (!state_.current) return;
    const FileTimes times = file_times();
    {
      const ContainerLock lock = lock_container();
      state_.expected->begin_writing();
      reclaim(true);
      keep_times(times);
      state_.expected->end_writing(*state_.file);
    }
    // If earlier moves did not help, tries again only with a quarter more free space.
    if (frame_len() > max_frame_len() &&
        state_.notes.space.free_size() > state_.notes.unusable_free_space / 4 * 5)
      shorten(times);
  }

  void prepare_to_empty(std::uint64_t growth) override {
    if (!state_.current || state_.current->info().nchunks == 0) return;
    // Such a frame is emptied by writing a new file, which needs no room in this one.
    if (state_.file->link_count() < 2 || state_.settings.anew) return;
    const auto trailer_len = static_cast<std::uint64_t>(state_.current->info().trailer_len);
    state_.front_end = state_.header_len + trailer_len + growth + kMetalayerHeads;
    if (state_.notes.space.is_free(state_.chunks_at(), state_.front_end)) return;
    const FileTimes times = file_times();
    const auto transaction = begin_transaction(NewFile::if_needed, ChunkMoves::off_front);
    transaction->set_times(times);
    transaction->commit();
  }

  bool is_oversized() const override {
    if (!state_.current || state_.broken) return false;
    return state_.notes.space.end() > max_frame_len();
  }

  void compact() override {
    if (!state_.current) throw std::logic_error("compacting a frame that does not exist yet");
    if (state_.file->link_count() > 1 && !state_.settings.anew) return compact_in_place();
    begin_transaction(NewFile::always)->commit();
  }

  void moved(std::shared_ptr<StoreDirectory> directory, std::string name) override {
    state_.directory = std::move(directory);
    state_.name = std::move(name);
  }

  void set_times(const timespec& accessed, const timespec& modified) override {
    if (!state_.expected) return state_.file->set_times(accessed, modified);
    // Must be compared first. Setting the times changes the stamp, and another program's change
    // would then look like ours.
    if (!state_.expected->matches(*state_.file)) throw_stale(state_.name);
    state_.expected->begin_writing();
    try {
      state_.file->set_times(accessed, modified);
    } catch (const std::system_error&) {
      state_.expected->end_writing(*state_.file);
      throw;
    }
    state_.expected->end_writing(*state_.file);
  }

  FileAttributes attributes() const override { return state_.file->attributes(); }

  void set_attributes(const FileAttributes& attributes) override {
    state_.file->set_attributes(attributes);
  }

  FileStamp stamp() const override { return state_.file->stamp(); }

  bool has_name() const override { return state_.file->link_count() > 0; }

 private:
  std::unique_ptr<FrameTransaction> begin_transaction(NewFile new_file,
                                                      ChunkMoves moves = ChunkMoves::as_needed) {
    ContainerLock lock = lock_container();
    if (!state_.current)
      return std::make_unique<FrameTransaction>(
          FrameEdit(state_.planned.info, state_.planned.checksums),
          std::make_unique<CframeCommit>(state_, std::move(lock), new_file, moves));
    // Raises the counter in the sidecar before anything changes. Another program that reads the
    // frame checks the counter between its reads, and drops what it has read if the counter has
    // changed.
    if (lock.peers) lock.peers.lock().announce_change(*state_.directory->open(sidecar()));
    state_.expected->begin_writing();
    reclaim(false);
    return std::make_unique<FrameTransaction>(
        FrameEdit(state_.current),
        std::make_unique<CframeCommit>(state_, std::move(lock), new_file, moves));
  }

  std::uint64_t frame_len() const {
    return static_cast<std::uint64_t>(state_.current->info().frame_len);
  }

  std::uint64_t max_frame_len() const {
    return state_.notes.max_frame_len(state_.notes.space.live_size());
  }

  /// False while dead space waits for readers.
  bool is_all_dead_free() const {
    return state_.notes.space.dead_size() == state_.notes.space.free_size();
  }

  /// Compacts a file with several names. If a new file took its place, the other names would still
  /// lead to the old one.
  void compact_in_place() {
    const FrameInfo& info = state_.current->info();
    if (info.vl_blocks || info.nchunks > std::int64_t{kMostKeptChunks})
      throw_errno(EOPNOTSUPP, state_.name + ": cannot replace a file with several hard links");
    const FileTimes times = file_times();
    // The second pack leaves room for index and trailer right behind the chunks.
    for (const ChunkMoves moves : {ChunkMoves::to_end, ChunkMoves::pack, ChunkMoves::pack}) {
      const auto transaction = begin_transaction(NewFile::if_needed, moves);
      // Chunks must not be moved over space that is kept for readers.
      if (!is_all_dead_free())
        throw_errno(EBUSY, state_.name + ": has several hard links, and others have it open");
      transaction->set_times(times);
      transaction->commit();
    }
    tidy();
  }

  FileTimes file_times() const {
    const FileAttributes attributes = state_.file->attributes();
    return {attributes.accessed, attributes.modified};
  }

  /// Makes one of three commits. The first moves chunks from the end into free space. If the free
  /// pieces are too small, the next two move the chunks to the end and back to the front.
  void shorten(const FileTimes& times) {
    CframeNotes& notes = state_.notes;
    const ChunkMoves moves = notes.next_moves;
    if (moves != ChunkMoves::as_needed && !is_all_dead_free()) return;
    const auto transaction = begin_transaction(NewFile::if_needed, moves);
    transaction->set_times(times);
    transaction->commit();
    const bool is_done = frame_len() <= max_frame_len();
    const bool is_small = notes.space.live_size() <= kMostMoved;
    if (moves == ChunkMoves::to_end)
      notes.next_moves = ChunkMoves::to_front;
    else if (moves == ChunkMoves::as_needed && !is_done && is_small)
      notes.next_moves = ChunkMoves::to_end;
    else
      notes.next_moves = ChunkMoves::as_needed;
    const bool goes_on = is_done || notes.next_moves != ChunkMoves::as_needed;
    notes.unusable_free_space = goes_on ? 0 : notes.space.free_size();
  }

  void keep_times(const FileTimes& times) {
    try {
      state_.file->set_times(times.accessed, times.modified);
    } catch (const std::system_error&) {
      // Only the owner can set times.
    }
  }

  std::string sidecar() const { return state_.name + kSidecarSuffix; }

  /// Locks out other writers. Throws if another program has changed the frame.
  ContainerLock lock_container() {
    if (state_.in_transaction) throw std::logic_error("two transactions on one container");
    if (state_.broken) throw_errno(EIO, state_.name + ": a commit failed half-way, open it again");
    if (!state_.current) return {};
    if (state_.name.empty()) {
      if (!state_.current->unchanged()) throw_stale("removed frame");
      return {};
    }
    ContainerLock lock =
        frame::lock_container(*state_.file, *state_.directory, sidecar(), state_.settings.locking);
    const auto named = state_.directory->stamp(state_.name);
    const FileStamp& own = state_.current->stamp();
    // Checked under the lock, because another program may have replaced the file while this one
    // waited.
    if (!named || named->inode != own.inode || named->device != own.device ||
        !state_.current->unchanged())
      throw_stale(state_.name);
    return lock;
  }

  /// Finds out which space is free now. Returns large pieces of it to the filesystem; with `all`,
  /// also small ones. Ignores errors, because they must not fail a commit.
  void reclaim(bool all) {
    try {
      find_old_space(state_, decoder_);
      const auto index_size = static_cast<std::uint64_t>(8 * state_.current->info().nchunks);
      // The search for shared space reads the whole index. It is worth that once the doubtful space
      // is as large as the index.
      if (all || state_.notes.space.doubtful_total() >= index_size)
        resolve_doubtful(state_, decoder_);
      state_.notes.space.release([&] { return state_.file->is_sole_user(); });
      const auto size = static_cast<std::uint64_t>(state_.file->stamp().size);
      const std::uint64_t end = state_.notes.space.cut_end(all ? 1 : kMuchToCut);
      // Also cuts off what an interrupted commit has left behind the end, because no header uses
      // it.
      if (size > end) state_.file->truncate(end);
      if (all ||
          state_.notes.space.unpunched() > std::max(kMuchFree, state_.notes.space.live_size() / 4))
        state_.notes.space.punch(*state_.file);
    } catch (const std::system_error&) {
    }
  }

  CframeState state_;
  codec::BlockDecoder decoder_;
};

/// Returns the trailer of the empty frame behind the header, if it is there.
std::vector<std::uint8_t> find_reserve(const ByteSource& file, std::uint64_t header_len) {
  for (const bool checksums : {false, true}) {
    std::vector<std::uint8_t> wanted = plain_trailer(checksums);
    std::vector<std::uint8_t> found(wanted.size());
    if (file.read_at(header_len, found) == found.size() && found == wanted) return wanted;
  }
  return {};
}

/// Returns the notes of the last writer in the same mount. Null if there are none.
std::shared_ptr<CframeNotes> notes_for(const FrameSnapshot* known) {
  return known ? std::dynamic_pointer_cast<CframeNotes>(known->expected()->notes()) : nullptr;
}

/// Returns the last writer's open file if it still has the name. Another open file would count as a
/// reader of another process, and space would wait for it.
std::shared_ptr<StoreFile> open_file(StoreDirectory& directory, const std::string& name,
                                     const WriterSettings& settings, const CframeNotes* notes) {
  if (auto file = notes ? notes->file.lock() : nullptr) {
    const auto named = directory.stamp(name);
    if (named && id_of(*named) == id_of(file->stamp())) return file;
  }
  return settings.open ? settings.open() : directory.open(name);
}

/// Makes notes for a frame that has none.
CframeNotes first_notes(const CframeState& state) {
  CframeNotes notes;
  const auto frame_len = static_cast<std::uint64_t>(state.current->info().frame_len);
  const auto file_size = static_cast<std::uint64_t>(state.current->stamp().size);
  // Old chunks may share bytes, and only a search of the whole index shows that. Chunks that this
  // writer adds do not share bytes.
  notes.space = FrameSpace(file_size, state.current->index_at().position, state.settings.grace);
  const Clock& clock = *state.settings.grace.clock;
  notes.untouched_since = clock.now() - state.file->time_since_change(clock.wall());
  // The bytes behind the end come from a longer earlier state, or from an interrupted commit.
  if (frame_len < file_size)
    notes.space.add_dead({{frame_len, file_size - frame_len}}, notes.untouched_since);
  // A writer that has left no notes may still have snapshots in use, which this writer does not
  // know.
  notes.needs_space_search = !state.expected->had_writer();
  notes.sync_is_due = true;
  notes.lengths.add(frame_len);
  return notes;
}

std::shared_ptr<const FrameSnapshot> known_frame(const std::shared_ptr<const Snapshot>& known) {
  auto frame = std::dynamic_pointer_cast<const FrameSnapshot>(known);
  if (known && !frame) throw std::invalid_argument("the snapshot is not of a frame");
  return frame;
}

/// Continues from the known state, without reading anything, if the file is still in that state.
void use_state(CframeState& state, const FileId& opened,
               const std::shared_ptr<const FrameSnapshot>& known) {
  if (known) state.expected = known->expected();
  if (known && id_of(known->stamp()) == opened && known->unchanged()) {
    state.current = known;
    return;
  }
  open_current(state);
  if (!state.current->unchanged()) throw_stale(state.name);
}

}  // namespace

std::unique_ptr<FrameWriter> open_cframe_writer(std::shared_ptr<StoreDirectory> directory,
                                                const std::string& name,
                                                const WriterSettings& settings,
                                                const std::shared_ptr<const Snapshot>& known) {
  const auto known_state = known_frame(known);
  CframeState state;
  state.directory = std::move(directory);
  state.name = name;
  state.settings = settings;
  state.settings.open = nullptr;
  auto notes = notes_for(known_state.get());
  state.file = open_file(*state.directory, name, settings, notes.get());
  if (!notes && settings.recent_writers)
    notes = std::dynamic_pointer_cast<CframeNotes>(settings.recent_writers->take(*state.file));
  const FileId opened = id_of(state.file->stamp());
  if (settings.meant && !(opened == *settings.meant)) throw_stale(name);
  use_state(state, opened, known_state);
  const FrameInfo& info = state.current->info();
  if (state.current->header_bytes()[0] == kEarlyArray)
    throw_errno(EOPNOTSUPP, name + ": the layout of before 2.0");
  state.header_len = static_cast<std::uint64_t>(info.header_len);
  state.reserve = find_reserve(*state.current->contents(), state.header_len);
  if (state.current->stamp().size > info.frame_len &&
      has_frame_at(*state.file, static_cast<std::uint64_t>(info.frame_len)))
    throw_errno(EROFS, name + ": another frame follows in the same file");
  state.notes = notes ? std::move(*notes) : first_notes(state);
  state.expected->store_notes(nullptr);
  state.notes.space.watch(state.current);
  // Readers of the snapshot `known` need its chunks as long as it exists.
  if (known_state) state.notes.space.watch(known_state);
  return std::make_unique<CframeWriter>(std::move(state));
}

std::unique_ptr<FrameWriter> create_cframe(std::shared_ptr<StoreDirectory> directory,
                                           const std::string& name, const FrameSettings& frame,
                                           const WriterSettings& settings,
                                           std::shared_ptr<StoreFile> empty_file) {
  CframeState state;
  state.directory = std::move(directory);
  state.name = name;
  state.settings = settings;
  state.planned = plan_frame(frame, ContainerKind::cframe);
  state.header_len = static_cast<std::uint64_t>(state.planned.info.header_len);
  state.reserve = plain_trailer(frame.checksums);
  state.notes.space = FrameSpace(state.chunks_at(), 0, settings.grace);
  state.file = empty_file ? std::move(empty_file) : state.directory->create(name, frame.mode);
  return std::make_unique<CframeWriter>(std::move(state));
}

FrameInfo plan_cframe(const FrameSettings& frame) {
  return plan_frame(frame, ContainerKind::cframe).info;
}

}  // namespace bloscfs::frame::inline cframe
