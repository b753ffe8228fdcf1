#include "fs/content/content.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <set>
#include <utility>

#include "codec/bytes.hpp"
#include "frame/array/array_shapes.hpp"
#include "frame/cframe/cframe_writer.hpp"
#include "frame/open/open_writer.hpp"
#include "frame/store/local_store.hpp"
#include "frame/store/throw_errno.hpp"
#include "frame/store/wait_context.hpp"
#include "fs/content/at_place.hpp"
#include "fs/content/frozen_bytes.hpp"
#include "fs/content/size_limit.hpp"
#include "fs/content/timed_lock.hpp"
#include "fs/encoding/new_frame.hpp"
#include "fs/encoding/stale_indexes.hpp"
#include "fs/support/timestamps.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;

/// How many writers in the process may wait for a program that has their file locked, and how long.
/// Further writers do not wait, so that requests for other files get a slot. The changes of those
/// writers cannot be combined with the other program's changes.
constexpr int kMostWithTimeout = 2;
constexpr std::chrono::seconds kTimeout{2};
/// How long a commit waits, at its end, for a program that has the file locked. Other threads wait
/// for the commit.
constexpr std::chrono::milliseconds kLockTimeoutOfCommits{100};

/// Bytes that a commit remembers for each chunk, or part of a chunk, that it changes.
constexpr std::size_t kPieceCost = 160;
/// From this size on, pieces are so few that their cost is not counted.
constexpr std::size_t kLargePiece = 4096;

/// Returns the smallest piece into which a commit may cut neighbouring bytes, or 0 if it is large.
/// Example: an array with blocks of (64, 64) doubles has pieces of 512 bytes, one row of a block.
std::size_t smallest_piece(const frame::FrameInfo& info, const ViewShape& shape) {
  std::int64_t piece = info.chunksize;
  if (shape.blocked && !info.array->blockshape.empty())
    piece = shape.fortran_order ? info.typesize
                                : std::int64_t{info.array->blockshape.back()} * info.typesize;
  return piece > 0 && static_cast<std::size_t>(piece) < kLargePiece
             ? static_cast<std::size_t>(piece)
             : 0;
}

bool is_present(const timespec& time) { return time.tv_nsec == UTIME_NOW; }

}  // namespace

Content::Content(Request& request, ContentServices services,
                 std::shared_ptr<const frame::Snapshot> snapshot)
    : services_(std::move(services)), id_(services_.next_id++) {
  const WriteLock lock(mutex_);
  read_by(reading_of(request, std::move(snapshot), id_));
  written_.take_committed_size();
}

Content::Content(ContentServices services, const timespec& created)
    : services_(std::move(services)), id_(services_.next_id++) {
  const WriteLock lock(mutex_);
  changed_ = modified_ = accessed_ = created;
  representation_is_current_ = false;
  is_new_ = true;
}

Content::~Content() = default;

Content::Reading Content::reading_of(Request& request,
                                     std::shared_ptr<const frame::Snapshot> snapshot,
                                     std::uint64_t id) const {
  auto view = std::make_unique<const FileView>(
      request, view_shape(snapshot->info(), services_.raw),
      FrameReader(snapshot, id, services_.next_id++, services_.cache, services_.stats,
                  services_.reader));
  return {id, std::move(snapshot), std::move(view)};
}

void Content::read_by(Reading reading) {
  id_ = reading.id;
  snapshot_ = std::move(reading.snapshot);
  snapshot_number_ = services_.next_id++;
  view_ = std::move(reading.view);
  piece_ = smallest_piece(snapshot_->info(), view_->shape());
  written_.set_committed_size(view_->size());
}

// --- reading

std::int64_t Content::size() const {
  const ReadLock lock(mutex_);
  return written_.size();
}

LogicalAttributes Content::attributes() const {
  const ReadLock lock(mutex_);
  return {written_.size(), accessed_, modified_, changed_, uncommitted_data_bytes()};
}

