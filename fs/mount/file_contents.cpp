#include "fs/mount/file_contents.hpp"

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/header/frame_limits.hpp"
#include "frame/header/metalayer_writer.hpp"
#include "frame/store/lock_patience.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/support/lock_breaks.hpp"
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

void FileContents::set_source(Source& source) {
  source_ = &source;
  container_services_.emplace(ContainerServices{source, *this, committer_, reading_});
}

// --- open files

std::shared_ptr<FileHandle> FileContents::open(NodeId node,
                                               const std::shared_ptr<const OpenContainer>& file,
                                               int flags) {
  if ((flags & O_ACCMODE) != O_RDONLY) return open_for_writing(node, file, flags);
  return std::make_shared<ContainerHandle>(*container_services_, node, flags, file);
}

std::shared_ptr<FileHandle> FileContents::open_for_writing(
    NodeId node, const std::shared_ptr<const OpenContainer>& file, int flags) {
  auto handle = std::make_shared<ContainerWriter>(*container_services_, node, flags, file);
  require_changeable(node, *file->content);
  handle->begin(source_->home(node));
  try {
    // The node may have given way to another one meanwhile.
    if (source_->opened(node) != file) frame::throw_errno(ESTALE, "changed by another program");
    if ((flags & O_TRUNC) != 0) handle->truncate(0);
  } catch (...) {
    handle->close();
    throw;
  }
  return handle;
}

void FileContents::require_changeable(NodeId node, const Content& content) {
  try {
    content.require_changeable(*source_->home(node));
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::read_only_file_system ||
        dynamic_cast<const codec::Error*>(&error) != nullptr)
      reading_.log_bad_data(source_->told_path(node), error);
    throw;
  }
}

std::shared_ptr<const OpenContainer> FileContents::open_to_change(NodeId node) {
  auto file = source_->open_container(node, true);
  file->content->make_writable(source_->home(node));
  return file;
}

void FileContents::changed(const std::shared_ptr<const OpenContainer>& file,
                           FairShare::Part descriptors) {
  committer_.note(file->content, file);
  if (!file->content->has_writers())
    committer_.queue(file->content, committer_.commits_at_close(), std::move(descriptors));
}

// --- other programs' changes

void FileContents::follow(NodeId node) {
  const auto file = source_->opened(node);
  // Others may have changed the file's mode, or linked it.
  if (!file || source_->confirm(node, *file)) return;
  // Waits for a commit that is under way: else two contents would be of one name.
  if (go_on(file->content)) return;
  // Nobody writes to what cannot follow: who has it open keeps its snapshot.
  if (file->content->is_overtaken() && !file->leads()) source_->retire(node, *file);
}

void FileContents::try_follow(NodeId node) {
  if (const auto file = source_->opened(node); file && file->content->has_just_failed_to_follow())
    return;
  try {
    follow(node);
  } catch (const std::exception& error) {
    reading_.log.error(
        fmt::format("{}: changed by another program: {}", source_->told_path(node), error.what()));
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

// --- changes

void FileContents::created(NodeId node, const struct stat& shown) {
  const auto file = std::make_shared<const OpenContainer>(
      shown, std::make_shared<Content>(services_, shown.st_mtim));
  file->content->make_writable(source_->home(node));
  source_->set_opened(node, file);
  changed(file, {});
}

void FileContents::change(NodeId node, FairShare::Part descriptors, const Change& change) {
  for (int tries = 1;; tries++) {
    const auto file = open_to_change(node);
    const std::uint64_t epoch = file->content->epoch();
    try {
      change(file);
      changed(file, std::move(descriptors));
      // No close will tell of an error.
      if (source_->is_space_scarce() && file->content->needs_commit())
        commit_briefly({file->content});
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
    if (const auto file = source_->opened(node); file && file->content->needs_commit())
      contents.push_back(file->content);
  if (!contents.empty()) TurnAtNeed::need();
  commit_briefly(contents);
}

/// For a request that has no turn.
void FileContents::commit_briefly(const Committer::Contents& contents) {
  const frame::CountedPatience counted;
  const frame::LockPatience patience(counted.time());
  committer_.commit(contents);
}

std::shared_ptr<void> FileContents::hold_flat(NodeId node) {
  TurnAtNeed::need();
  const auto file = open_to_change(node);
  file->content->hold_flat(true);
  std::shared_ptr<void> held(nullptr, [this, file](void*) {
    file->content->hold_flat(false);
    if (file->content->needs_commit()) changed(file, {});
  });
  committer_.note(file->content, file);
  commit_briefly({file->content});
  return held;
}

void FileContents::represent_anew(NodeId node) {
  auto descriptors = source_->take_descriptors_at_once();
  const bool is_beyond_share = !descriptors;
  const auto file = open_to_change(node);
  file->content->look_again();
  if (!file->content->needs_commit()) return;
  changed(file, std::move(descriptors));
  // The name is there already, so that there is nothing to refuse.
  if (is_beyond_share && !file->content->has_writers()) committer_.queue(file->content, true);
}

void FileContents::removed(const std::shared_ptr<const OpenContainer>& file,
                           const std::function<bool()>& has_name) {
  if (!file) return;
  file->content->orphan();
  if (has_name()) return file->content->end_orphanhood();
  if (!file->content->has_writers()) committer_.drop(*file->content);
}

void FileContents::resize(NodeId node, std::int64_t size) {
  require_changeable(node, *source_->open_container(node, false)->content);
  change(node, source_->take_descriptors(),
         [&](const std::shared_ptr<const OpenContainer>& file) { file->content->resize(size); });
}

bool FileContents::set_times(NodeId node, const timespec& accessed, const timespec& modified) {
  const auto file = source_->opened(node);
  if (!file) return false;
  try {
    // Readers would take new times for a change by somebody else. Those of a removed file are in
    // its content alone.
    if (!file->content->is_orphan()) file->content->make_writable(source_->home(node));
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

void FileContents::set_metalayer(NodeId node, const LayerName& name, const LayerChange& content,
                                 int flags) {
  frame::check_layer_name(name.name);
  // A header is written anew by a new file, which would leave other names behind.
  if (name.kind == LayerKind::fixed && source_->home(node)->place_now().has_links)
    frame::throw_errno(EOPNOTSUPP, name.name);
  std::shared_ptr<Content> changed;
  change(node, source_->take_descriptors(), [&](const std::shared_ptr<const OpenContainer>& file) {
    changed = file->content;
    if (content) changed->require_room();
    metalayers_.put(*changed, name, content, flags);
  });
  // No request waits for room with a thread: this one makes the room that it takes.
  if (content && !services_.budget.has_room(changed->user())) commit_briefly({changed});
}

}  // namespace bloscfs::fs
