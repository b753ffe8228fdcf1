// How a content goes on after another program has changed its file in SOURCE.

#include <cerrno>
#include <exception>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "fs/content/content.hpp"
#include "fs/content/pending_bytes.hpp"
#include "fs/content/timed_lock.hpp"
#include "fs/encoding/plain_to_frame.hpp"
#include "fs/support/log.hpp"
#include "fs/support/request.hpp"
#include "fs/support/timestamps.hpp"

namespace bloscfs::fs {
namespace {

/// True if the committed state can be read neither now nor later: it is damaged or gone. Other
/// errors are temporary.
bool is_lost_for_good(const std::system_error& error, const frame::Snapshot& committed) {
  if (dynamic_cast<const codec::Error*>(&error) != nullptr) return true;
  if (committed.is_lasting()) return error.code() == std::errc::no_such_file_or_directory;
  // The snapshot is of a file on a local disk. A disk that returned EIO returns it again later, and
  // bytes that were overwritten do not come back.
  return error.code() == std::errc::io_error || !committed.is_unchanged_without_wait();
}

/// True if at most the users who can read `before` can read `next`. Data written to one file must
/// not go into a file that another program made readable for more users. A conflict file has only
/// the permissions that both files have.
bool is_as_private(const frame::Snapshot& next, const frame::Snapshot& before) {
  const auto now = next.source()->readers(), then = before.source()->readers();
  return now && then && now->owner == then->owner && (then->has_others || !now->has_others);
}

/// When zeros may replace committed bytes that cannot be read: only if no later read can succeed,
/// or always.
enum class Unreadable { if_lost, in_any_case };

/// What a saved copy has where nothing was written.
enum class Below { committed, next, zeros };

}  // namespace

/// Applies the uncommitted changes to the new state of a file that another program has changed, or
/// saves them in a frame next to it. The constructor freezes the live layer, so that it can be read
/// without mutex_. Writers wait until the destructor (Content::with_current_epoch()). Unless the
/// content now has the new state, the destructor unfreezes the layer. The caller holds
/// commit_mutex_.
class Content::Reconciliation {
 public:
  Reconciliation(Request& request, Content& content);
  ~Reconciliation();
  Reconciliation(const Reconciliation&) = delete;
  Reconciliation& operator=(const Reconciliation&) = delete;

  /// Goes on from the new state. `has_contents`: bytes or a size are uncommitted. Returns false if
  /// another program is writing the file. Throws like Content::follow_source(); then nothing has
  /// changed.
  bool follow(bool has_contents);
  /// See Content::keep_for_recovery().
  Kept keep_for_recovery();

 private:
  bool prepare(const std::shared_ptr<const frame::Snapshot>& successor, bool has_contents);
  std::optional<ChunkSums> combinable_with(const Reading& next) const;
  void save_conflict_file();
  Kept keep_in(SavedCopy& saved_copy, Unreadable unreadable) const;
  bool is_like_next() const;
  StoredFrame store_in(SavedCopy& saved_copy, Below below, const FrameExtras& extras,
                       Loss& loss) const;
  frame::FileTimes times() const;
  bool is_lost_by(const Takeover::Following& following) const;
  void go_on_from(const Takeover::Following& following, const Epochs::End& end);