/// Counts all committed bytes as data, as seek() does. Does not look for zeros among them.
std::int64_t Content::uncommitted_data_bytes() const {
  const Layer* const frozen = written_.frozen();
  const bool waits = changes_values() || (frozen != nullptr && frozen->has_contents());
  return waits ? written_.data_size() : 0;
}

std::shared_ptr<const frame::Snapshot> Content::snapshot() const {
  const ReadLock lock(mutex_);
  return snapshot_;
}

std::pair<std::shared_ptr<const frame::Snapshot>, std::uint64_t> Content::numbered_snapshot()
    const {
  const ReadLock lock(mutex_);
  return {snapshot_, snapshot_number_};
}

std::shared_lock<SharedMutex> Content::lock_view(Request& request) const {
  std::shared_lock lock(reading_, std::try_to_lock);
  if (!lock) {
    // A commit may hold reading_ exclusively while it waits for slow readers, so a thread needs a
    // slot to wait for it.
    request.need_slot();
    const frame::WaitMark mark(frame::WaitReason::commit);
    lock.lock();
  }
  return lock;
}

void Content::read(Request& request, std::int64_t offset, std::int64_t size, ReplyData& out,
                   std::optional<std::uint64_t> epoch) const {
  const auto kept = lock_view(request);
  const FileView* view = nullptr;
  bool untouched = false;
  std::int64_t lower_end = 0;
  {
    const ReadLock lock(mutex_);
    if (!epochs_.is_current(epoch)) throw_errno(EIO, "source was changed while in use");
    size = std::min(size, written_.size() - std::min(offset, written_.size()));
    if (size <= 0) return;
    view = view_.get();
    untouched = written_.is_untouched(offset, size);
    lower_end = written_.lower_end();
  }
  // Throws if the container does not store its contents. Even the NPY header cannot be read then,
  // since it is of no use without the contents.
  if (view != nullptr) view->require_contents(request);
  if (untouched) return view->read(request, offset, size, out);
  const codec::MutableBytes bytes = out.add_owned(static_cast<std::size_t>(size));
  read_committed(request, view, lower_end, offset, bytes);
  // Bytes that were written or cut off during the read get their present values. A commit may
  // freeze the live layer while mutex_ is free, but cannot replace the view by the committed state,
  // since lock_view() holds reading_. So each written byte is still in one of the layers.
  const ReadLock lock(mutex_);
  written_.apply(offset, bytes);
}

void Content::prefetch(Request& request, std::int64_t offset, std::int64_t size,
                       const std::atomic<std::int64_t>& reached) const {
  const std::shared_lock kept(reading_, std::try_to_lock);
  // Reading ahead is not worth a wait for a commit that is about to replace the view.
  if (!kept) return;
  const FileView* view = nullptr;
  {
    const ReadLock lock(mutex_);
    size = std::min(size, written_.committed_size() - offset);
    if (size <= 0 || !written_.is_untouched(offset, size)) return;
    view = view_.get();
  }
  view->prefetch(request, offset, size, reached);
}

std::optional<std::int64_t> Content::seek_data(Request& request, std::int64_t offset) const {
  return seek(request, offset, false);
}

std::optional<std::int64_t> Content::seek_hole(Request& request, std::int64_t offset) const {
  return seek(request, offset, true);
}

std::optional<std::int64_t> Content::seek(Request& request, std::int64_t offset,
                                          bool want_hole) const {
  const auto kept = lock_view(request);
  const FileView* view = nullptr;
  {
    const ReadLock lock(mutex_);
    if (offset < 0 || offset >= written_.size()) return std::nullopt;
    // A changed file counts as data as a whole until it is committed. POSIX allows that.
    if (!view_ || !written_.is_clean()) return want_hole ? written_.size() : offset;
    view = view_.get();
  }
  return want_hole ? view->seek_hole(request, offset) : view->seek_data(request, offset);
}

