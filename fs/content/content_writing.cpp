// What changes a content before a commit stores it: bytes, size, metalayers and times.

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <set>
#include <utility>

#include "frame/array/array_shapes.hpp"
#include "frame/open/open_writer.hpp"
#include "frame/store/lock_patience.hpp"
#include "frame/store/throw_errno.hpp"
#include "frame/store/wait_mark.hpp"
#include "fs/content/at_place.hpp"
#include "fs/content/content.hpp"
#include "fs/content/patient_lock.hpp"
#include "fs/content/size_limit.hpp"
#include "fs/encoding/stale_indexes.hpp"
#include "fs/support/request_user.hpp"
#include "fs/support/timestamps.hpp"
#include "fs/support/turns.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;

/// How many writers in the process may wait for a program that has their file's lock, and how long.
/// The others go on at once, so that requests for other files get a turn: their changes cannot be
/// combined with that program's.
constexpr int kMostPatient = 2;
constexpr std::chrono::seconds kPatience{2};
/// How long a commit waits for that at its end, when others wait for it.
constexpr std::chrono::milliseconds kPatienceOfCommits{100};

bool is_present(const timespec& time) { return time.tv_nsec == UTIME_NOW; }

}  // namespace

void Content::make_writable(std::shared_ptr<ContentHome> home) {
  const PatientLock commit_lock(commit_mutex_);
  {
    // The old home lets go of its node under a lock that others hold while they take mutex_:
    // swapped out here, it is destroyed behind both locks.
    const WriteLock lock(mutex_);
    home_.swap(home);
    if (const auto user = RequestUser::current(); user && *user != user_) {
      services_.budget.change(user_, std::exchange(accounted_, {}), {});
      user_ = *user;
      account();
    }
  }
  std::shared_ptr<const frame::Snapshot> known = snapshot();
  if (writer_ || !known) return;
  if (known->info().is_read_only()) throw_errno(EROFS, known->info().kind_name());
  wait_for_peers(*known);
  at_place(*this->home(), [&](const StoredPlace& place) REQUIRES(commit_mutex_) {
    writer_ = open_writer(place, known->info().is_directory(), known);
  });
}

bool Content::is_writable() const {
  const ReadLock lock(mutex_);
  return home_ != nullptr;
}

void Content::require_changeable(ContentHome& home) const {
  std::shared_ptr<const frame::Snapshot> known;
  {
    const ReadLock lock(mutex_);
    if (view_) view_->require_contents();
    known = snapshot_;
  }
  if (known) require_markable_indexes(*known);
  home.require_changeable();
}

std::unique_ptr<frame::FrameWriter> Content::open_writer(
    const StoredPlace& place, bool is_sparse,
    const std::shared_ptr<const frame::Snapshot>& known) const {
  frame::WriterSettings settings = writer_settings(place, services_);
  settings.meant = place.meant;
  return frame::open_writer(place.directory, place.name, is_sparse, settings, known);
}

void Content::need_writer(const StoredPlace& place) {
  const auto known = snapshot();
  if (!writer_ && known && !place.is_unlinked) writer_ = open_writer(place, place.is_sparse, known);
}

void Content::touch() {
  epochs_.note_written();
  // With its writeback cache the kernel says when a file was changed.
  if (!services_.options.writeback) changed_ = modified_ = now();
}

StoredFile Content::stored_file() const {
  return {view_.get(), snapshot_.get(), services_.options, services_.raw,
          services_.cache.budget().capacity()};
}

void Content::check_writable(std::int64_t begin, std::int64_t end) const {
  fs::require_storable(stored_file(), begin, end);
  // Bytes of the committed file that stay need a codec that can encode them again beside the new
  // ones; where all of it was cut off, it does not matter.
  const std::int64_t kept = std::min(live_.lower_end, frozen_ ? frozen_->lower_end : size_);
  if (end > 0 && kept > 0 && snapshot_ && snapshot_->info().nbytes > 0 &&
      !can_be_changed_in_part(snapshot_->info()))
    throw_errno(EOPNOTSUPP, "contents that can only be replaced as a whole");
  if (!services_.raw || !snapshot_ || !snapshot_->info().array || end == size_) return;
  // Without a NPY header an array can only become longer, by whole rows.
  const frame::ArrayInfo& array = *snapshot_->info().array;
  const std::int64_t row = frame::row_size(array, snapshot_->info().typesize);
  if (array.shape.empty() || row == 0 || end < size_ || end % row != 0)
    throw_errno(EINVAL, "size of an array");
}

void Content::write(std::optional<std::int64_t> at, codec::Bytes bytes,
                    std::optional<std::uint64_t> epoch) {
  write_at(at, bytes.size(), epoch,
           [&](ByteOverlay& overlay, std::int64_t offset) { overlay.write(offset, bytes); });
}