  Request& request_;
  Content& content_;
  ContentHome& home_;
  // These do not change while commit_mutex_ is held.
  const FileView* view_ = nullptr;
  const Layer* layer_ = nullptr;
  std::int64_t size_ = 0;
  bool has_gone_on_ = false;
  std::optional<Reading> next_;    ///< the new state, if the file still exists
  std::optional<ChunkSums> kept_;  ///< checksums of the changed chunks, if the changes can be
                                   ///< applied to `next_`
};

Content::Reconciliation::Reconciliation(Request& request, Content& content)
    : request_(request), content_(content), home_(*content.home()) {
  const WriteLock lock(content_.mutex_);
  content_.epochs_.begin_end();
  content_.written_.freeze_all();
  view_ = content_.view_.get();
  layer_ = content_.written_.frozen();
  size_ = content_.written_.size();
}

Content::Reconciliation::~Reconciliation() {
  if (has_gone_on_) return;
  const WriteLock lock(content_.mutex_);
  content_.epochs_.stay();
  content_.written_.unfreeze();
  content_.account();
}

bool Content::Reconciliation::follow(bool has_contents) {
  const std::string path = home_.path();
  const Takeover::Following following = home_.takeover().follow(
      request_, [&](const auto& successor) { return prepare(successor, has_contents); });
  if (following.is_being_written) return false;
  const bool is_lost = is_lost_by(following);
  const bool is_replaced = is_lost || (following.successor && !following.is_own_file);
  // Attributes belong to a file, so they are not set on the file that replaced it.
  const bool loses_attributes = is_replaced && !layer_->metalayers.empty();
  if (loses_attributes)
    log::warn(request_.user(),
              path + ": replaced by another program; attributes that were set are discarded");
  go_on_from(following, {(has_contents && !kept_) || loses_attributes, is_lost});
  return true;
}

/// Returns false if Takeover::follow() must start again.
bool Content::Reconciliation::prepare(const std::shared_ptr<const frame::Snapshot>& successor,
                                      bool has_contents) {
  next_.reset();
  kept_.reset();
  // A new number, so that cached blocks of the old file are not used for this one.
  if (successor) next_ = content_.reading_of(request_, successor, content_.services_.next_id++);
  if (!has_contents) return true;
  if (next_) kept_ = combinable_with(*next_);
  if (kept_) return true;
  // The successor was changed after it was opened, which may be all that prevents combining. So
  // start again.
  if (next_ && next_->snapshot->has_peers() && !next_->snapshot->is_unchanged_without_wait())
    return false;
  // Save the contents before the tree changes. If the disk is full, nothing has changed, and a
  // later call tries again.
  save_conflict_file();
  return true;
}

/// Returns the checksums of the written chunks if the changes can be applied to the state of
/// `next`.
std::optional<ChunkSums> Content::Reconciliation::combinable_with(const Reading& next) const {
  ChunkSums sums;
  {
    const ReadLock lock(content_.mutex_);
    if (content_.is_new_ || content_.stored_state_is_unknown_ || view_ == nullptr ||
        size_ != view_->size())
      return std::nullopt;
    sums = content_.sums_;
  }
  const frame::Snapshot& old = view_->reader().snapshot();
  const bool is_replaced = frame::id_of(old.stamp()) != frame::id_of(next.snapshot->stamp());
  // A program that changes the file in place without the lock may still be at work.
  if (!is_replaced && !old.is_changed_by_peer()) return std::nullopt;
  if (!is_as_private(*next.snapshot, old)) return std::nullopt;
  try {
    return combinable_chunks(request_, *layer_, *view_, sums, *next.view);
  } catch (const std::system_error&) {
    return std::nullopt;
  }
}

/// Saves the uncommitted contents once in an epoch. If the content then cannot go on for another
/// reason, the next try makes no second conflict file.
void Content::Reconciliation::save_conflict_file() {
  {
    const ReadLock lock(content_.mutex_);
    if (content_.epochs_.is_saved()) return;
  }
  try {
    const auto saved_copy = home_.takeover().saved_copy(request_, SavedCopyKind::conflict,
                                                        content_.shown_as(), content_.user());
    const Kept kept = keep_in(*saved_copy, Unreadable::if_lost);
    log::warn(request_.user(),
              fmt::format("{}: changed by another program; what was written to it is kept as {}{}",
                          saved_copy->path(), kept.path, text_of(kept.loss)));
  } catch (...) {
    const WriteLock lock(content_.mutex_);
    content_.epochs_.note_save_failure();
    throw;
  }
  content_.services_.stats.conflicts++;
  const WriteLock lock(content_.mutex_);
  content_.epochs_.note_saved();
}

/// Keeps the whole file in SOURCE, or else in the rescue folder. Only if neither can have all of
/// it, zeros stand for its committed bytes.
Content::Kept Content::Reconciliation::keep_for_recovery() {
  std::exception_ptr failure;
  for (const Unreadable unreadable : {Unreadable::if_lost, Unreadable::in_any_case})
    for (const SavedCopyKind kind : {SavedCopyKind::recovery, SavedCopyKind::rescue}) {
      try {
        const auto saved_copy =
            home_.takeover().saved_copy(request_, kind, content_.shown_as(), content_.user());
        if (saved_copy) return keep_in(*saved_copy, unreadable);
      } catch (const std::exception&) {
        failure = std::current_exception();
      }
    }
  std::rethrow_exception(failure);
}

/// True if the file still exists, and its new state has the shape of the committed one.
bool Content::Reconciliation::is_like_next() const {
  return view_ != nullptr && next_ && next_->view->shape().header == view_->shape().header &&
         next_->view->size() == view_->size();
}

/// Stores the committed bytes with the uncommitted changes as a frame, and keeps it as
/// `saved_copy`. `unreadable` says when other bytes may stand for the committed ones.
Content::Kept Content::Reconciliation::keep_in(SavedCopy& saved_copy, Unreadable unreadable) const {
  const frame::Snapshot* const committed = view_ == nullptr ? nullptr : &view_->reader().snapshot();
  const auto is_readable = [&] {
    return committed == nullptr || committed->is_lasting() ||
           committed->is_unchanged_without_wait();
  };
  const Below other = is_like_next() ? Below::next : Below::zeros;
  Below below = is_readable() ? Below::committed : other;
  bool with_metalayers = true;
  std::string why_without;
  Loss loss = Loss::none;
  StoredFrame made;
  while (!made.writer) {
    FrameExtras extras;
    extras.times = times();
    if (with_metalayers) extras.metalayers = &layer_->metalayers;
    if (with_metalayers && below == Below::next) extras.before = next_->snapshot.get();
    if (with_metalayers && below != Below::next && is_readable()) extras.before = committed;
    try {
      made = store_in(saved_copy, below, extras, loss);
    } catch (const std::system_error& error) {
      // The metalayers may be damaged, or may be why the commit failed. The contents come first.
      const bool has_metalayers = extras.before != nullptr || !layer_->metalayers.empty();
      if (has_metalayers && std::exchange(with_metalayers, false)) {
        why_without = error.what();
        continue;
      }
      // Another program changed the file during the read, or the file is damaged. The uncommitted
      // bytes are fine: store them without the file's bytes.
      if (committed == nullptr || below == Below::zeros) throw;
      if (below == Below::committed && unreadable == Unreadable::if_lost &&
          !is_lost_for_good(error, *committed))
        throw;
      below = below == Below::committed ? other : Below::zeros;
      with_metalayers = true;
    }
  }
  if (!with_metalayers)
    log::warn(request_.user(),
              fmt::format("{}: kept without its metalayers ({})", saved_copy.path(), why_without));
  content_.commit_mutex_.assert_held();
  try {
    return {saved_copy.keep(made, content_.writer_.get(), loss), loss};
  } catch (...) {
    const auto directory = saved_copy.directory();
    if (!saved_copy.shared_name() && directory->stamp(made.name)) directory->unlink(made.name);
    throw;
  }
}

/// Stores the contents as a frame in the place of `saved_copy`.
StoredFrame Content::Reconciliation::store_in(SavedCopy& saved_copy, Below below,
                                              const FrameExtras& extras, Loss& loss) const {
  const FileView* const base = below == Below::committed ? view_
                               : below == Below::next    ? next_->view.get()
                                                         : nullptr;
  for (;;) {
    try {
      const PendingBytes bytes(
          base, view_ == nullptr ? std::vector<std::uint8_t>() : view_->shape().header, *layer_,
          size_);
      StoredFrame stored = store_as_frame(
          request_, bytes, saved_copy.directory(), content_.services_.options,
          content_.services_.cache, content_.services_.pool, saved_copy.shared_name(), extras);
      if (below != Below::committed && layer_->lower_end > 0)
        loss = below == Below::next ? Loss::newer : Loss::only_written;
      else if (bytes.has_gaps())
        loss = Loss::zeros;
      else if (bytes.is_doubtful())
        loss = Loss::doubtful;
      return stored;
    } catch (const std::system_error& error) {
      // Another host, or another mount on this host, has taken the name first.
      if (error.code() != std::errc(ESTALE) || !saved_copy.take_another_name()) throw;
    }
  }
}

/// Returns the times that a commit would give the file.
frame::FileTimes Content::Reconciliation::times() const {
  const ReadLock lock(content_.mutex_);
  const auto committed =
      view_ == nullptr ? kUnchangedTime : modification_time(view_->reader().snapshot().stamp());
  return {content_.accessed_.value_or(kUnchangedTime), content_.modified_.value_or(committed)};
}

/// True if the content has lost its file: something that cannot be the successor has the name, or
/// another program has moved the file away. A removed file is not lost.
bool Content::Reconciliation::is_lost_by(const Takeover::Following& following) const {
  content_.commit_mutex_.assert_held();
  if (following.successor) return false;
  return following.must_not_follow || (content_.writer_ && content_.writer_->has_name());
}

void Content::Reconciliation::go_on_from(const Takeover::Following& following,
                                         const Epochs::End& end) {
  Content& c = content_;
  c.commit_mutex_.assert_held();
  c.writer_.reset();  // the next commit opens one
  // This lock waits for readers of the old view, so that a reply belongs to one epoch only.
  const WriteLock alone(c.reading_);
  const WriteLock lock(c.mutex_);
  c.written_.unfreeze();
  has_gone_on_ = true;
  if (!kept_) {
    c.written_.drop_contents();
    c.representation_is_current_ = true;
    c.accessed_ = c.modified_ = c.changed_ = std::nullopt;
  }
  c.sums_ = kept_ ? *std::move(kept_) : ChunkSums();
  c.checksums_disabled_ = false;
  // A file that replaced this one by rename is another file, with its own attributes.
  if (!following.successor || !following.is_own_file) c.written_.drop_metalayers();
  c.is_new_ = c.stored_state_is_unknown_ = false;
  c.is_orphan_ = !following.successor;
  if (following.successor) {
    c.read_by(*std::move(next_));
    c.written_.take_committed_size();
  }
  c.account();
  const auto pages_forgotten = c.epochs_.begin_next(end);
  // Ask the kernel to drop pages before any thread can open the new state: the open waits for that.
  c.home_->forget_pages([pages_forgotten] { *pages_forgotten = true; });
}

FollowResult Content::follow_source(Request& request) {
  const TimedLock commit_lock(request, commit_mutex_);
  if (home() == nullptr || is_orphan() || is_current()) return FollowResult::no;
  Takeover& takeover = home()->takeover();
  if (takeover.is_being_written(request)) return FollowResult::being_written;
  const bool has_contents = has_contents_to_keep() && !takeover.is_removed_here();
  // The work encodes the uncommitted contents, and opens the new file.
  request.need_slot();
  return Reconciliation(request, *this).follow(has_contents) ? FollowResult::yes
                                                             : FollowResult::being_written;
}

std::optional<Content::Kept> Content::keep_for_recovery(Request& request) {
  const MutexLock commit_lock(commit_mutex_);
  if (home() == nullptr || is_orphan() || !has_contents_to_keep()) return std::nullopt;
  return Reconciliation(request, *this).keep_for_recovery();
}

bool Content::has_contents_to_keep() const {
  const ReadLock lock(mutex_);
  return changes_values();
}

ShownAs Content::shown_as() const {
  const ReadLock lock(mutex_);
  return view_ && view_->shape().is_array ? ShownAs::array : ShownAs::flat;
}

bool Content::is_current() const {
  std::shared_ptr<ContentHome> home;
  {
    const ReadLock lock(mutex_);
    if (is_orphan_) return true;
    // While another thread runs follow_source(), the tree may know the new state already.
    if (epochs_.is_ending()) return false;
    home = home_;
  }
  return is_file_current() && (!home || home->takeover().is_in_place());
}

bool Content::is_file_current() const {
  const auto known = snapshot();
  return !known || known->is_unchanged_without_wait();
}

bool Content::follow_failed_recently() const {
  const ReadLock lock(mutex_);
  return epochs_.save_failed_recently();
}

std::string Content::path() {
  // Does not wait for a commit, since the commit's own messages use the path.
  std::shared_ptr<ContentHome> own;
  {
    const ReadLock lock(mutex_);
    own = home_;
  }
  return own ? own->path() : std::string();
}

std::uint64_t Content::epoch() const {
  const ReadLock lock(mutex_);
  return epochs_.current();
}

std::uint64_t Content::epoch_of_pages() const {
  const ReadLock lock(mutex_);
  return epochs_.of_pages();
}

bool Content::lost_contents_of(std::uint64_t epoch) const {
  const ReadLock lock(mutex_);
  return epochs_.lost_contents_of(epoch);
}

bool Content::is_abandoned() const {
  const ReadLock lock(mutex_);
  return epochs_.is_abandoned();
}

}  // namespace bloscfs::fs