// --- state

/// Returns the memory of the layer's written bytes, and of what a commit remembers for each chunk,
/// or part of one, that it changes.
std::size_t Content::memory_of_bytes(const Layer& layer) const {
  const std::size_t memory = layer.bytes.memory();
  return memory + (piece_ == 0 ? 0 : memory / piece_ * kPieceCost);
}

void Content::account() {
  const Layer* const layer = written_.frozen();
  const std::size_t frozen = layer == nullptr ? 0 : memory_of_bytes(*layer);
  const std::size_t memory =
      memory_of_bytes(written_.live()) + frozen + written_.metalayers_memory();
  charged_.resize(memory + sums_.size() * kSumMemory);
  // Data that will never be committed or staged must not make writers wait.
  DirtyBytes dirty;
  if (!is_orphan_ || writers_ > 0) {
    dirty.being_committed = std::min(frozen, stored_);
    dirty.waiting = memory - dirty.being_committed;
  }
  dirty_.set(dirty);
}

ContentHome* Content::home() const {
  const ReadLock lock(mutex_);
  return home_.get();
}

uid_t Content::user() const {
  const ReadLock lock(mutex_);
  return dirty_.user();
}

void Content::add_writer() {
  const WriteLock lock(mutex_);
  writers_++;
}

void Content::remove_writer() {
  const WriteLock lock(mutex_);
  writers_--;
  account();
}

bool Content::has_writers() const {
  const ReadLock lock(mutex_);
  return writers_ > 0;
}

void Content::force_flat(bool held) {
  const WriteLock lock(mutex_);
  forced_flat_ += held ? 1 : -1;
  representation_is_current_ = false;
}

void Content::reconsider_representation() {
  const WriteLock lock(mutex_);
  representation_is_current_ = false;
  changed_ = now();
}

void Content::orphan() {
  const WriteLock lock(mutex_);
  is_orphan_ = true;
  account();
}

void Content::restore_name() {
  const WriteLock lock(mutex_);
  // If another program has taken the file's name, the content has nothing to do with the file
  // there.
  if (epochs_.is_abandoned()) return;
  is_orphan_ = false;
  account();
}

bool Content::is_orphan() const {
  const ReadLock lock(mutex_);
  return is_orphan_;
}

bool Content::can_be_staged(std::size_t least_dirty) const {
  const ReadLock lock(mutex_);
  // Bytes may go to SOURCE before a commit only if the file has no name there but a temporary's.
  const bool is_hidden = is_orphan_ || (is_new_ && !stored_state_is_unknown_);
  const Layer& live = written_.live();
  const std::size_t layers = live.metalayers.empty() ? 0 : written_.metalayers_memory();
  return is_hidden && writers_ > 0 && live.bytes.memory() + layers >= least_dirty;
}

bool Content::needs_commit() const {
  const ReadLock lock(mutex_);
  if (is_orphan_) return false;
  return has_uncommitted() || (!representation_is_current_ && writers_ == 0);
}

std::int64_t Content::uncommitted_bytes() const {
  const ReadLock lock(mutex_);
  return written_.written_size();
}

bool Content::has_uncommitted() const {
  return is_new_ || stored_state_is_unknown_ || !written_.is_clean();
}

bool Content::is_committing() const {
  const ReadLock lock(mutex_);
  return written_.frozen() != nullptr;
}

bool Content::is_authoritative() const {
  const ReadLock lock(mutex_);
  return !is_orphan_ && (writers_ > 0 || has_uncommitted());
}

Content::Shown Content::shown() const {
  const ReadLock lock(mutex_);
  Shown shown{false, written_.size(), 0};
  if (!view_) return shown;
  shown.is_read_only = snapshot_->info().is_read_only();
  shown.stored_chunks = snapshot_->info().cbytes;
  return shown;
}

void Content::remember_error(const std::error_code& error) {
  const WriteLock lock(mutex_);
  error_ = error;
}