void Content::write(std::optional<std::int64_t> at, std::span<PooledBuffer> cells,
                    std::optional<std::uint64_t> epoch) {
  std::size_t count = 0;
  for (const PooledBuffer& cell : cells) count += cell.size();
  write_at(at, count, epoch, [&](ByteOverlay& overlay, std::int64_t offset) {
    for (PooledBuffer& cell : cells) {
      const auto size = static_cast<std::int64_t>(cell.size());
      overlay.write(offset, cell);
      offset += size;
    }
  });
}

void Content::require_epoch(std::optional<std::uint64_t> epoch) const {
  if (!epochs_.is_current(epoch)) throw_errno(ESTALE, "source was changed while in use");
}

template <typename Change>
void Content::changing(const Change& change) {
  for (;;) {
    {
      const WriteLock lock(mutex_);
      if (!epochs_.is_ending()) return change();
    }
    TurnAtNeed::need();
    const frame::WaitMark mark(frame::WaitReason::commit);
    // Held by whoever has the content follow, from the first step to the last.
    const MutexLock until_it_has_followed(commit_mutex_);
  }
}

template <typename Write>
void Content::write_at(std::optional<std::int64_t> at, std::size_t count,
                       std::optional<std::uint64_t> epoch, const Write& write) {
  if (count == 0) return;
  const auto size = static_cast<std::int64_t>(count);
  require_room();
  changing([&]() REQUIRES(mutex_) {
    require_epoch(epoch);
    // Under mutex_: two appends at the same time lie one behind the other.
    const std::int64_t offset = at.value_or(size_);
    if (offset > std::numeric_limits<std::int64_t>::max() - size) throw_errno(EFBIG, "write");
    check_writable(offset, std::max(size_, offset + size));
    write(live_.bytes, offset);
    size_ = std::max(size_, offset + size);
    representation_is_current_ = false;
    touch();
    account();
  });
}

void Content::resize(std::int64_t size, std::optional<std::uint64_t> epoch) {
  if (size < 0) throw_errno(EINVAL, "truncate");
  bool is_same = false;
  changing([&]() REQUIRES(mutex_) {
    require_epoch(epoch);
    is_same = size == size_;
    if (!is_same) check_writable(size, size);
    if (size < size_) {
      // 100 -> 30 -> 100 bytes: the lower end stays 30, so that the 70 behind it are zeros and not
      // what is committed there.
      live_.bytes.truncate(size);
      live_.lower_end = std::min(live_.lower_end, size);
    }
    if (!is_same) representation_is_current_ = false;
    size_ = size;
    touch();
    account();
  });
  if (!is_same) return;
  // There may be nothing to commit but the time.
  const PatientLock commit_lock(commit_mutex_);
  store_times(true);
}

void Content::require_storable(std::int64_t size) const {
  const ReadLock lock(mutex_);
  if (size > size_) fs::require_storable(stored_file(), size_, size);
}

void Content::reserve(std::int64_t end, std::optional<std::uint64_t> epoch) {
  bool grows = false;
  changing([&]() REQUIRES(mutex_) {
    require_epoch(epoch);
    grows = end > size_;
    if (grows) {
      check_writable(size_, end);
      size_ = end;
      representation_is_current_ = false;
    }
    touch();
  });
  if (grows) return;
  const PatientLock commit_lock(commit_mutex_);
  store_times(true);
}

void Content::zero(std::int64_t offset, std::int64_t size, std::optional<std::uint64_t> epoch) {
  changing([&]() REQUIRES(mutex_) {
    require_epoch(epoch);
    const std::int64_t end = std::min(size_, offset + std::min(size, size_));
    if (end <= offset) return;
    check_writable(offset, size_);
    live_.bytes.zero(offset, end - offset);
    representation_is_current_ = false;
    touch();
    account();
  });
}

/// With reading_ held.
Content::Unremembered Content::unremembered(std::int64_t offset, std::int64_t size) const {
  Unremembered found;
  {
    const ReadLock lock(mutex_);
    if (!snapshot_ || !snapshot_->has_peers() || sums_are_given_up_) return found;
    found.view = view_.get();
  }
  size = std::min(size, found.view->size() - std::min(offset, found.view->size()));
  // A change of chunks without a sum cannot be combined with another program's.
  if (size == 0 || !found.view->add_chunks_of(offset, size, kMostSumsAtOnce, found.chunks))
    return {};
  const ReadLock lock(mutex_);
  if (sums_.size() + found.chunks.size() > kMostSums) return {};
  for (const auto& [chunk, sum] : sums_) found.chunks.erase(chunk);
  return found;
}

bool Content::must_remember_chunks(std::int64_t offset, std::int64_t size) const {
  const auto known = snapshot();
  if (!known || !known->has_peers()) return false;
  const std::shared_lock kept(reading_, std::try_to_lock);
  return !kept || !unremembered(offset, size).chunks.empty();
}

