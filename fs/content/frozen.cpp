#include "fs/content/frozen.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "frame/store/throw_errno.hpp"
#include "fs/content/timed_lock.hpp"
#include "fs/support/timestamps.hpp"

namespace bloscfs::fs {
namespace {

/// More than this is staged in several steps: memory that is free again soon is used again.
constexpr std::size_t kStagedAtOnce = std::size_t{8} << 20;

/// Moving chunks to the front takes one commit, or three, and the last one is followed by a cut.
constexpr int kMostTidyingCommits = 5;

}  // namespace

Content::Frozen Content::freeze(std::shared_ptr<Content> content, Freeze freeze) {
  Frozen frozen(std::move(content), freeze);
  if (frozen.has_lock()) frozen.take();
  return frozen;
}

Content::Frozen::Frozen(std::shared_ptr<Content> content, Freeze freeze)
    : content_(std::move(content)),
      lock_(content_->commit_mutex_, std::try_to_lock),
      freeze_(freeze) {}

Content::Frozen::~Frozen() {
  if (content_ && !empty()) give_back();
}

void Content::Frozen::take() {
  Content& c = *content_;
  const WriteLock lock(c.mutex_);
  const FileView* const view = c.view_.get();
  home_ = c.home_.get();
  facts_.epoch = c.epochs_.current();
  facts_.is_held_flat = c.held_flat_ > 0;
  // Where nothing of what is committed stays, all is stored anew whatever it becomes: an array that
  // is complete by now costs nothing more, though somebody may write on.
  const bool is_all_new =
      c.is_new_ || std::min(c.written_.committed_size(), c.written_.lower_end()) == 0;
  facts_.look_is_due = freeze_ == Freeze::all && (c.writers_ == 0 || is_all_new) &&
                       c.held_flat_ == 0 && !c.representation_is_current_;
  facts_.is_staged = c.is_new_ && view != nullptr;
  facts_.is_unknown = c.stored_state_is_unknown_;
  const bool must_become_flat = facts_.is_held_flat && view != nullptr && view->shape().is_array;
  const bool needs_name = c.is_new_ && freeze_ == Freeze::all;
  // Nothing is frozen where nothing is to be stored. An orphan is staged for room in memory, but
  // never committed; and a file that was not written to may still have to change its
  // representation.
  if ((c.is_orphan_ && freeze_ == Freeze::all) ||
      (view != nullptr && !facts_.is_unknown && !needs_name && c.written_.is_clean() &&
       !facts_.look_is_due && !must_become_flat))
    return;
  facts_.changes_values = c.changes_values();
  if (freeze_ == Freeze::all)
    c.written_.freeze_all();
  else
    c.written_.freeze_first(kStagedAtOnce);
  bytes_ = {view, c.written_.frozen(), c.written_.size()};
  c.stored_ = 0;
  // A commit that changes no contents leaves the times as they are, too.
  if (!c.modified_) c.modified_ = modification_time(c.snapshot_->stamp());
  facts_.accessed = c.accessed_;
  facts_.modified = *c.modified_;
  // Before the look has ended: whoever writes meanwhile asks for another one.
  if (facts_.look_is_due) c.representation_is_current_ = true;
}

void Content::Frozen::give_back() {
  Content& c = *content_;
  c.commit_mutex_.assert_held();
  const WriteLock lock(c.mutex_);
  c.written_.unfreeze();
  c.account();
  // The look failed with the commit, and is due again.
  if (facts_.look_is_due) c.representation_is_current_ = false;
  c.stored_state_is_unknown_ |= facts_.is_unknown || (c.writer_ && c.writer_->is_broken());
}

frame::FrameWriter* Content::Frozen::writer() const {
  Content& c = *content_;
  c.commit_mutex_.assert_held();
  return c.writer_.get();
}

void Content::Frozen::need_writer(const StoredPlace& place) {
  Content& c = *content_;
  c.commit_mutex_.assert_held();
  c.need_writer(place);
}

void Content::Frozen::reopen(Request& request, const StoredPlace& place) {
  Content& c = *content_;
  c.commit_mutex_.assert_held();
  auto writer = c.open_writer(place, place.is_sparse, nullptr);
  // Of whatever another content has stored there nothing was seen when this one was written to.
  if (place.is_shared && !home().takeover().is_in_place()) frame::throw_errno(ESTALE, place.name);
  c.writer_ = std::move(writer);
  const WriteLock alone(c.reading_);
  const WriteLock lock(c.mutex_);
  c.read_by(c.reading_of(request, c.writer_->snapshot(), c.services_.next_id++));
  bytes_.view = c.view_.get();
  facts_.is_staged = place.is_temporary;
}

void Content::Frozen::count_stored(std::size_t bytes) {
  Content& c = *content_;
  const WriteLock lock(c.mutex_);
  c.stored_ += bytes;
  c.account();
}

bool Content::Frozen::forget_changed(Request& request, const Stored& stored) const {
  // Blocks of chunks that are gone would be taken for those of chunks that came after them, and
  // chunks would be looked for where they were in a file that another one has replaced.
  const bool is_moved = !stored.snapshot->info().is_directory() &&
                        stored.snapshot->stamp().inode != bytes_.snapshot()->stamp().inode;
  const FrameReader& reader = bytes_.view->reader();
  return !stored.drops_chunks && !stored.moves_chunks && !is_moved &&
         std::all_of(stored.changed_chunks.begin(), stored.changed_chunks.end(),
                     [&](std::int64_t chunk) { return reader.forget_chunk(request, chunk); });
}

void Content::Frozen::adopt(Request& request, Stored stored) {
  Content& c = *content_;
  c.commit_mutex_.assert_held();
  const bool is_current = stored.is_current;
  const std::vector<std::int64_t> changed = stored.changed_chunks;
  read_stored(request, std::move(stored));
  if (is_current) c.remember_stored(request, changed);
  // While the frozen layer lasts the content leads: the tree takes what changes for its own doing.
  if (is_current && freeze_ == Freeze::all) tidy_container(request);
  std::unique_ptr<frame::FrameWriter> idle;  // destroyed behind the locks
  const WriteLock lock(c.mutex_);
  c.written_.drop_frozen();
  bytes_ = {};
  // A file that another program has changed since is not ours to complete: where nothing more was
  // written its size is what is stored.
  if (!is_current && !c.written_.live().has_contents()) c.written_.take_committed_size();
  c.account();
  // Whoever only reads has no share of a writer's descriptors: with nobody who writes, and nothing
  // to commit, the writer goes.
  if (c.writers_ == 0 && c.held_flat_ == 0 && !c.has_uncommitted()) idle = std::move(c.writer_);
}

void Content::Frozen::read_stored(Request& request, Stored stored) {
  Content& c = *content_;
  c.commit_mutex_.assert_held();
  const bool is_another = stored.writer != nullptr;
  if (is_another) c.writer_ = std::move(stored.writer);
  const WriteLock alone(c.reading_);
  // With another number everything that the cache has of the file is out of reach; with the same
  // one unchanged blocks stay warm. Without mutex_, since it may read chunks.
  const bool is_new_to_cache = is_another || !forget_changed(request, stored);
  const WriteLock lock(c.mutex_);
  if (is_another || stored.drops_chunks || c.written_.live().bytes.empty()) c.sums_.clear();
  c.sums_are_given_up_ = false;
  for (const std::int64_t chunk : stored.changed_chunks) c.sums_.erase(chunk);
  c.read_by(c.reading_of(request, std::move(stored.snapshot),
                         is_new_to_cache ? c.services_.next_id++ : c.id_));
  bytes_.view = c.view_.get();
  c.stored_state_is_unknown_ = false;
  if (freeze_ == Freeze::all) c.is_new_ = false;
}

void Content::Frozen::read_moved(Request& request) {
  Content& c = *content_;
  c.commit_mutex_.assert_held();
  const WriteLock alone(c.reading_);
  const WriteLock lock(c.mutex_);
  // What the cache has of the file tells where its chunks were.
  c.read_by(c.reading_of(request, c.writer_->snapshot(), c.services_.next_id++));
  bytes_.view = c.view_.get();
}

void Content::Frozen::make_room_to_empty(Request& request) {
  Content& c = *content_;
  c.commit_mutex_.assert_held();
  const auto known = c.writer_->snapshot();
  c.writer_->make_room_to_empty(memory_of(bytes_.layer->metalayers));
  if (c.writer_->snapshot() == known) return;
  read_moved(request);
  home().lock_name(request)->refresh(c.writer_->stamp());
}

void Content::Frozen::tidy_container(Request& request) {
  Content& c = *content_;
  c.commit_mutex_.assert_held();
  if (!c.writer_ || !c.writer_->is_oversized()) return;
  auto known = c.writer_->snapshot();
  try {
    for (int commits = 0; commits < kMostTidyingCommits && c.writer_->is_oversized(); commits++) {
      c.writer_->tidy();
      if (c.writer_->snapshot() == known) break;
      read_moved(request);
      known = c.writer_->snapshot();
    }
    home().lock_name(request)->refresh(c.writer_->stamp());
  } catch (const std::exception&) {
    // What was written is stored. Only where the container is now another one than this content
    // reads, it is opened again.
    const WriteLock lock(c.mutex_);
    c.stored_state_is_unknown_ |= c.writer_->is_broken() || c.writer_->snapshot() != known;
  }
}

}  // namespace bloscfs::fs
