#include "fs/commit/content_commit.hpp"

#include <cerrno>
#include <stdexcept>
#include <utility>

#include <fmt/core.h>

#include "frame/store/throw_errno.hpp"
#include "fs/commit/representation_facts.hpp"
#include "fs/content/at_place.hpp"
#include "fs/encoding/stale_indexes.hpp"
#include "fs/encoding/stored_metalayers.hpp"
#include "fs/support/log.hpp"
#include "fs/support/timestamps.hpp"

namespace bloscfs::fs {
namespace {

/// A larger commit is made alone, since the other commits of its batch would wait for it. The
/// limits are the bytes that are stored anew, and the entries of an index that is edited.
constexpr std::int64_t kLongRewrite = std::int64_t{64} << 20;
constexpr std::int64_t kLongIndex = std::int64_t{8} << 20;

}  // namespace

ContentCommit::ContentCommit(std::shared_ptr<Content> content, CommitKind kind)
    : kind_(kind),
      request_(content->user()),
      frozen_(Content::freeze(std::move(content),
                              kind == CommitKind::staged ? Freeze::first_part : Freeze::all)) {}

ContentCommit::~ContentCommit() {
  keep_named_state();
  // The file got its name, or may have got it, but the flush of the name did not succeed. A power
  // cut may leave the old or the new state, so the next commit opens the file again.
  if (given_ && state_ != State::finished) frozen_.mark_stored_state_unknown();
}

/// Finishes the transaction of a temporary that may have got its name, so that the file keeps the
/// new state.
void ContentCommit::keep_named_state() noexcept {
  if (!given_ || !written_.temporary || !written_.transaction) return;
  try {
    written_.transaction->finish();
  } catch (const std::exception& error) {
    log::warn(request_.user(), fmt::format("{}: its temporary file cannot be finished: {}",
                                           content()->path(), error.what()));
  }
}

void ContentCommit::expect(State state) const {
  if (state_ != state) throw std::logic_error("a commit's steps out of order");
}

Next ContentCommit::begun() const {
  if (!frozen_.has_lock()) return Next::wait_for_thread;
  return frozen_.empty() ? Next::nothing : Next::proceed;
}

Next ContentCommit::write() {
  expect(State::begun);
  const Content::Frozen::Facts& facts = frozen_.facts();
  if (const frame::Snapshot* const known = frozen_.bytes().snapshot())
    wait_for_peers(request_, *known);
  // If the file is renamed before prepare() has opened it, at_place() calls prepare() again.
  Next next = Next::proceed;
  at_place(request_, frozen_.home(), [&](const StoredPlace& place) { next = prepare(place); });
  if (next != Next::proceed) return next;
  if (frozen_.bytes().size == 0 && !new_container_) frozen_.prepare_to_empty(request_);
  written_.transaction = writer().begin();
  frame::Transaction& transaction = *written_.transaction;
  const frame::Snapshot* const before = frozen_.bytes().snapshot();
  // A new container has only what is put into it: chunks by fill(), fixed metalayers by create(),
  // metalayers of variable length here.
  if (new_container_ && before != nullptr)
    copy_vlmetalayers(*before, frozen_.bytes().layer->metalayers, transaction);
  written_.chunks = fill(transaction);
  change_metalayers(transaction);
  transaction.set_times({facts.accessed.value_or(kUnchangedTime), facts.modified});
  // All chunks are put. Starts writing them to the disk while the index and the trailer are made. A
  // batch flushes later, as a whole.
  if (kind_ == CommitKind::alone) transaction.begin_flush();
  write_transaction(transaction);
  state_ = State::written;
  return facts.is_staged && !new_container_ ? publish_temporary() : Next::proceed;
}

Next ContentCommit::prepare(const StoredPlace& place) {
  const Content::Frozen::Facts& facts = frozen_.facts();
  // If an earlier commit failed so late that its state may be stored, read the file again. A file
  // without a name cannot be opened, and a temporary that was never staged holds no state.
  if (facts.is_unknown && !place.is_unlinked && (facts.is_staged || !place.is_temporary))
    frozen_.reopen(request_, place);
  frozen_.ensure_writer(place);
  new_container_.reset();
  Representation chosen = choose_representation(representation_facts(request_, frozen_, place));
  if (kind_ == CommitKind::grouped && takes_long(chosen)) return Next::retry_alone;
  if (auto* const array = std::get_if<NewArray>(&chosen))
    create(std::move(array->settings), ShownAs::array, place);
  else if (auto* const flat = std::get_if<NewFlat>(&chosen))
    create(std::move(flat->settings), ShownAs::flat, place);
  else
    frozen_.writer()->moved(place.directory, place.name);
  return Next::proceed;
}

bool ContentCommit::takes_long(const Representation& chosen) const {
  const FileView* const view = frozen_.bytes().view;
  if (view == nullptr) return false;
  const bool is_edit = std::holds_alternative<EditInPlace>(chosen);
  return is_edit ? view->reader().snapshot().info().nchunks > kLongIndex
                 : view->size() > kLongRewrite;
}

void ContentCommit::create(frame::FrameSettings settings, ShownAs shown,
                           const StoredPlace& chosen) {
  settings.metalayers =
      fixed_metalayers(frozen_.bytes().snapshot(), frozen_.bytes().layer->metalayers);
  using Where = NewContainer::Where;
  settings.mode = 0600;  // until it gets the owner of the file that it replaces
  const auto make = [&](const StoredPlace& place, Where where, const std::string& name) {
    new_container_.emplace(settings, shown, place, where, name,
                           writer_settings(place, frozen_.services()));
  };
  // A new file's own, empty temporary becomes the container. It moves along if the file is renamed,
  // so this needs no lock.
  if (chosen.is_temporary && !chosen.is_shared && !chosen.is_unlinked && !frozen_.facts().is_staged)
    return make(chosen, Where::own_temporary, {});
  // Creating a file changes the times of its directory. The lock hides that from the mount's users.
  const auto name_lock = frozen_.home().lock_name(request_);
  const StoredPlace& place = name_lock->place();
  // The file was renamed after the representation was chosen. An array suits t.npy, but not t.
  // at_place() calls prepare() again.
  if (place.name != chosen.name || place.is_unlinked != chosen.is_unlinked)
    frame::throw_errno(ESTALE, chosen.name);
  Where where = Where::new_temporary;
  std::string name;
  if (place.is_shared) {
    if (place.is_unlinked) frame::throw_errno(ESTALE, place.name);
    where = Where::by_name;
    name = shown == ShownAs::array ? name_lock->names().array : name_lock->names().flat;
    // The first flush stores the chunks under that name already.
    name_lock->before_giving_name(name, shown);
  } else if (place.is_unlinked) {
    where = Where::unnamed;
  }
  make(place, where, name);
}

FilledChunks ContentCommit::fill(frame::Transaction& transaction) {
  const ContentServices& services = frozen_.services();
  // Only for staging, which takes small steps: other commits free their memory only when they end.
  const auto on_chunk_put = [this](std::size_t nbytes) {
    if (kind_ == CommitKind::staged) frozen_.count_stored(nbytes);
  };
  ChunkFiller filler(request_, frozen_.bytes(), transaction,
                     {services.options, services.cache, services.pool}, on_chunk_put);
  return new_container_ ? filler.fill_new(transaction.info().array) : filler.edit();
}

void ContentCommit::change_metalayers(frame::Transaction& transaction) {
  const frame::Snapshot* const before = frozen_.bytes().snapshot();
  const LayerChanges& changes = frozen_.bytes().layer->metalayers;
  store_metalayers(changes, new_container_.has_value(), transaction);
  if (frozen_.facts().changes_values && before != nullptr && !new_container_)
    mark_array_indexes(*before, transaction);
}

void ContentCommit::write_transaction(frame::Transaction& transaction) {
  // An empty frame may need a new file next to it. The lock hides the change of the directory's
  // times.
  const auto name_lock =
      frozen_.bytes().size == 0 && !new_container_ ? frozen_.home().lock_name(request_) : nullptr;
  transaction.write();
}

/// Publishes the new state in the temporary in which the file is staged. No reader sees the
/// temporary before it is renamed, so its header needs no flush of its own. publish() may replace
/// the temporary by another file. refresh() tells the tree that this is the same object.
Next ContentCommit::publish_temporary() {
  written_.transaction->flushed();
  const auto name_lock = frozen_.home().lock_name(request_);
  if (!follow_rename(name_lock->place())) return Next::retry;
  written_.temporary = written_.transaction->publish();
  name_lock->refresh(*written_.temporary);
  return Next::proceed;
}

Next ContentCommit::stage() {
  if (const Next next = write(); next != Next::proceed) return next;
  // A staged file has a temporary's name or none, and a crash loses it anyway. So the header is
  // published at once, without a flush before.
  if (!written_.temporary)
    if (const Next next = publish_temporary(); next != Next::proceed) return next;
  written_.transaction->flushed();
  state_ = State::durable;
  return finish();
}

bool ContentCommit::is_first_flush() const {
  if (state_ == State::switched || state_ == State::named) return false;
  expect(State::written);
  return true;
}

Next ContentCommit::flush() {
  const bool is_first = is_first_flush();
  if (!is_first && given_) given_->directory->sync_name(given_->name);
  if (state_ != State::named) written_.transaction->flush();
  state_ = is_first ? State::flushed : State::durable;
  return Next::proceed;
}

Next ContentCommit::flushed() {
  const bool is_first = is_first_flush();
  if (state_ != State::named) written_.transaction->flushed();
  state_ = is_first ? State::flushed : State::durable;
  return Next::proceed;
}

std::unique_ptr<NameLock> ContentCommit::lock_to_publish() {
  using ChosenName = ContentHome::ChosenName;
  const auto choose = [this](NameLock& name_lock) -> std::optional<ChosenName> {
    const StoredPlace& place = name_lock.place();
    if (place.is_unlinked || (!new_container_ && !place.is_temporary)) return std::nullopt;
    // A state that another program has stored since the commit began must not be replaced. This
    // commit was based on the previous state, and would destroy the other program's.
    const frame::Snapshot* const before = frozen_.bytes().snapshot();
    if (new_container_ && before != nullptr && !before->is_unchanged_without_wait())
      frame::throw_errno(ESTALE, place.name);
    std::string name = name_to_give(name_lock);
    if (name.empty()) return std::nullopt;
    return ChosenName{std::move(name), shown()};
  };
  return frozen_.home().lock_to_replace(request_, choose);
}

Next ContentCommit::publish() {
  expect(State::flushed);
  const auto name_lock = lock_to_publish();
  const StoredPlace& place = name_lock->place();
  if (new_container_ && frozen_.bytes().snapshot() != nullptr && !place.is_unlinked &&
      !place.is_shared)
    new_container_->writer().set_attributes(frozen_.writer()->attributes());
  // Tell the frame layer the present name before it publishes: a frame that is written anew
  // replaces the file that has that name.
  const std::optional<std::string> stored_name = follow_rename(place);
  if (!stored_name) return Next::retry;
  const frame::FileStamp stamp =
      written_.temporary ? *written_.temporary : written_.transaction->publish();
  if (place.is_unlinked) {
    // The file was removed since write(). Its replacement goes on without a name, too.
    if (new_container_) new_container_->remove_name();
  } else if (!new_container_ && !place.is_temporary) {
    publish_in_place(*name_lock, stamp);
  } else if (const Next next = give_name(*name_lock, *stored_name, stamp); next != Next::proceed) {
    return next;
  }
  if (!new_container_ && !written_.temporary) {
    state_ = State::switched;
    return Next::proceed;
  }
  // The whole container was durable before it got its name, so only the directory needs a flush.
  // For a temporary, write() has already called flushed().
  if (new_container_) written_.transaction->flushed();
  state_ = State::named;
  return Next::proceed;
}

/// The file may have been renamed since write(). An edited container, and a new file's own
/// temporary, moved along with it. A new container next to the old file stayed where it was made,
/// and a rename(2) within that directory is to publish it.
std::optional<std::string> ContentCommit::follow_rename(const StoredPlace& place) {
  // In spite of its name, true for a container that does not move along with the file.
  const bool goes_along =
      new_container_ && (new_container_->is_in_new_temporary() || place.is_unlinked);
  if (!goes_along) {
    writer().moved(place.directory, place.name);
    if (!written_.temporary && !written_.transaction->can_publish()) return std::nullopt;
    return place.name;
  }
  if (!place.is_unlinked && !place.directory->stamp(new_container_->name())) return std::nullopt;
  return new_container_->name();
}

/// Tells the tree that this content has stored the new state. The commit may have replaced the
/// frame by rename(2), which the tree must not take for another program's file.
void ContentCommit::publish_in_place(NameLock& name_lock, const frame::FileStamp& stamp) {
  const StoredPlace& place = name_lock.place();
  // An earlier commit may have renamed the frame to this name without flushing the directory.
  if (frozen_.facts().is_unknown) given_ = {place.directory, place.name};
  // If another program has replaced the file, this commit went to a file that no reader finds. It
  // counts as failed, and the written data stays dirty.
  if (!name_lock.refresh(stamp)) frame::throw_errno(ESTALE, place.name);
}

std::string ContentCommit::name_to_give(NameLock& name_lock) const {
  if (new_container_ && name_lock.place().is_shared) return new_container_->name();
  return name_of(name_lock.names());
}

Next ContentCommit::give_name(NameLock& name_lock, const std::string& stored_name,
                              const frame::FileStamp& stamp) {
  const StoredPlace& place = name_lock.place();
  const std::string name = name_to_give(name_lock);
  // The file was renamed to a name that no array can have.
  if (name.empty() && shown() == ShownAs::array) return Next::retry;
  // For a new file: another program has taken the name.
  if (name.empty()) frame::throw_errno(place.is_temporary ? ESTALE : EEXIST, place.name);
  const frame::Snapshot* const before = frozen_.bytes().snapshot();
  const bool was_temporary = place.is_temporary;
  const auto is_unchanged = [&] {
    return before != nullptr ? before->is_unchanged_without_wait() : was_temporary;
  };
  // Set before the call: a rename that reports an error may have happened.
  given_ = {place.directory, name};
  const std::string given =
      name_lock.give_name(stored_name, frame::id_of(stamp), name, shown(), is_unchanged);
  writer().moved(place.directory, given);
  given_ = {place.directory, given};
  if (given != name) given_->own_name = {frame::id_of(stamp), name};
  if (new_container_) new_container_->keep();
  return Next::proceed;
}

/// Gives the file its own name, if give_name() has placed it under another one. Called before
/// readers use the new state, while the written data is still dirty. If another program replaces
/// the file before that, that program's file stays, and no written data is lost.
void ContentCommit::take_final_name() {
  const auto& [made, full_name] = *given_->own_name;
  const auto name_lock = frozen_.home().take_final_name(request_, made, full_name);
  const StoredPlace& place = name_lock->place();
  if (!place.is_unlinked) writer().moved(place.directory, place.name);
}

Next ContentCommit::finish() {
  expect(State::durable);
  if (given_ && given_->own_name) take_final_name();
  Content::Frozen::Stored stored;
  stored.snapshot = written_.transaction->finish();
  // Another program may have changed the file since it was published. The content adopts its own
  // state anyway, and then counts as overtaken.
  stored.is_current = stored.snapshot->is_unchanged_since_commit();
  if (stored.is_current && kind_ != CommitKind::staged) frozen_.home().committed(*stored.snapshot);
  stored.moves_chunks = written_.transaction->moves_chunks();
  written_.transaction.reset();
  if (new_container_) stored.writer = new_container_->take_writer();
  stored.changed_chunks = std::move(written_.chunks.numbers);
  stored.drops_chunks = written_.chunks.were_dropped;
  frozen_.adopt(request_, std::move(stored));
  if (kind_ != CommitKind::staged) frozen_.home().forget_attributes();
  state_ = State::finished;
  return Next::proceed;
}

}  // namespace bloscfs::fs
