#include "fs/mount/file_contents.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "frame/header/cframe_format.hpp"
#include "frame/header/frame_limits.hpp"
#include "frame/header/metalayer_writer.hpp"
#include "frame/store/lock_patience.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/encoding/plain_to_frame.hpp"
#include "fs/mount/stale_retries.hpp"
#include "fs/support/lock_breaks.hpp"
#include "fs/support/log.hpp"
#include "fs/support/turns.hpp"

namespace bloscfs::fs {
namespace {

/// How often SOURCE may change under one change.
constexpr int kContentTries = 5;
/// How long another program may take to write a frame in place.
constexpr std::chrono::seconds kUnfinishedPatience{2};
constexpr std::chrono::milliseconds kLookAgain{10};
/// So many threads may wait for that: the others serve other files.
constexpr int kPatient = 4;

}  // namespace

std::shared_ptr<const OpenContainer> FileContents::open(NodeId node, const SourceEntry& entry) {
  if (auto file = tree_.opened_as<OpenContainer>(node)) return file;
  const SourcePath path = tree_.path(node);
  const struct stat shown = tree_.attributes_of(entry);
  std::shared_ptr<const frame::Snapshot> snapshot;
  try {
    snapshot = classifier_.open(path, entry);
  } catch (const std::system_error& error) {
    // It has been renamed meanwhile, or a directory above it has.
    if (error.code() != std::errc::no_such_file_or_directory) throw;
  }
  if (!snapshot || !(snapshot->stamp() == frame::stamp_of(entry.content_stat)))
    frame::throw_errno(ESTALE, path.text());
  auto content = std::make_shared<Content>(services_, std::move(snapshot));
  return tree_.share_opened(node, std::make_shared<const OpenContainer>(shown, std::move(content)),
                            entry);
}

std::shared_ptr<const OpenContainer> FileContents::open(NodeId node) {
  return retrying_stale([&] { return open(node, tree_.entry(node)); });
}

std::shared_ptr<const OpenContainer> FileContents::open_for_writing(
    NodeId node, std::shared_ptr<ContentHome> home) {
  auto file = open(node, tree_.entry(node));
  file->content->make_writable(std::move(home));
  return file;
}

void FileContents::created(NodeId node, std::shared_ptr<ContentHome> home,
                           const struct stat& file_status) {
  const auto file = std::make_shared<const OpenContainer>(
      tree_.owned(file_status), std::make_shared<Content>(services_, file_status.st_mtim));
  file->content->make_writable(std::move(home));
  tree_.set_opened(node, file);
  changed(file, {});
}

void FileContents::follow(NodeId node) {
  const auto file = tree_.opened_as<OpenContainer>(node);
  if (!file) return;
  const auto state = tree_.state_in_source(node);
  // Others may have changed the file's mode, or linked it.
  if (file->content->is_current()) {
    if (state) tree_.confirm_state(node, *state);  // unless a commit has ended meanwhile
    return;
  }
  // Waits for a commit that is under way: else two contents would be of one name.
  if (go_on(file->content)) return;
  // Nobody writes to what cannot follow: who has it open keeps its snapshot.
  if (file->content->is_overtaken() && !file->leads()) tree_.retire_opened(node, *file);
}

void FileContents::try_follow(NodeId node) {
  if (const auto file = tree_.opened_as<OpenContainer>(node);
      file && file->content->has_just_failed_to_follow())
    return;
  try {
    follow(node);
  } catch (const std::exception& error) {
    std::string message =
        fmt::format("{}: changed by another program: {}", tree_.told_path(node), error.what());
    const MutexLock lock(told_mutex_);
    if (message == told_) return;
    log::error(message);
    told_ = std::move(message);
  }
}

bool FileContents::go_on(const std::shared_ptr<Content>& content, IfBeingWritten unfinished) {
  if (unfinished == IfBeingWritten::fail) return content->follow_source();
  const auto patience = services_.clock.now() + kUnfinishedPatience;
  const int others = waiting_++;
  const std::shared_ptr<void> counted(nullptr, [this](void*) { waiting_--; });
  for (;;) {
    try {
      return content->follow_source();
    } catch (const BeingWritten&) {
      if (others >= kPatient || services_.clock.now() > patience) throw;
    }
    TurnAtNeed::need();
    std::this_thread::sleep_for(kLookAgain);
  }
}

bool FileContents::has_gone_on(const std::shared_ptr<Content>& content, std::uint64_t epoch) {
  return go_on(content) || content->epoch() != epoch;
}

template <typename Change>
void FileContents::change(NodeId node, const std::shared_ptr<ContentHome>& home,
                          FairShare::Part descriptors, const Change& change) {
  for (int tries = 1;; tries++) {
    const auto file = open_for_writing(node, home);
    const std::uint64_t epoch = file->content->epoch();
    try {
      change(file);
      changed(file, std::move(descriptors));
      // No close will tell of an error.
      if (space_.is_scarce() && file->content->needs_commit()) commit_briefly({file->content});
      return;
    } catch (const std::system_error& error) {
      if (error.code() != std::errc(ESTALE) || tries == kContentTries) throw;
      if (!has_gone_on(file->content, epoch)) throw;
    }
  }
}

void FileContents::commit(const std::vector<NodeId>& nodes) {
  Committer::Contents contents;
  for (const NodeId node : nodes)
    if (const auto file = tree_.opened_as<OpenContainer>(node);
        file && file->content->needs_commit())
      contents.push_back(file->content);
  if (!contents.empty()) TurnAtNeed::need();
  commit_briefly(contents);
}

void FileContents::commit_briefly(const Committer::Contents& contents) {
  const frame::CountedPatience counted;
  const frame::LockPatience patience(counted.time());
  committer_.commit(contents);
}

std::shared_ptr<void> FileContents::hold_flat(NodeId node, std::shared_ptr<ContentHome> home) {
  TurnAtNeed::need();
  const auto file = open_for_writing(node, std::move(home));
  file->content->hold_flat(true);
  std::shared_ptr<void> held(nullptr, [this, file](void*) {
    file->content->hold_flat(false);
    if (file->content->needs_commit()) changed(file, {});
  });
  committer_.note(file->content, file);
  commit_briefly({file->content});
  return held;
}

void FileContents::renamed(NodeId node, std::shared_ptr<ContentHome> home) {
  bool has_links = false, can_be_array = false;
  Attempts::run([&] {
    const auto name_lock = home->lock_name();
    has_links = name_lock->place().has_links;
    can_be_array = !name_lock->names().array.empty();
  });
  auto file = tree_.opened_as<OpenContainer>(node);
  const SourceEntry entry = tree_.entry(node);
  const bool fits = has_links || (entry.shown == ShownAs::array) == can_be_array;
  if (entry.is_read_only || (!file && fits)) return;
  auto descriptors = descriptors_.take_at_once(DescriptorShares::kOfWriter);
  const bool is_beyond_share = !descriptors;
  file = open_for_writing(node, std::move(home));
  file->content->look_again();
  if (!file->content->needs_commit()) return;
  changed(file, std::move(descriptors));
  // The name is there already, so that there is nothing to refuse.
  if (is_beyond_share && !file->content->has_writers()) committer_.queue(file->content, true);
}

void FileContents::removed(NodeId node) {
  const auto file = tree_.opened_as<OpenContainer>(node);
  if (!file) return;
  file->content->orphan();
  // Found by another of its names meanwhile.
  if (tree_.has_name(node)) return file->content->end_orphanhood();
  if (!file->content->has_writers()) committer_.drop(*file->content);
}

void FileContents::resize(NodeId node, std::shared_ptr<ContentHome> home, std::int64_t size) {
  change(node, home, descriptors_.take(DescriptorShares::kOfWriter),
         [&](const std::shared_ptr<const OpenContainer>& file) { file->content->resize(size); });
}

bool FileContents::set_times(NodeId node, std::shared_ptr<ContentHome> home,
                             const timespec& accessed, const timespec& modified) {
  const auto file = tree_.opened_as<OpenContainer>(node);
  if (!file) return false;
  try {
    // Readers would take new times for a change by somebody else. Those of a removed file are in
    // its content alone.
    if (!file->content->is_orphan()) file->content->make_writable(home);
  } catch (const std::system_error&) {
    return false;
  }
  for (int tries = 1;; tries++) {
    const std::uint64_t epoch = file->content->epoch();
    try {
      return file->content->set_times(accessed, modified);
    } catch (const std::system_error& error) {
      if (error.code() != std::errc(ESTALE) || tries == kContentTries) throw;
      if (!has_gone_on(file->content, epoch)) throw;
    }
  }
}

void FileContents::keep_through(NodeId node, const std::function<void()>& change) {
  const auto file = tree_.opened_as<OpenContainer>(node);
  const auto snapshot = file ? file->content->snapshot() : nullptr;
  if (!snapshot) return change();
  snapshot->keep_through(change);
}

void FileContents::set_metalayer(NodeId node, std::shared_ptr<ContentHome> home,
                                 const LayerName& name, LayerChange content, int flags) {
  frame::check_layer_name(name.name);
  // A header is written anew by a new file, which would leave other names behind.
  if (name.kind == LayerKind::fixed && home->place_now().has_links)
    frame::throw_errno(EOPNOTSUPP, name.name);
  auto descriptors = descriptors_.take(DescriptorShares::kOfWriter);
  std::shared_ptr<Content> changed;
  change(node, home, std::move(descriptors), [&](const std::shared_ptr<const OpenContainer>& file) {
    changed = file->content;
    if (content) changed->require_room();
    metalayers_.put(*changed, name, content, flags);
  });
  // No request waits for room with a thread: this one makes the room that it takes.
  if (content && !services_.budget.has_room(changed->user())) commit_briefly({changed});
}

void FileContents::store_bytes_as_frame(ContentHome& home) {
  const StoredPlace place = home.place_now();
  if (place.is_unlinked || place.has_links) return;
  const auto source = place.directory->open(place.name);
  const frame::FileStamp stamp = source->stamp();
  if (frame::id_of(stamp) != place.meant) return;
  const StoredFrame made = store_as_frame(SourceBytes(*source), place.directory, services_.options,
                                          services_.cache, services_.pool);
  try {
    made.writer->set_attributes(source->attributes());
    const frame::FileId made_id = frame::id_of(made.writer->stamp());
    std::string name, given;
    Attempts::run([&] {
      const auto name_lock = home.lock_name();
      name = name_lock->names().flat;
      if (name_lock->place().meant != place.meant || name.empty())
        frame::throw_errno(ESTALE, place.name + ": renamed or replaced meanwhile");
      name_lock->before_replacing();
      name_lock->before_giving_name(name, ShownAs::flat);
      given = name_lock->give_name(made.name, made_id, name, ShownAs::flat,
                                   [&] { return source->stamp() == stamp; });
    });
    if (given != name) Attempts::run([&] { home.lock_name()->take_own_name(made_id, name); });
  } catch (...) {
    if (place.directory->stamp(made.name)) place.directory->unlink(made.name);
    throw;
  }
}

}  // namespace bloscfs::fs