bool Content::changes_values() const { return is_new_ || written_.changes_contents(); }

std::error_code Content::take_error() {
  const WriteLock lock(mutex_);
  return std::exchange(error_, std::error_code());
}

frame::FrameInfo Content::info(Request& request) const {
  if (const auto known = snapshot()) return known->info();
  // Waits for a commit, which may be about to make the snapshot.
  const MutexLock commit_lock(commit_mutex_);
  if (const auto known = snapshot()) return known->info();
  ContentHome* const own = home();
  const bool can_be_array = own != nullptr && !services_.raw && own->has_array_name(request);
  const ReadLock lock(mutex_);
  return planned_info(can_be_array && writers_ == 0);
}

frame::FrameInfo Content::planned_info(bool can_be_array) const {
  const NewContents contents{written_.size(), [this](std::int64_t offset, codec::MutableBytes out)
                                                  REQUIRES_SHARED(mutex_) {
                                                    std::ranges::fill(out, std::uint8_t{0});
                                                    written_.apply(offset, out);
                                                  }};
  std::optional<frame::FrameSettings> settings;
  if (can_be_array) settings = array_frame_of(services_.options, contents);
  if (!settings) settings = new_flat_frame(services_.options, contents);
  frame::FrameInfo info = frame::plan_cframe(*settings);
  // The settings of an array have its size; those of a flat frame do not.
  if (info.array) return info;
  info.nbytes = written_.size();
  info.nchunks = codec::ceil_div<std::int64_t>(written_.size(), info.chunksize);
  return info;
}

// --- writing

void Content::make_writable(Request& request, std::shared_ptr<ContentHome> home) {
  const TimedLock commit_lock(request, commit_mutex_);
  {
    // The destructor of the old home releases its node under a lock that other threads hold while
    // they take mutex_. So swap the old home out here. It is destroyed with the parameter, after
    // mutex_ and commit_mutex_ are released.
    const WriteLock lock(mutex_);
    home_.swap(home);
    if (const auto user = request.user()) dirty_.give_to(*user);
  }
  std::shared_ptr<const frame::Snapshot> known = snapshot();
  if (writer_ || !known) return;
  if (known->info().is_read_only()) throw_errno(EROFS, known->info().kind_name());
  wait_for_peers(request, *known);
  at_place(request, *this->home(), [&](const StoredPlace& place) REQUIRES(commit_mutex_) {
    writer_ = open_writer(place, known->info().is_directory(), known);
  });
}

bool Content::is_writable() const {
  const ReadLock lock(mutex_);
  return home_ != nullptr;
}

void Content::require_changeable(Request& request, ContentHome& home) const {
  std::shared_ptr<const frame::Snapshot> known;
  {
    const auto kept = lock_view(request);
    const FileView* view = nullptr;
    {
      const ReadLock lock(mutex_);
      view = view_.get();
      known = snapshot_;
    }
    // Called without mutex_: it may read, and may wait for a program that has the frame locked.
    if (view != nullptr) view->require_contents(request);
  }
  if (known) require_markable_indexes(*known);
  home.require_changeable(request);
}

std::unique_ptr<frame::FrameWriter> Content::open_writer(
    const StoredPlace& place, bool is_sparse,
    const std::shared_ptr<const frame::Snapshot>& known) const {
  frame::WriterSettings settings = writer_settings(place, services_);
  settings.meant = place.meant;
  if (place.open_file && !is_sparse)
    settings.open = [&place] { return frame::make_local_file(place.open_file()); };
  return frame::open_writer(place.directory, place.name, is_sparse, settings, known);
}

void Content::ensure_writer(const StoredPlace& place) {
  const auto known = snapshot();
  if (!writer_ && known && !place.is_unlinked) writer_ = open_writer(place, place.is_sparse, known);
}

