#include "fs/commit/content_commit.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "codec/error.hpp"
#include "frame/cframe/cframe_writer.hpp"
#include "frame/header/b2nd.hpp"
#include "frame/header/cframe_format.hpp"
#include "frame/header/frame_limits.hpp"
#include "frame/header/metalayer_names.hpp"
#include "frame/store/temporary_name.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/content/size_limit.hpp"
#include "fs/encoding/new_frame.hpp"
#include "fs/encoding/stale_indexes.hpp"
#include "fs/support/lock_breaks.hpp"
#include "fs/support/log.hpp"
#include "fs/support/request_user.hpp"
#include "fs/support/timestamps.hpp"

namespace bloscfs::fs {
namespace {

/// Fixed metalayers that a new container takes over are read whole. They say what a frame is, and
/// are not meant to be large.
constexpr std::uint64_t kMostKeptMetalayers = std::uint64_t{4} << 20;
/// What takes longer than others may have to wait for: so many bytes that are to be stored anew, or
/// so many entries of an index.
constexpr std::int64_t kLongRewrite = std::int64_t{64} << 20;
constexpr std::int64_t kLongIndex = std::int64_t{8} << 20;
/// More than this is staged in several steps: memory that is free again soon is used again.
constexpr std::size_t kStagedAtOnce = std::size_t{8} << 20;

}  // namespace

ContentCommit::ContentCommit(std::shared_ptr<Content> content, CommitKind kind)
    : content_(std::move(content)), commit_lock_(content_->commit_mutex_), kind_(kind) {
  Content& c = *content_;
  const WriteLock lock(c.mutex_);
  look_for_array_ = kind_ != CommitKind::staged && c.writers_ == 0 && c.held_flat_ == 0 &&
                    !c.representation_is_current_;
  held_flat_ = c.held_flat_ > 0;
  view_ = c.view_.get();
  snapshot_ = c.snapshot_;
  size_ = c.size_;
  epoch_ = c.epoch_;
  was_staged_ = c.is_new_ && view_ != nullptr;
  const bool must_become_flat = held_flat_ && view_ != nullptr && view_->shape().is_array;
  const bool needs_name = c.is_new_ && kind_ != CommitKind::staged;
  reopens_ = c.stored_state_is_unknown_;
  empty_ = (c.is_orphan_ && kind_ != CommitKind::staged) ||
           (view_ != nullptr && !reopens_ && !needs_name && c.live_.empty() &&
            size_ == view_->size() && !look_for_array_ && !must_become_flat);
  if (empty_) return;
  changes_values_ = c.changes_values();
  if (kind_ != CommitKind::staged) is_announced_ = std::exchange(c.is_announced_, false);
  layer_ = &c.frozen_.emplace(kind_ == CommitKind::staged ? c.live_.split_off_first(kStagedAtOnce)
                                                          : c.live_.take_all());
  // A commit that changes no contents leaves the times as they are, too.
  c.stored_ = 0;
  if (!c.modified_) c.modified_ = modification_time(snapshot_->stamp());
  accessed_ = c.accessed_;
  modified_ = c.modified_;
  if (look_for_array_) c.representation_is_current_ = true;
}

ContentCommit::~ContentCommit() {
  recoder_.reset();
  keep_named_state();
  transaction_.reset();
  const bool is_abandoned = new_writer_ && !directory_to_sync_ && created_in_;
  new_writer_.reset();
  if (is_abandoned) remove_created();
  Content& c = *content_;
  if (!empty_ && !finished_) {
    const WriteLock lock(c.mutex_);
    c.frozen_->merge(c.live_);
    c.live_ = std::move(*c.frozen_);
    c.frozen_.reset();
    if (look_for_array_) c.representation_is_current_ = false;
    c.stored_state_is_unknown_ |= is_named_ || (c.writer_ && c.writer_->is_broken());
    c.account_anew();
  }
}

/// A temporary that may have got its name already keeps the state that it was given it for.
void ContentCommit::keep_named_state() noexcept {
  if (!is_named_ || !is_temporary_durable_ || !transaction_) return;
  try {
    transaction_->finish();
  } catch (const std::exception& error) {
    log::warn(error.what());
  }
}

void ContentCommit::remove_created() {
  try {
    created_in_->unlink(stored_as_);
  } catch (const std::system_error&) {
    // Then the next writable mount removes it.
  }
}

void ContentCommit::read(std::int64_t offset, codec::MutableBytes out) const {
  Content::read_committed(view_, layer_->lower_end, offset, out);
  layer_->apply(offset, out);
}

std::vector<std::uint8_t> ContentCommit::read_start(std::size_t size) const {
  std::vector<std::uint8_t> bytes(std::min(size, static_cast<std::size_t>(size_)));
  read(0, bytes);
  return bytes;
}

// --- representation

std::optional<frame::FrameSettings> ContentCommit::as_array() const {
  if (view_ != nullptr && view_->missing()) return std::nullopt;
  // One more says that it is an array.
  if (kept_metalayers().size() >= static_cast<std::size_t>(frame::kMaxMetalayers))
    return std::nullopt;
  auto frame = array_frame_of(content_->services_.options, size_,
                              [this](std::size_t size) { return read_start(size); });
  if (frame) {
    const auto chunks = frame::array_chunk_count(*frame->array, frame->typesize);
    if (!chunks || !can_be_rewritten(*chunks, content_->services_.cache.capacity()))
      return std::nullopt;
  }
  return frame;
}

bool ContentCommit::takes_long() const {
  if (view_ == nullptr) return false;
  return new_frame_ ? view_->size() > kLongRewrite : snapshot_->info().nchunks > kLongIndex;
}

bool ContentCommit::keeps_array() const {
  const ViewShape& shape = view_->shape();
  if (shape.file_size() != size_) return content_->services_.raw;
  return read_start(shape.header.size()) == shape.header;
}

bool ContentCommit::can_edit() const {
  if (view_ == nullptr || !content_->writer_) return false;
  const bool has_changes = layer_->has_contents() || size_ != view_->size();
  if (has_changes && !can_be_changed_in_part(snapshot_->info())) return false;
  const ViewShape& shape = view_->shape();
  if (shape.is_array || shape.blocked) return keeps_array();
  return !snapshot_->info().variable_chunks || size_ == view_->size();
}

bool ContentCommit::can_be_array() const {
  return Attempts::run([&] { return !content_->home_->lock_name()->names().array.empty(); });
}

void ContentCommit::choose(const StoredPlace& place) {
  new_frame_.reset();
  const bool is_array = view_ != nullptr && view_->shape().is_array;
  const bool raw = content_->services_.raw;
  const bool is_other_array = is_array && look_for_array_ && !keeps_array();
  if ((!is_array || is_other_array) && look_for_array_ && !place.has_links && !raw &&
      can_be_array())
    new_frame_ = as_array();
  is_array_ = new_frame_.has_value();
  if (new_frame_) return;
  if (can_edit() && (!is_array || (!held_flat_ && (raw || can_be_array())))) return;
  if (place.has_links)
    frame::throw_errno(EOPNOTSUPP, place.name + ": has other names, so that it stays an array");
  new_frame_ = new_flat_frame(content_->services_.options, read_start(kSampleSize));
}

// --- steps

void ContentCommit::write() {
  if (kind_ != CommitKind::staged && changes_values_ && !is_announced_)
    frame::throw_errno(EAGAIN, "values changed meanwhile");
  content_->wait_for_peers();
  Content::at_place(*content_->home_, [this](const StoredPlace& place) { prepare(place); });
  transaction_ = new_writer_ ? new_writer_->begin() : content_->writer_->begin();
  if (new_writer_ && snapshot_) copy_vlmetalayers();
  fill();
  change_metalayers();
  transaction_->set_times({accessed_.value_or(kUnchangedTime), *modified_});
  if (kind_ == CommitKind::alone) transaction_->begin_flush();
  {
    // An empty frame may need a new file beside it, of which its directory's times must not tell.
    const auto name_lock = size_ == 0 && !new_writer_ ? content_->home_->lock_name() : nullptr;
    transaction_->write();
  }
  if (!was_staged_ || new_writer_) return;
  // Nobody sees the temporary before it is renamed, so its header needs no flush of its own.
  // Another file may take its place, but not another one for the tree.
  transaction_->flushed();
  const auto name_lock = content_->home_->lock_name();
  published_ = transaction_->publish();
  name_lock->refresh(published_);
  is_temporary_ready_ = true;
}

void ContentCommit::prepare(const StoredPlace& place) {
  if (reopens_ && !place.is_unlinked && (was_staged_ || !place.is_temporary)) reopen(place);
  content_->commit_mutex_.assert_held();
  content_->need_writer(place);
  choose(place);
  if (kind_ == CommitKind::grouped && takes_long()) throw LongCommit(place.name);
  if (new_frame_)
    create(place);
  else
    content_->writer_->moved(place.directory, place.name);
}

void ContentCommit::change_metalayers() {
  for (const auto& [layer, value] : layer_->metalayers) {
    if (layer.kind == LayerKind::variable) {
      if (value)
        transaction_->set_vlmetalayer(layer.name, *value);
      else
        transaction_->remove_vlmetalayer(layer.name);
    } else if (!new_writer_) {
      if (value)
        transaction_->set_metalayer(layer.name, *value);
      else
        transaction_->remove_metalayer(layer.name);
    }
  }
  if (changes_values_ && snapshot_ && !new_writer_) mark_array_indexes(*snapshot_, *transaction_);
}

void ContentCommit::stage() {
  write();
  flushed();
  if (!is_temporary_ready_) {
    published_ = transaction_->publish();
    flushed();
  }
  content_->home_->lock_name()->refresh(published_);
  finish();
}

void ContentCommit::reopen(const StoredPlace& place) {
  Content& c = *content_;
  c.writer_ = c.open_writer(place, place.is_sparse, nullptr);
  const WriteLock alone(c.reading_);
  const WriteLock lock(c.mutex_);
  c.id_ = c.services_.next_id++;
  c.set_view(c.writer_->snapshot());
  view_ = c.view_.get();
  snapshot_ = c.snapshot_;
  was_staged_ = place.is_temporary;
}

void ContentCommit::create(const StoredPlace& chosen) {
  new_frame_->metalayers = kept_metalayers();
  new_frame_->mode = 0600;  // until it has the owner of what it replaces
  // For the mount its directory does not change.
  const auto name_lock = content_->home_->lock_name();
  const StoredPlace& place = name_lock->place();
  if (place.name != chosen.name || place.is_unlinked != chosen.is_unlinked)
    frame::throw_errno(ESTALE, chosen.name);
  stored_as_ = frame::temporary_name();
  const frame::WriterSettings settings{content_->services_.options.locking};
  if (place.is_temporary && !place.is_unlinked && !was_staged_) {
    stored_as_ = place.name;
    auto file = place.directory->open(stored_as_);
    if (place.meant && !(frame::id_of(file->stamp()) == *place.meant))
      frame::throw_errno(ESTALE, stored_as_);
    new_writer_ =
        frame::create_cframe(place.directory, stored_as_, *new_frame_, settings, std::move(file));
  } else {
    new_writer_ = frame::create_cframe(place.directory, stored_as_, *new_frame_, settings);
    if (!place.is_unlinked) created_in_ = place.directory;
  }
  if (place.is_unlinked) place.directory->unlink(stored_as_);
}

std::vector<frame::Metalayer> ContentCommit::kept_metalayers() const {
  std::vector<frame::Metalayer> kept;
  std::uint64_t size = 0;
  if (snapshot_) {
    for (const auto& entry : snapshot_->metalayers()) {
      if (frame::says_what_it_is(entry.name) || changed_metalayer({LayerKind::fixed, entry.name}))
        continue;
      if ((size += entry.stored_size) > kMostKeptMetalayers)
        frame::throw_errno(EFBIG, "fixed metalayers of more than 4 MiB");
      kept.push_back({entry.name, snapshot_->read_metalayer(entry)});
    }
  }
  for (const auto& [layer, value] : layer_->metalayers)
    if (layer.kind == LayerKind::fixed && value) kept.push_back({layer.name, *value});
  return kept;
}

bool ContentCommit::changed_metalayer(const LayerName& name) const {
  return layer_->metalayers.count(name) != 0;
}

void ContentCommit::copy_vlmetalayers() {
  for (const auto& entry : snapshot_->vlmetalayers()) {
    if (entry.name == frame::kChecksumLayerName || tells_of_values(entry.name) ||
        changed_metalayer({LayerKind::variable, entry.name}))
      continue;
    transaction_->copy_vlmetalayer(*snapshot_, entry);
  }
}

void ContentCommit::flush() {
  if (directory_to_sync_) directory_to_sync_->sync();
  if (directory_to_sync_ && new_writer_) return flushed();
  if (!is_temporary_durable_) transaction_->flush();
  is_temporary_durable_ = is_temporary_ready_;
}

void ContentCommit::flushed() {
  if (!is_temporary_durable_) transaction_->flushed();
  is_temporary_durable_ = is_temporary_ready_;
}

std::unique_ptr<ContentHome::NameLock> ContentCommit::lock_to_publish() {
  return Attempts::run([&] {
    auto name_lock = content_->home_->lock_name();
    name_lock->before_replacing();
    const StoredPlace& place = name_lock->place();
    if (place.is_unlinked || (!new_writer_ && !place.is_temporary)) return name_lock;
    const RepresentationNames& names = name_lock->names();
    const std::string& name = is_array_ ? names.array : names.flat;
    if (!name.empty())
      name_lock->before_giving_name(name, is_array_ ? ShownAs::array : ShownAs::flat);
    return name_lock;
  });
}

void ContentCommit::publish() {
  const auto name_lock = lock_to_publish();
  const StoredPlace& place = name_lock->place();
  // What takes the place of another program's state would be all that is left of it.
  if (new_writer_ && snapshot_ && !place.is_unlinked && !snapshot_->is_as_taken())
    frame::throw_errno(ESTALE, place.name);
  if (new_writer_ && snapshot_ && !place.is_unlinked)
    new_writer_->set_attributes(content_->writer_->attributes());
  frame::FrameWriter& writer = new_writer_ ? *new_writer_ : *content_->writer_;
  // It may have been renamed since write().
  if (!new_writer_ || (!created_in_ && !place.is_unlinked))
    writer.moved(place.directory, stored_as_ = place.name);
  else if (!place.is_unlinked && !place.directory->stamp(stored_as_))
    frame::throw_errno(EAGAIN, place.name + ": moved meanwhile");
  if (!is_temporary_ready_) published_ = transaction_->publish();
  if (place.is_unlinked) {
    // Removed since write(): what was to take its place goes on without a name, too.
    if (created_in_) remove_created();
    return;
  }
  // The frame may have been replaced by rename; the tree must not take that for another file.
  if (!new_writer_ && !place.is_temporary) {
    if (reopens_) directory_to_sync_ = place.directory;
    // What was committed to a file that another program has replaced meanwhile is nowhere.
    if (!name_lock->refresh(published_)) frame::throw_errno(ESTALE, place.name);
    return;
  }
  const RepresentationNames& names = name_lock->names();
  if (is_array_ && names.array.empty())
    frame::throw_errno(EAGAIN, place.name + ": renamed meanwhile");
  const std::string name = is_array_ ? names.array : names.flat;
  // For a new file that is another program's doing, who has got the name meanwhile.
  if (name.empty()) frame::throw_errno(place.is_temporary ? ESTALE : EEXIST, place.name);
  is_named_ = true;
  const bool was_temporary = place.is_temporary;
  writer.moved(
      place.directory,
      name_lock->give_name(
          stored_as_, frame::id_of(published_), name, is_array_ ? ShownAs::array : ShownAs::flat,
          [this, was_temporary] { return snapshot_ ? snapshot_->is_as_taken() : was_temporary; }));
  directory_to_sync_ = place.directory;
}

void ContentCommit::finish() {
  Content& c = *content_;
  const RequestUser on_whose_account(c.user());
  const auto snapshot = transaction_->finish();
  // Another program may have changed it by now: then that is not ours to finish.
  const bool is_ours = snapshot->is_as_taken();
  transaction_.reset();
  if (new_writer_) c.writer_ = std::move(new_writer_);
  std::unique_ptr<frame::FrameWriter> idle;  // destroyed behind the locks
  const WriteLock alone(c.reading_);
  const WriteLock lock(c.mutex_);
  // Blocks of chunks that are gone would be taken for those of chunks that came after them, and
  // chunks would be looked for where they were in a file that another one has replaced.
  const bool is_moved = snapshot_ && !snapshot->info().is_directory() &&
                        snapshot->stamp().inode != snapshot_->stamp().inode;
  const auto forget = [&](std::int64_t chunk) { return view_->reader().forget_chunk(chunk); };
  if (new_frame_ || drops_chunks_ || is_moved ||
      !std::all_of(changed_chunks_.begin(), changed_chunks_.end(), forget))
    c.id_ = c.services_.next_id++;
  c.set_view(snapshot);
  c.frozen_.reset();
  if (!is_ours && !c.live_.has_contents()) c.size_ = c.view_->size();
  c.stored_state_is_unknown_ = false;
  c.account_anew();
  if (kind_ != CommitKind::staged) c.is_new_ = false;
  // Who only reads has no share of its descriptors.
  if (c.writers_ == 0 && c.held_flat_ == 0 && !c.has_uncommitted()) idle = std::move(c.writer_);
  finished_ = true;
}

void ContentCommit::put(std::span<const RecodedChunk> run) {
  for (const RecodedChunk& chunk : run) changed_chunks_.push_back(chunk.number);
  put_recoded(*transaction_, run);
  // Only what is taken in small steps: its memory is not free before the commit ends.
  if (kind_ != CommitKind::staged) return;
  std::size_t nbytes = 0;
  for (const RecodedChunk& chunk : run) nbytes += chunk.nbytes;
  content_->count_stored(nbytes);
}

}  // namespace bloscfs::fs
