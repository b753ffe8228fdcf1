// What a content does when another program has changed its file in SOURCE.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "frame/store/throw_errno.hpp"
#include "fs/content/content.hpp"
#include "fs/content/patient_lock.hpp"
#include "fs/encoding/plain_to_frame.hpp"
#include "fs/support/log.hpp"

namespace bloscfs::fs {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::chrono::seconds kKeepAgain{1};

}  // namespace

/// The file with all that was written to it. What it was written over is there if it can still be
/// read, as from a file that was replaced by rename; else zeros stand for that.
class Content::PendingBytes final : public FileBytes {
 public:
  PendingBytes(const FileView* view, bool can_read, const Layer& layer, std::int64_t size)
      : base_(can_read ? view : nullptr),
        header_(view == nullptr ? std::vector<std::uint8_t>() : view->shape().header),
        layer_(layer),
        size_(size) {}

  std::int64_t size() const override { return size_; }

  std::int64_t next_data(std::int64_t offset) const override {
    const std::int64_t below = next_below(layer_.bytes.end_of_zeros(offset));
    return std::min({size_, below, layer_.bytes.next_written(offset).value_or(size_)});
  }

  void read(std::int64_t offset, codec::MutableBytes out) const override {
    if (base_ != nullptr) {
      read_committed(base_, layer_.lower_end, offset, out);
    } else {
      std::fill(out.begin(), out.end(), std::uint8_t{0});
      const auto from = std::min<std::int64_t>(offset, std::ssize(header_));
      const auto count = std::min<std::ptrdiff_t>(std::ssize(header_) - from, std::ssize(out));
      std::copy_n(header_.begin() + from, count, out.begin());
    }
    layer_.apply(offset, out);
  }

 private:
  /// The same for what it was written over, where that is not zeroed.
  std::int64_t next_below(std::int64_t offset) const {
    for (;;) {
      if (base_ == nullptr) return offset < std::ssize(header_) ? offset : size_;
      const auto found = offset < layer_.lower_end ? base_->seek_data(offset) : std::nullopt;
      if (!found || *found >= layer_.lower_end) return size_;
      const std::int64_t end = layer_.bytes.end_of_zeros(*found);
      if (end == *found) return end;
      offset = end;
    }
  }

  const FileView* base_;
  const std::vector<std::uint8_t> header_;
  const Layer& layer_;
  const std::int64_t size_;
};

bool Content::is_current() const {
  std::shared_ptr<ContentHome> home;
  {
    const ReadLock lock(mutex_);
    if (is_orphan_) return true;
    // The tree knows the new state before the content has it.
    if (is_following_) return false;
    home = home_;
  }
  return is_file_current() && (!home || home->is_in_place());
}

bool Content::is_file_current() const {
  const auto known = snapshot();
  return !known || known->is_as_taken();
}

bool Content::follow_source() {
  const PatientLock commit_lock(commit_mutex_);
  if (!home_ || is_orphan() || is_current()) return false;
  home_->require_finished();
  const bool had_contents = has_contents_to_keep();
  begin_following();
  try {
    if (had_contents) keep_beside();
    const std::string path = home_->path();
    const ContentHome::Following following = home_->follow();
    const bool is_lost = is_lost_by(following);
    const bool loses_attributes = is_lost && has_attributes_to_keep();
    if (loses_attributes)
      log::warn(path + ": changed by another program; attributes that were set are lost");
    go_on_from(following, had_contents || loses_attributes, is_lost);
  } catch (...) {
    stop_following();
    throw;
  }
  return true;
}

/// True if what has been its file is out of reach. Of one that was removed nobody expects anything.
bool Content::is_lost_by(const ContentHome::Following& following) const {
  if (following.successor || following.heir) return false;
  return following.is_no_frame || (writer_ && writer_->has_name());
}

bool Content::has_attributes_to_keep() const {
  const ReadLock lock(mutex_);
  return !frozen_->metalayers.empty();
}

bool Content::has_just_failed_to_follow() const {
  const ReadLock lock(mutex_);
  return keep_failed_ && Steady::now() - *keep_failed_ < kKeepAgain;
}

