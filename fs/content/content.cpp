#include "fs/content/content.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "codec/bytes.hpp"
#include "frame/cframe/cframe_writer.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/content/frozen_bytes.hpp"
#include "fs/content/patient_lock.hpp"
#include "fs/encoding/new_frame.hpp"
#include "fs/support/lock_breaks.hpp"
#include "fs/support/timestamps.hpp"
#include "fs/support/turns.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;

/// Bytes that a commit remembers of one chunk, or part of one, that it changes.
constexpr std::size_t kPieceCost = 160;
/// Pieces from this size on are so few that what is remembered of them is not counted.
constexpr std::size_t kLargePiece = 4096;

/// The smallest piece that a commit may cut neighbouring bytes into; 0 where that is large. An
/// array with blocks of (64, 64) doubles has pieces of 512 bytes, a row of a block.
std::size_t smallest_piece(const frame::FrameInfo& info, const ViewShape& shape) {
  std::int64_t piece = info.chunksize;
  if (shape.blocked && !info.array->blockshape.empty())
    piece = std::int64_t{info.array->blockshape.back()} * info.typesize;
  return piece > 0 && static_cast<std::size_t>(piece) < kLargePiece
             ? static_cast<std::size_t>(piece)
             : 0;
}

bool can_be_array_in(ContentHome& home) {
  return Attempts::run([&] { return !home.lock_name()->names().array.empty(); });
}

}  // namespace

Content::Content(ContentServices services, std::shared_ptr<const frame::Snapshot> snapshot)
    : services_(std::move(services)), id_(services_.next_id++) {
  const WriteLock lock(mutex_);
  read_by(reading_of(std::move(snapshot), id_));
  size_ = view_->size();
}

Content::Content(ContentServices services, const timespec& created)
    : services_(std::move(services)), id_(services_.next_id++) {
  const WriteLock lock(mutex_);
  changed_ = modified_ = accessed_ = created;
  representation_is_current_ = false;
  is_new_ = true;
}

Content::~Content() { services_.budget.change(user_, accounted_, {}); }