void Content::touch() {
  epochs_.note_written();
  // With the kernel's writeback cache, the kernel provides the time of a change.
  if (!services_.options.writeback) changed_ = modified_ = now();
}

StoredFile Content::stored_file() const {
  return {view_.get(), snapshot_.get(), services_.options, services_.raw,
          services_.cache.budget().capacity()};
}

void Content::check_writable(std::int64_t begin, std::int64_t end) const {
  fs::require_storable(stored_file(), begin, end);
  // If committed bytes stay, a commit encodes some of them again together with the new ones. That
  // needs a codec that can encode. If all committed bytes were cut off, a commit stores only new
  // ones.
  const std::int64_t kept = std::min(written_.lower_end(), written_.committed_size());
  if (end > 0 && kept > 0 && snapshot_ && snapshot_->info().nbytes > 0 &&
      !can_be_changed_in_part(snapshot_->info()))
    throw_errno(EOPNOTSUPP, "contents that can only be replaced as a whole");
  if (!services_.raw || !snapshot_ || !snapshot_->info().has_blocked_array() ||
      end == written_.size())
    return;
  // An array without an NPY header can only grow, and only by whole rows.
  const frame::ArrayInfo& array = *snapshot_->info().array;
  const std::int64_t row = frame::row_size(array, snapshot_->info().typesize);
  if (array.shape.empty() || array.fortran_order || row == 0 || end < written_.size() ||
      end % row != 0)
    throw_errno(EINVAL, "size of an array");
}

void Content::write(Request& request, std::optional<std::int64_t> at, codec::Bytes bytes,
                    std::optional<std::uint64_t> epoch) {
  write_at(request, at, bytes.size(), epoch,
           [&](std::int64_t offset) REQUIRES(mutex_) { written_.write(offset, bytes); });
}

void Content::write(Request& request, std::optional<std::int64_t> at, std::span<PooledBuffer> cells,
                    std::optional<std::uint64_t> epoch) {
  std::size_t count = 0;
  for (const PooledBuffer& cell : cells) count += cell.size();
  write_at(request, at, count, epoch,
           [&](std::int64_t offset) REQUIRES(mutex_) { written_.write(offset, cells); });
}

void Content::require_epoch(std::optional<std::uint64_t> epoch) const {
  if (!epochs_.is_current(epoch)) throw_errno(ESTALE, "source was changed while in use");
}

template <typename Apply>
void Content::with_current_epoch(Request& request, const Apply& apply) {
  for (;;) {
    {
      const WriteLock lock(mutex_);
      if (!epochs_.is_ending()) return apply();
    }
    request.need_slot();
    const frame::WaitMark mark(frame::WaitReason::commit);
    // follow_source() holds commit_mutex_ from its first step to its last.
    const MutexLock until_it_has_followed(commit_mutex_);
  }
}

template <typename Write>
void Content::write_at(Request& request, std::optional<std::int64_t> at, std::size_t count,
                       std::optional<std::uint64_t> epoch, const Write& write) {
  if (count == 0) return;
  const auto size = static_cast<std::int64_t>(count);
  require_room();
  with_current_epoch(request, [&]() REQUIRES(mutex_) {
    require_epoch(epoch);
    // Under mutex_, so that two simultaneous appends do not overlap.
    const std::int64_t offset = at.value_or(written_.size());
    if (offset > std::numeric_limits<std::int64_t>::max() - size) throw_errno(EFBIG, "write");
    check_writable(offset, std::max(written_.size(), offset + size));
    const Change change(request);
    write(offset);
    representation_is_current_ = false;
    touch();
    account();
  });
}

void Content::resize(Request& request, std::int64_t size, std::optional<std::uint64_t> epoch) {
  if (size < 0) throw_errno(EINVAL, "truncate");
  bool is_same = false;
  with_current_epoch(request, [&]() REQUIRES(mutex_) {
    require_epoch(epoch);
    is_same = size == written_.size();
    // If the size stays, no Change is made, and the request may still be served again.
    if (!is_same) {
      check_writable(size, size);
      const Change change(request);
      written_.resize(size);
      representation_is_current_ = false;
    }
    touch();
    account();
  });
  if (is_same) store_present_times(request);
}

