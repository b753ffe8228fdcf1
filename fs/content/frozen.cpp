#include "fs/content/frozen.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "frame/store/throw_errno.hpp"
#include "fs/content/timed_lock.hpp"
#include "fs/support/timestamps.hpp"

namespace bloscfs::fs {
namespace {

/// If more bytes than this are dirty, they are staged in several steps. Later steps use the memory
/// that earlier steps free.
constexpr std::size_t kStagedAtOnce = std::size_t{8} << 20;

/// The most commits by which shorten_container() shortens a container. Moving chunks to the front
/// of the file takes one commit or three. After the last one, the file is cut off.
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
  facts_.is_forced_flat = c.forced_flat_ > 0;
  // If none of the committed contents stay, either representation stores everything anew. Then a
  // complete array costs nothing extra, even if a writer still has the file open.
  const bool is_all_new =
      c.is_new_ || std::min(c.written_.committed_size(), c.written_.lower_end()) == 0;
  facts_.must_choose_representation = freeze_ == Freeze::all && (c.writers_ == 0 || is_all_new) &&
                                      c.forced_flat_ == 0 && !c.representation_is_current_;
  facts_.is_staged = c.is_new_ && view != nullptr;
  facts_.is_unknown = c.stored_state_is_unknown_;
  const bool must_become_flat = facts_.is_forced_flat && view != nullptr && view->shape().is_array;
  const bool needs_name = c.is_new_ && freeze_ == Freeze::all;
  // Freezes nothing if there is nothing to store. An orphan is staged to free memory, but never
  // committed. A file without changes may still have to change its representation.
  if ((c.is_orphan_ && freeze_ == Freeze::all) ||
      (view != nullptr && !facts_.is_unknown && !needs_name && c.written_.is_clean() &&
       !facts_.must_choose_representation && !must_become_flat))
    return;
  facts_.changes_values = c.changes_values();
  if (freeze_ == Freeze::all)
    c.written_.freeze_all();
  else
    c.written_.freeze_first(kStagedAtOnce);
  bytes_ = {view, c.written_.frozen(), c.written_.size()};
  c.stored_ = 0;
  // Without a change of the contents, this commit stores the modification time that the file has.
  if (!c.modified_) c.modified_ = modification_time(c.snapshot_->stamp());
  facts_.accessed = c.accessed_;
  facts_.modified = *c.modified_;
  // Set before this commit chooses: a write during the commit clears it again, because it requires
  // another choice.
  if (facts_.must_choose_representation) c.representation_is_current_ = true;
}

void Content::Frozen::give_back() {
  Content& c = *content_;
  c.commit_mutex_.assert_held();
  const WriteLock lock(c.mutex_);
  c.written_.unfreeze();
  c.account();
  // The commit failed, so the representation is still to be chosen.
  if (facts_.must_choose_representation) c.representation_is_current_ = false;
  c.stored_state_is_unknown_ |= facts_.is_unknown || (c.writer_ && c.writer_->is_broken());
}

frame::FrameWriter* Content::Frozen::writer() const {
  Content& c = *content_;
  c.commit_mutex_.assert_held();
  return c.writer_.get();
}

void Content::Frozen::ensure_writer(const StoredPlace& place) {
  Content& c = *content_;
  c.commit_mutex_.assert_held();
  c.ensure_writer(place);
}

void Content::Frozen::reopen(Request& request, const StoredPlace& place) {
  Content& c = *content_;
  c.commit_mutex_.assert_held();
  auto writer = c.open_writer(place, place.is_sparse, nullptr);
  // Another host has stored a state under this name that this content has not seen. The writer has
  // opened that state.
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
  // The cache finds blocks by the number of their chunk. If chunks were dropped, it could return
  // their blocks for new chunks with the same numbers. If chunks were moved or the file was
  // replaced, the cache has the old offsets of chunks.
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
  // Before drop_frozen(): while a layer is frozen, the tree treats changes of the file as the
  // mount's own.
  if (is_current && freeze_ == Freeze::all) shorten_container(request);
  std::unique_ptr<frame::FrameWriter> idle;  // destroyed after the locks are released
  const WriteLock lock(c.mutex_);
  c.written_.drop_frozen();
  bytes_ = {};
  // If another program has changed the file since, the content does not restore its own size.
  // Without newer writes, it takes the size of what is stored.
  if (!is_current && !c.written_.live().has_contents()) c.written_.take_committed_size();
  c.account();
  // Readers have no share of descriptors for a writer. The writer is closed if no handle may write
  // and nothing is uncommitted.
  if (c.writers_ == 0 && c.forced_flat_ == 0 && !c.has_uncommitted()) idle = std::move(c.writer_);
}

void Content::Frozen::read_stored(Request& request, Stored stored) {
  Content& c = *content_;
  c.commit_mutex_.assert_held();
  const bool is_another = stored.writer != nullptr;
  if (is_another) c.writer_ = std::move(stored.writer);
  const WriteLock alone(c.reading_);
  // A new number makes all cached data of the file unreachable. With the same number, unchanged
  // blocks stay cached. forget_changed() is called without mutex_, since it may read chunks.
  const bool is_new_to_cache = is_another || !forget_changed(request, stored);
  const WriteLock lock(c.mutex_);
  if (is_another || stored.drops_chunks || c.written_.live().bytes.empty()) c.sums_.clear();
  c.checksums_disabled_ = false;
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
  // The cached index has the old places of the chunks.
  c.read_by(c.reading_of(request, c.writer_->snapshot(), c.services_.next_id++));
  bytes_.view = c.view_.get();
}

void Content::Frozen::prepare_to_empty(Request& request) {
  Content& c = *content_;
  c.commit_mutex_.assert_held();
  const auto known = c.writer_->snapshot();
  c.writer_->prepare_to_empty(memory_of(bytes_.layer->metalayers));
  if (c.writer_->snapshot() == known) return;
  read_moved(request);
  home().lock_name(request)->refresh(c.writer_->stamp());
}

void Content::Frozen::shorten_container(Request& request) {
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
    // The written data is stored, so the commit has succeeded. The file is opened again only if the
    // container is no longer the one that this content reads.
    const WriteLock lock(c.mutex_);
    c.stored_state_is_unknown_ |= c.writer_->is_broken() || c.writer_->snapshot() != known;
  }
}

}  // namespace bloscfs::fs
