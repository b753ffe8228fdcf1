// What a content does when another program has changed its file in SOURCE.

#include <cerrno>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "fs/content/content.hpp"
#include "fs/content/patient_lock.hpp"
#include "fs/content/pending_bytes.hpp"
#include "fs/support/log.hpp"
#include "fs/support/turns.hpp"

namespace bloscfs::fs {
namespace {

/// True of an error by which what is committed can be read neither now nor later: it is damaged, or
/// has gone. Others are this moment's trouble.
bool is_lost_for_good(const std::system_error& error, const frame::Snapshot& committed) {
  if (dynamic_cast<const codec::Error*>(&error) != nullptr) return true;
  if (committed.is_lasting()) return error.code() == std::errc::no_such_file_or_directory;
  // Of a disk nobody knows a better answer later.
  return error.code() == std::errc::io_error || !committed.is_as_taken();
}

/// What was written for one file must not go into one that somebody else has put there to read it:
/// a conflict file has the permissions that both have.
bool is_as_private(const frame::Snapshot& next, const frame::Snapshot& before) {
  const auto now = next.source()->readers(), then = before.source()->readers();
  return now && then && now->owner == then->owner && (then->has_others || !now->has_others);
}

}  // namespace

bool Content::is_current() const {
  std::shared_ptr<ContentHome> home;
  {
    const ReadLock lock(mutex_);
    if (is_orphan_) return true;
    // The tree knows the new state before the content has it.
    if (epochs_.is_ending()) return false;
    home = home_;
  }
  return is_file_current() && (!home || home->takeover().is_in_place());
}

bool Content::is_file_current() const {
  const auto known = snapshot();
  return !known || known->is_as_taken();
}

bool Content::follow_source() {
  const PatientLock commit_lock(commit_mutex_);
  if (home() == nullptr || is_orphan() || is_current()) return false;
  home()->takeover().require_finished();
  const bool had_contents = has_contents_to_keep() && !home()->takeover().is_removed_here();
  // Encodes what was written, and opens the new file.
  TurnAtNeed::need();
  begin_following();
  try {
    const std::string path = home()->path();
    WayOn way;
    const Takeover::Following following =
        home()->takeover().follow([&](const auto& successor) REQUIRES(commit_mutex_) {
          way = {};
          // A new number: no block that the cache has of the old file is taken for one of this.
          if (successor) way.next = reading_of(successor, services_.next_id++);
          if (!had_contents) return true;
          if (way.next) way.kept = combinable_with(*way.next);
          if (way.kept) return true;
          // A change that was made meanwhile may be all that is in the way.
          if (way.next && way.next->snapshot->has_peers() && !way.next->snapshot->is_as_taken())
            return false;
          // Before the tree goes on: if the disk is full everything is as it was, and the next look
          // tries again.
          keep_beside();
          return true;
        });
    way.is_lost = is_lost_by(following);
    const bool is_replaced = way.is_lost || (following.successor && !following.is_own_file);
    const bool loses_attributes = is_replaced && has_attributes_to_keep();
    if (loses_attributes)
      log::warn(path + ": replaced by another program; attributes that were set are discarded");
    way.loses_something = (had_contents && !way.kept) || loses_attributes;
    go_on_from(following, std::move(way));
  } catch (...) {
    stop_following();
    throw;
  }
  return true;
}

/// True if nobody can reach what has been the file. Of a file that was removed nobody expects that.
bool Content::is_lost_by(const Takeover::Following& following) const {
  if (following.successor) return false;
  return following.is_no_successor || (writer_ && writer_->has_name());
}

bool Content::has_attributes_to_keep() const {
  const ReadLock lock(mutex_);
  return !frozen_->metalayers.empty();
}

std::optional<ChunkSums> Content::combinable_with(const Reading& next) const {
  const FileView* before = nullptr;
  const Layer* written = nullptr;
  ChunkSums sums;
  {
    const ReadLock lock(mutex_);
    if (is_new_ || stored_state_is_unknown_ || !view_ || size_ != view_->size())
      return std::nullopt;
    before = view_.get();
    written = &*frozen_;
    sums = sums_;
  }
  const frame::Snapshot& old = before->reader().snapshot();
  const bool is_replaced = frame::id_of(old.stamp()) != frame::id_of(next.snapshot->stamp());
  // A program that changes the file in place without the lock may not have ended.
  if (!is_replaced && !old.is_changed_by_peer()) return std::nullopt;
  if (!is_as_private(*next.snapshot, old)) return std::nullopt;
  try {
    return combinable_chunks(*written, *before, sums, *next.view);
  } catch (const std::system_error&) {
    return std::nullopt;
  }
}

bool Content::has_just_failed_to_follow() const {
  const ReadLock lock(mutex_);
  return epochs_.has_just_failed_to_keep();
}

/// Keeps what was written once in an epoch, whatever then keeps the content from going on: a second
/// try to follow makes no second conflict.
void Content::keep_beside() {
  {
    const ReadLock lock(mutex_);
    if (epochs_.is_kept()) return;
  }
  try {
    const auto refuge = home()->takeover().refuge(RefugeKind::conflict, shown_as(), user());
    const Kept kept = keep_in(*refuge, Unreadable::if_lost);
    log::warn(fmt::format("{}: changed by another program; what was written to it is kept as {}{}",
                          refuge->path(), kept.path,
                          kept.is_whole ? "" : ", with zeros for what can no longer be read"));
  } catch (...) {
    const WriteLock lock(mutex_);
    epochs_.note_failure_to_keep();
    throw;
  }
  const WriteLock lock(mutex_);
  epochs_.note_kept();
}

std::optional<Content::Kept> Content::keep_for_recovery() {
  const MutexLock commit_lock(commit_mutex_);
  if (home() == nullptr || is_orphan() || !has_contents_to_keep()) return std::nullopt;
  begin_following();
  try {
    Kept kept;
    try {
      kept = keep_in(*home()->takeover().refuge(RefugeKind::recovery, shown_as(), user()),
                     Unreadable::in_any_case);
    } catch (const std::exception&) {
      const auto outside = home()->takeover().refuge(RefugeKind::rescue, shown_as(), user());
      if (!outside) throw;
      kept = keep_in(*outside, Unreadable::in_any_case);
    }
    stop_following();
    return kept;
  } catch (...) {
    stop_following();
    throw;
  }
}

ShownAs Content::shown_as() const {
  const ReadLock lock(mutex_);
  return view_ && view_->shape().is_array ? ShownAs::array : ShownAs::flat;
}

std::string Content::path() {
  // No commit is waited for: also a commit's own messages ask for the path.
  std::shared_ptr<ContentHome> own;
  {
    const ReadLock lock(mutex_);
    own = home_;
  }
  return own ? own->path() : std::string();
}

bool Content::has_contents_to_keep() const {
  const ReadLock lock(mutex_);
  return is_new_ || live_.has_contents() || size_ != committed_size();
}

/// Freezes what was written until the content has followed: keep_in() reads it without mutex_,
/// readers see it as before, and writers wait (changing()).
void Content::begin_following() {
  const WriteLock lock(mutex_);
  epochs_.begin_end();
  frozen_.emplace(live_.take_all());
}

void Content::stop_following() {
  const WriteLock lock(mutex_);
  epochs_.stay();
  unfreeze();
}

Content::Kept Content::keep_in(Refuge& refuge, Unreadable unreadable) {
  // Only whoever holds commit_mutex_ replaces these, and nobody writes meanwhile.
  const FileView* view = nullptr;
  const Layer* layer = nullptr;
  std::int64_t size = 0;
  {
    const ReadLock lock(mutex_);
    view = view_.get();
    layer = &*frozen_;
    size = size_;
  }
  const auto store = [&](bool can_read) {
    for (;;) {
      try {
        return store_as_frame(PendingBytes(view, can_read, *layer, size), refuge.directory(),
                              services_.options, services_.cache, services_.pool,
                              refuge.shared_name());
      } catch (const std::system_error& error) {
        // Another host, or another mount of this one, was first.
        if (error.code() != std::errc(ESTALE) || !refuge.take_another_name()) throw;
      }
    }
  };
  bool can_read = view == nullptr || view->reader().snapshot().is_lasting() ||
                  view->reader().snapshot().is_as_taken();
  StoredFrame made;
  try {
    made = store(can_read);
  } catch (const std::system_error& error) {
    // The file may have been changed by now; or it is damaged, and what was written is not.
    if (view == nullptr || !std::exchange(can_read, false)) throw;
    if (unreadable == Unreadable::if_lost && !is_lost_for_good(error, view->reader().snapshot()))
      throw;
    made = store(false);
  }
  try {
    return {refuge.keep(made, writer_.get()), can_read || layer->lower_end <= 0};
  } catch (...) {
    const auto directory = refuge.directory();
    if (!refuge.shared_name() && directory->stamp(made.name)) directory->unlink(made.name);
    throw;
  }
}

void Content::go_on_from(const Takeover::Following& following, WayOn way) {
  writer_.reset();  // the next commit opens one
  // Readers of the old view are waited for: a reply is of one epoch or of the next.
  const WriteLock alone(reading_);
  const WriteLock lock(mutex_);
  frozen_->merge(live_);
  live_ = std::move(*frozen_);
  frozen_.reset();
  if (!way.kept) {
    LayerChanges layers = std::move(live_.metalayers);
    live_.take_all();
    live_.metalayers = std::move(layers);
    representation_is_current_ = true;
    accessed_ = modified_ = changed_ = std::nullopt;
  }
  sums_ = way.kept ? *std::move(way.kept) : ChunkSums();
  sums_are_given_up_ = false;
  // A file that replaces this one by rename is another file, with attributes of its own.
  if (!following.successor || !following.is_own_file) live_.metalayers.clear();
  is_new_ = stored_state_is_unknown_ = false;
  is_orphan_ = !following.successor;
  if (following.successor) {
    read_by(*std::move(way.next));
    size_ = view_->size();
  }
  account_anew();
  const auto pages_forgotten = epochs_.begin_next({way.loses_something, way.is_lost});
  // Asked for before anybody can open the new state, whose open waits for it.
  home_->forget_pages([pages_forgotten] { *pages_forgotten = true; });
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