void Content::require_storable(std::int64_t size) const {
  const ReadLock lock(mutex_);
  if (size > written_.size()) fs::require_storable(stored_file(), written_.size(), size);
}

void Content::reserve(Request& request, std::int64_t end, std::optional<std::uint64_t> epoch) {
  bool grows = false;
  with_current_epoch(request, [&]() REQUIRES(mutex_) {
    require_epoch(epoch);
    grows = end > written_.size();
    if (grows) {
      check_writable(written_.size(), end);
      const Change change(request);
      written_.resize(end);
      representation_is_current_ = false;
    }
    touch();
  });
  // Without a new size, there may be nothing to commit, so set the times of the file at once.
  if (!grows) store_present_times(request);
}

void Content::zero(Request& request, std::int64_t offset, std::int64_t size,
                   std::optional<std::uint64_t> epoch) {
  with_current_epoch(request, [&]() REQUIRES(mutex_) {
    require_epoch(epoch);
    // The inner min() keeps the sum from overflowing.
    const std::int64_t end = std::min(written_.size(), offset + std::min(size, written_.size()));
    if (end <= offset) return;
    check_writable(offset, written_.size());
    const Change change(request);
    written_.zero(offset, end - offset);
    representation_is_current_ = false;
    touch();
    account();
  });
}

void Content::require_room() const { services_.budget.require_room(user()); }

void Content::set_metalayer(const Change& /*change*/, const LayerName& name, LayerChange value) {
  const WriteLock lock(mutex_);
  written_.set_metalayer(name, std::move(value));
  account();
  changed_ = now();
}

LayerChanges Content::uncommitted_metalayers() const {
  const ReadLock lock(mutex_);
  return written_.metalayers();
}

bool Content::set_times(Request& request, const timespec& accessed, const timespec& modified) {
  const TimedLock commit_lock(request, commit_mutex_);
  if (home() == nullptr && !is_orphan()) return false;
  prepare_to_store_times(request);
  const Change change(request);
  const timespec present = now();
  const auto resolved = [&](const timespec& time) { return is_present(time) ? present : time; };
  LogicalAttributes before;
  {
    const WriteLock lock(mutex_);
    before = {written_.size(), accessed_, modified_, changed_, 0};
    accessed_ = resolved(accessed);
    modified_ = resolved(modified);
    changed_ = present;
  }
  // store_times() takes the times from attributes(). If it fails, the old ones come back.
  try {
    store_times(change, is_present(accessed) && is_present(modified));
  } catch (...) {
    const WriteLock lock(mutex_);
    accessed_ = before.accessed;
    modified_ = before.modified;
    changed_ = before.changed;
    throw;
  }
  return true;
}

void Content::note_change(const Change& /*change*/) {
  const WriteLock lock(mutex_);
  changed_ = now();
}

void Content::prepare_to_store_times(Request& request) {
  if (!writer_ && (!snapshot() || is_orphan())) return;
  if (const auto known = snapshot(); known && !writer_) wait_for_peers(request, *known);
  at_place(request, *home(),
           [&](const StoredPlace& place) REQUIRES(commit_mutex_) { ensure_writer(place); });
}

void Content::store_times(const Change& change, bool are_present) {
  if (!writer_) return;
  const LogicalAttributes times = attributes();
  // Take the lock on names before the file's times change. Otherwise the tree would take the new
  // times for another program's change.
  const auto name_lock = home()->lock_name(change);
  try {
    writer_->set_times(times.accessed.value_or(kUnchangedTime),
                       times.modified.value_or(kUnchangedTime));
  } catch (const std::system_error& error) {
    // Without owning the file, a user who may write to it may still set the kernel's present time.
    if (!are_present || error.code() != std::errc::operation_not_permitted) throw;
    writer_->set_times(kPresentTime, kPresentTime);
  }
  name_lock->refresh(snapshot()->stamp());
}