void Content::remember_chunks(std::int64_t offset, std::int64_t size) {
  const auto kept = keep_view();
  const auto [view, chunks] = unremembered(offset, size);
  if (chunks.empty()) return;
  TurnAtNeed::need();
  static std::atomic<int> waiting{0};
  const int others = waiting++;
  const std::shared_ptr<void> counted(nullptr, [](void*) { waiting--; });
  const frame::LockPatience patience(others < kMostPatient ? kPatience : std::chrono::seconds(0));
  ChunkSums found;
  bool is_given_up = false;
  const frame::Snapshot& state = view->reader().snapshot();
  try {
    for (const std::int64_t chunk : chunks)
      if (const auto sum = sum_of_chunk(*view, chunk)) found.emplace(chunk, *sum);
  } catch (const frame::LockedByOthers&) {
    is_given_up = true;
  } catch (const std::system_error&) {
    // A damaged chunk can be written over, and has no sum.
  }
  if (!is_given_up && !state.is_as_taken()) throw_errno(ESTALE, "source was changed while in use");
  const WriteLock lock(mutex_);
  if (view != view_.get()) return;
  sums_.merge(found);
  sums_are_given_up_ |= is_given_up;
  account();
}

void Content::remember_stored(const std::vector<std::int64_t>& changed) {
  const FileView* view = nullptr;
  std::set<std::int64_t> chunks;
  {
    const ReadLock lock(mutex_);
    view = view_.get();
    if (!snapshot_->has_peers() || live_.bytes.empty()) return;
    live_.bytes.for_each(0, std::min(size_, view->size()), [&](const ByteOverlay::Part& part) {
      static_cast<void>(view->add_chunks_of(part.offset, part.size, kMostSums, chunks));
    });
  }
  const frame::LockPatience patience(kPatienceOfCommits);
  ChunkSums found;
  try {
    for (const std::int64_t chunk : changed)
      if (chunks.contains(chunk))
        if (const auto sum = sum_of_chunk(*view, chunk)) found.emplace(chunk, *sum);
  } catch (const std::system_error&) {
    return;
  }
  if (!view->reader().snapshot().is_as_taken()) return;
  const WriteLock lock(mutex_);
  if (sums_.size() + found.size() <= kMostSums) sums_.merge(found);
}

void Content::require_room() const { services_.budget.require_room(user()); }

void Content::set_metalayer(const LayerName& name, LayerChange value) {
  const WriteLock lock(mutex_);
  const auto [known, is_new] = live_.metalayers.try_emplace(name);
  if (!is_new) layers_memory_ -= memory_of(*known);
  known->second = std::move(value);
  layers_memory_ += memory_of(*known);
  account();
  changed_ = now();
}

LayerChanges Content::uncommitted_metalayers() const {
  const ReadLock lock(mutex_);
  LayerChanges layers = live_.metalayers;
  // Changes since the freeze are newer: insert() leaves them as they are.
  if (frozen_) layers.insert(frozen_->metalayers.begin(), frozen_->metalayers.end());
  return layers;
}

bool Content::set_times(const timespec& accessed, const timespec& modified) {
  const PatientLock commit_lock(commit_mutex_);
  if (home() == nullptr && !is_orphan()) return false;
  const timespec present = now();
  const auto resolved = [&](const timespec& time) { return is_present(time) ? present : time; };
  LogicalAttributes before;
  {
    const WriteLock lock(mutex_);
    before = {size_, accessed_, modified_, changed_, 0};
    accessed_ = resolved(accessed);
    modified_ = resolved(modified);
    changed_ = present;
  }
  try {
    store_times(is_present(accessed) && is_present(modified));
  } catch (...) {
    const WriteLock lock(mutex_);
    accessed_ = before.accessed;
    modified_ = before.modified;
    changed_ = before.changed;
    throw;
  }
  return true;
}

void Content::note_change() {
  const WriteLock lock(mutex_);
  changed_ = now();
}

void Content::store_times(bool are_present) {
  if (!writer_ && (!snapshot() || is_orphan())) return;
  const LogicalAttributes times = attributes();
  if (const auto known = snapshot(); known && !writer_) wait_for_peers(*known);
  ContentHome& own = *home();
  at_place(own, [&](const StoredPlace& place) REQUIRES(commit_mutex_) { need_writer(place); });
  if (!writer_) return;
  // Locked before the file changes: else it would be taken for somebody else's change.
  const auto name_lock = own.lock_name();
  try {
    writer_->set_times(times.accessed.value_or(kUnchangedTime),
                       times.modified.value_or(kUnchangedTime));
  } catch (const std::system_error& error) {
    if (!are_present || error.code() != std::errc::operation_not_permitted) throw;
    writer_->set_times(kPresentTime, kPresentTime);
  }
  name_lock->refresh(snapshot()->stamp());
}

}  // namespace bloscfs::fs