/// Once, whatever then keeps the content from going on.
void Content::keep_beside() {
  {
    const ReadLock lock(mutex_);
    if (is_kept_) return;
  }
  try {
    const auto refuge = home_->conflict_refuge(shown_as(), user());
    const Kept kept = keep_in(*refuge);
    log::warn(fmt::format("{}: changed by another program; what was written to it is kept as {}{}",
                          refuge->path(), kept.path,
                          kept.is_whole ? "" : ", with zeros for what can no longer be read"));
  } catch (...) {
    const WriteLock lock(mutex_);
    keep_failed_ = Steady::now();
    throw;
  }
  const WriteLock lock(mutex_);
  is_kept_ = true;
}

std::optional<std::string> Content::keep_for_recovery() {
  const MutexLock commit_lock(commit_mutex_);
  if (!home_ || is_orphan() || !has_contents_to_keep()) return std::nullopt;
  begin_following();
  try {
    const Kept kept = keep_in(*home_->recovery_refuge(shown_as(), user()));
    stop_following();
    return kept.path;
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
  const MutexLock commit_lock(commit_mutex_);
  return home_ ? home_->path() : std::string();
}

bool Content::has_contents_to_keep() const {
  const ReadLock lock(mutex_);
  return is_new_ || live_.has_contents() || size_ != committed_size();
}

/// What was written lies frozen from now on, so that others may read it.
void Content::begin_following() {
  const WriteLock lock(mutex_);
  is_following_ = true;
  frozen_.emplace(live_.take_all());
}

void Content::stop_following() {
  const WriteLock lock(mutex_);
  is_following_ = false;
  frozen_->merge(live_);
  live_ = std::move(*frozen_);
  frozen_.reset();
  account_anew();
}

Content::Kept Content::keep_in(Refuge& refuge) {
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
    return store_as_frame(PendingBytes(view, can_read, *layer, size), refuge.directory(),
                          services_.options, services_.pages, services_.pool);
  };
  bool can_read = view == nullptr || view->reader().snapshot().is_as_taken();
  StoredFrame made;
  try {
    made = store(can_read);
  } catch (const std::system_error&) {
    // The file may have been changed by now; or it is damaged, and what was written is not.
    if (!std::exchange(can_read, false)) throw;
    made = store(false);
  }
  try {
    return {refuge.keep(made, writer_.get()), can_read || layer->lower_end <= 0};
  } catch (...) {
    const auto directory = refuge.directory();
    if (directory->stamp(made.name)) directory->unlink(made.name);
    throw;
  }
}

void Content::go_on_from(const ContentHome::Following& following, bool lost_something,
                         bool is_lost) {
  writer_.reset();  // the next commit opens one
  const WriteLock alone(reading_);
  const WriteLock lock(mutex_);
  LayerChanges layers = std::exchange(live_.metalayers, {});
  layers.merge(frozen_->metalayers);
  live_.take_all();
  frozen_.reset();
  if (following.successor)
    live_.metalayers = std::move(layers);
  else if (following.heir)
    inheritance_ = {*following.heir, following.heir_home, std::move(layers)};
  is_following_ = is_new_ = stored_state_is_unknown_ = is_announced_ = false;
  representation_is_current_ = true;
  is_orphan_ = !following.successor;
  is_abandoned_ = following.heir || is_lost;
  is_kept_ = false;
  accessed_ = modified_ = changed_ = std::nullopt;
  if (following.successor) {
    id_ = services_.next_id++;
    set_view(following.successor);
    size_ = view_->size();
  }
  epoch_++;
  if (lost_something) epoch_after_loss_ = epoch_;
  account_anew();
  // Asked for before anybody can open the new state, whose open waits for it.
  const auto pages_forgotten = std::make_shared<std::atomic<bool>>(false);
  home_->forget_pages([pages_forgotten] { *pages_forgotten = true; });
  pages_forgotten_ = pages_forgotten;
}

std::uint64_t Content::epoch() const {
  const ReadLock lock(mutex_);
  return epoch_;
}

std::uint64_t Content::epoch_of_pages() const {
  const ReadLock lock(mutex_);
  if (is_abandoned_ || (pages_forgotten_ && !*pages_forgotten_))
    frame::throw_errno(ESTALE, "page of another state");
  return epoch_;
}

bool Content::lost_contents_of(std::uint64_t epoch) const {
  const ReadLock lock(mutex_);
  return epoch < epoch_after_loss_;
}

bool Content::is_abandoned() const {
  const ReadLock lock(mutex_);
  return is_abandoned_;
}

std::optional<Content::Inheritance> Content::take_inheritance() {
  const WriteLock lock(mutex_);
  return std::exchange(inheritance_, std::nullopt);
}

}  // namespace bloscfs::fs