Content::Reading Content::reading_of(std::shared_ptr<const frame::Snapshot> snapshot,
                                     std::uint64_t id) const {
  auto view = std::make_unique<const FileView>(
      view_shape(snapshot->info(), services_.raw),
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
}

// --- reading

std::int64_t Content::size() const {
  const ReadLock lock(mutex_);
  return size_;
}

LogicalAttributes Content::attributes() const {
  const ReadLock lock(mutex_);
  return {size_, accessed_, modified_, changed_, waiting_data()};
}

/// Committed bytes count as data, as they do for seek(): which of them are zeros is not looked up.
std::int64_t Content::waiting_data() const {
  if (!changes_values() && !(frozen_ && frozen_->has_contents())) return 0;
  std::int64_t data =
      std::min(committed_size(), live_.lower_end) + static_cast<std::int64_t>(live_.bytes.memory());
  if (frozen_) data += static_cast<std::int64_t>(frozen_->bytes.memory());
  return std::min(size_, data);
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

std::int64_t Content::committed_size() const { return view_ ? view_->size() : 0; }

bool Content::is_untouched(std::int64_t offset, std::int64_t size) const {
  return !live_.hides(offset, size) && !(frozen_ && frozen_->hides(offset, size)) &&
         offset + size <= committed_size();
}

std::shared_lock<SharedMutex> Content::keep_view() const {
  std::shared_lock lock(reading_, std::try_to_lock);
  if (!lock) {
    // reading_ may be held alone over a wait for slow readers: whoever must wait for that needs a
    // turn.
    TurnAtNeed::need();
    lock.lock();
  }
  return lock;
}

void Content::read(std::int64_t offset, std::int64_t size, ReplyData& out,
                   std::optional<std::uint64_t> epoch) const {
  const auto kept = keep_view();
  const FileView* view = nullptr;
  bool untouched = false;
  std::int64_t lower_end = 0;
  {
    const ReadLock lock(mutex_);
    if (!epochs_.is_current(epoch)) throw_errno(EIO, "source was changed while in use");
    size = std::min(size, size_ - std::min(offset, size_));
    if (size <= 0) return;
    view = view_.get();
    untouched = is_untouched(offset, size);
    lower_end = frozen_ ? std::min(frozen_->lower_end, live_.lower_end) : live_.lower_end;
  }
  // A header without what it promises is of no use.
  if (view != nullptr) view->require_contents();
  if (untouched) return view->read(offset, size, out);
  const codec::MutableBytes bytes = out.add_owned(static_cast<std::size_t>(size));
  read_committed(view, lower_end, offset, bytes);
  // Bytes that were written or cut off meanwhile are read as they are now. A commit may freeze the
  // live layer between the two looks, but not adopt it, since reading_ is held: each written byte
  // is still in one of the layers.
  const ReadLock lock(mutex_);
  if (frozen_) frozen_->apply(offset, bytes);
  live_.apply(offset, bytes);
}

void Content::prefetch(std::int64_t offset, std::int64_t size,
                       const std::atomic<std::int64_t>& reached) const {
  const std::shared_lock kept(reading_, std::try_to_lock);
  // Reading ahead is worth no wait for a commit that is about to replace the view.
  if (!kept) return;
  const FileView* view = nullptr;
  {
    const ReadLock lock(mutex_);
    size = std::min(size, committed_size() - offset);
    if (size <= 0 || !is_untouched(offset, size)) return;
    view = view_.get();
  }
  view->prefetch(offset, size, reached);
}

std::optional<std::int64_t> Content::seek_data(std::int64_t offset) const {
  return seek(offset, false);
}

std::optional<std::int64_t> Content::seek_hole(std::int64_t offset) const {
  return seek(offset, true);
}

std::optional<std::int64_t> Content::seek(std::int64_t offset, bool want_hole) const {
  const auto kept = keep_view();
  const FileView* view = nullptr;
  {
    const ReadLock lock(mutex_);
    if (offset < 0 || offset >= size_) return std::nullopt;
    // Until it is committed all of a changed file counts as data, which is always allowed.
    if (!view_ || !live_.empty() || frozen_ || size_ != committed_size())
      return want_hole ? size_ : offset;
    view = view_.get();
  }
  return want_hole ? view->seek_hole(offset) : view->seek_data(offset);
}

// --- state

/// With what a commit remembers of each chunk, or part of one, that it changes.
std::size_t Content::memory_of_bytes(const ByteOverlay& bytes) const {
  return bytes.memory() + (piece_ == 0 ? 0 : bytes.memory() / piece_ * kPieceCost);
}

void Content::account() {
  const std::size_t frozen = frozen_ ? memory_of_bytes(frozen_->bytes) : 0;
  const std::size_t memory = memory_of_bytes(live_.bytes) + frozen + layers_memory_;
  charged_.resize(memory + sums_.size() * kSumMemory);
  // Nobody may wait for what will never be committed or staged.
  DirtyBytes dirty;
  if (!is_orphan_ || writers_ > 0) {
    dirty.in_work = std::min(frozen, stored_);
    dirty.waiting = memory - dirty.in_work;
  }
  services_.budget.change(user_, accounted_, dirty);
  accounted_ = dirty;
}

void Content::account_anew() {
  layers_memory_ = memory_of(live_.metalayers) + (frozen_ ? memory_of(frozen_->metalayers) : 0);
  account();
}

void Content::unfreeze() {
  frozen_->merge(live_);
  live_ = std::move(*frozen_);
  frozen_.reset();
  account_anew();
}

ContentHome* Content::home() const {
  const ReadLock lock(mutex_);
  return home_.get();
}

uid_t Content::user() const {
  const ReadLock lock(mutex_);
  return user_;
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

void Content::hold_flat(bool held) {
  const WriteLock lock(mutex_);
  held_flat_ += held ? 1 : -1;
  representation_is_current_ = false;
}

void Content::look_again() {
  const WriteLock lock(mutex_);
  representation_is_current_ = false;
  changed_ = now();
}

void Content::orphan() {
  const WriteLock lock(mutex_);
  is_orphan_ = true;
  account();
}

void Content::end_orphanhood() {
  const WriteLock lock(mutex_);
  // One that another program has taken the name of has nothing more to do with what is there.
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
  // Its bytes may go to SOURCE before a commit only where no name leads to them.
  const bool is_hidden = is_orphan_ || (is_new_ && !stored_state_is_unknown_);
  const std::size_t layers = live_.metalayers.empty() ? 0 : layers_memory_;
  return is_hidden && writers_ > 0 && live_.bytes.memory() + layers >= least_dirty;
}

bool Content::needs_commit() const {
  const ReadLock lock(mutex_);
  if (is_orphan_) return false;
  return has_uncommitted() || (!representation_is_current_ && writers_ == 0);
}

std::int64_t Content::uncommitted_bytes() const {
  const ReadLock lock(mutex_);
  std::int64_t written = 0;
  live_.bytes.for_each(0, size_, [&](const ByteOverlay::Part& part) {
    if (part.bytes != nullptr) written += part.size;
  });
  return written;
}

bool Content::has_uncommitted() const {
  return is_new_ || stored_state_is_unknown_ || frozen_ || !live_.empty() ||
         size_ != committed_size();
}

bool Content::is_committing() const {
  const ReadLock lock(mutex_);
  return frozen_.has_value();
}

bool Content::leads() const {
  const ReadLock lock(mutex_);
  return !is_orphan_ && (writers_ > 0 || has_uncommitted());
}

Content::Shown Content::shown() const {
  const ReadLock lock(mutex_);
  Shown shown{false, size_, 0};
  if (!view_) return shown;
  shown.is_read_only = snapshot_->info().is_read_only();
  shown.stored_chunks = snapshot_->info().cbytes;
  return shown;
}

void Content::remember_error(const std::error_code& error) {
  const WriteLock lock(mutex_);
  error_ = error;
}

bool Content::changes_values() const {
  return is_new_ || !live_.bytes.empty() || live_.lower_end != Layer::kNoEnd ||
         size_ != committed_size();
}

std::error_code Content::take_error() {
  const WriteLock lock(mutex_);
  return std::exchange(error_, std::error_code());
}

frame::FrameInfo Content::info() const {
  if (const auto known = snapshot()) return known->info();
  // Behind a commit that may be about to make it.
  const MutexLock commit_lock(commit_mutex_);
  if (const auto known = snapshot()) return known->info();
  ContentHome* const own = home();
  const bool can_be_array = own != nullptr && !services_.raw && can_be_array_in(*own);
  const ReadLock lock(mutex_);
  return planned_info(can_be_array && writers_ == 0);
}

frame::FrameInfo Content::planned_info(bool can_be_array) const {
  const NewContents contents{
      size_, [this](std::int64_t offset, codec::MutableBytes out) REQUIRES_SHARED(mutex_) {
        std::ranges::fill(out, std::uint8_t{0});
        live_.apply(offset, out);
      }};
  std::optional<frame::FrameSettings> settings;
  if (can_be_array) settings = array_frame_of(services_.options, contents);
  if (!settings) settings = new_flat_frame(services_.options, contents);
  frame::FrameInfo info = frame::plan_cframe(*settings);
  if (info.array) return info;
  info.nbytes = size_;
  info.nchunks = codec::ceil_div<std::int64_t>(size_, info.chunksize);
  return info;
}

}  // namespace bloscfs::fs