void Content::store_present_times(Request& request) {
  const TimedLock commit_lock(request, commit_mutex_);
  prepare_to_store_times(request);
  store_times(Change(request), true);
}

// --- checksums of chunks, for files that other programs change under their lock

/// The caller holds reading_.
Content::Unremembered Content::unremembered(std::int64_t offset, std::int64_t size) const {
  Unremembered found;
  {
    const ReadLock lock(mutex_);
    if (!snapshot_ || !snapshot_->has_peers() || checksums_disabled_) return found;
    found.view = view_.get();
  }
  size = std::min(size, found.view->size() - std::min(offset, found.view->size()));
  // If the range has too many chunks, they get no checksums. Then changes of them cannot be
  // combined with another program's changes, and would be saved as a conflict file.
  if (size == 0 || !found.view->add_chunks_of(offset, size, kMostSumsAtOnce, found.chunks))
    return {};
  const ReadLock lock(mutex_);
  if (sums_.size() + found.chunks.size() > kMostSums) return {};
  for (const auto& [chunk, sum] : sums_) found.chunks.erase(chunk);
  return found;
}

void Content::remember_chunks(Request& request, std::int64_t offset, std::int64_t size) {
  const auto kept = lock_view(request);
  const auto [view, chunks] = unremembered(offset, size);
  if (chunks.empty()) return;
  request.need_slot();
  // The writers of all files that are in this function now.
  static std::atomic<int> waiting{0};
  const int others = waiting++;
  const std::shared_ptr<void> counted(nullptr, [](void*) { waiting--; });
  const frame::LockTimeout timeout(others < kMostWithTimeout ? kTimeout : std::chrono::seconds(0));
  ChunkSums found;
  bool is_given_up = false;
  const frame::Snapshot& state = view->reader().snapshot();
  try {
    for (const std::int64_t chunk : chunks)
      if (const auto sum = sum_of_chunk(request, *view, chunk)) found.emplace(chunk, *sum);
  } catch (const frame::LockedByOthers&) {
    is_given_up = true;
  } catch (const std::system_error&) {
    // A damaged chunk has no checksum, but may be overwritten.
  }
  if (!is_given_up && !state.is_unchanged_without_wait())
    throw_errno(ESTALE, "source was changed while in use");
  const WriteLock lock(mutex_);
  if (view != view_.get()) return;
  sums_.merge(found);
  checksums_disabled_ |= is_given_up;
  account();
}

void Content::remember_stored(Request& request, const std::vector<std::int64_t>& changed) {
  const FileView* view = nullptr;
  std::set<std::int64_t> chunks;
  {
    const ReadLock lock(mutex_);
    view = view_.get();
    const ByteOverlay& bytes = written_.live().bytes;
    if (!snapshot_->has_peers() || bytes.empty()) return;
    const std::int64_t end = std::min(written_.size(), view->size());
    // The chunks that newer writes have changed.
    bytes.for_each(0, end, [&](const ByteOverlay::Part& part) {
      static_cast<void>(view->add_chunks_of(part.offset, part.size, kMostSums, chunks));
    });
  }
  const frame::LockTimeout timeout(kLockTimeoutOfCommits);
  ChunkSums found;
  try {
    for (const std::int64_t chunk : changed)
      if (chunks.contains(chunk))
        if (const auto sum = sum_of_chunk(request, *view, chunk)) found.emplace(chunk, *sum);
  } catch (const std::system_error&) {
    return;
  }
  if (!view->reader().snapshot().is_unchanged_without_wait()) return;
  const WriteLock lock(mutex_);
  if (sums_.size() + found.size() <= kMostSums) sums_.merge(found);
}

}  // namespace bloscfs::fs
