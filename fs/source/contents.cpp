#include "fs/source/contents.hpp"

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/core.h>
#include <sys/xattr.h>

#include "codec/error.hpp"
#include "frame/header/frame_limits.hpp"
#include "frame/header/metalayer_writer.hpp"
#include "frame/store/throw_errno.hpp"
#include "frame/store/wait_context.hpp"
#include "fs/source/services.hpp"
#include "fs/source/source.hpp"

namespace bloscfs::fs {
namespace {

/// How often a change is tried when other programs keep changing the file.
constexpr int kContentTries = 5;
/// How long a request waits for another program that writes a frame in place.
constexpr std::chrono::seconds kUnfinishedTimeout{2};
/// How often a waiting request checks whether the other program has finished.
constexpr std::chrono::milliseconds kPollInterval{10};
/// At most this many threads wait for other programs to finish writing. The other threads can serve
/// other files.
constexpr int kMostWaiting = 4;

/// Returns the sizes of the uncommitted metalayers of one kind; nullopt for those to be removed.
frame::VlmetalayerSizes changed_sizes(const Content& content, LayerKind kind) {
  frame::VlmetalayerSizes sizes;
  for (const auto& [layer, value] : content.uncommitted_metalayers())
    if (layer.kind == kind)
      sizes[layer.name] = value ? std::optional<std::size_t>(value->size()) : std::nullopt;
  return sizes;
}

bool has_metalayer(const frame::Snapshot* snapshot, const frame::VlmetalayerSizes& changes,
                   const LayerName& layer) {
  if (const auto found = changes.find(layer.name); found != changes.end())
    return found->second.has_value();
  return snapshot != nullptr && find_layer(*snapshot, layer).has_value();
}

/// Throws unless a commit can store the metalayers of `snapshot` with these changes. Without this
/// check the commit would fail again and again.
void check_room(const frame::Snapshot* snapshot, const frame::VlmetalayerSizes& changes,
                LayerKind kind) {
  if (kind == LayerKind::variable) return frame::check_vlmetalayers(snapshot, changes);
  std::vector<frame::LayerSize> layers;
  if (snapshot != nullptr)
    for (const auto& entry : snapshot->metalayers())
      if (changes.count(entry.name) == 0) layers.push_back({entry.name, entry.stored_size});
  for (const auto& [name, size] : changes)
    if (size) layers.push_back({name, *size});
  frame::lay_out_header(layers);
}

}  // namespace

void Contents::require_changeable(Request& request, NodeId node, const Content& content) {
  try {
    content.require_changeable(request, *source_->home(node));
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::read_only_file_system ||
        dynamic_cast<const codec::Error*>(&error) != nullptr)
      services_.log_bad_data(request, source_->display_path(node), error);
    throw;
  }
}

std::shared_ptr<const OpenContainer> Contents::open_to_change(Request& request, NodeId node) {
  auto file = source_->open_container(request, node, true);
  file->content->make_writable(request, source_->home(node));
  return file;
}

void Contents::changed(const std::shared_ptr<const OpenContainer>& file,
                       FairShare::Part descriptors) {
  services_.committer.note(file->content, file);
  if (!file->content->has_writers())
    services_.committer.queue(file->content, services_.committer.commits_at_close(),
                              std::move(descriptors));
}

// --- other programs' changes

void Contents::follow(Request& request, NodeId node) {
  const auto file = source_->opened(node);
  // confirm() returns true if at most the file's mode or number of links has changed.
  if (!file || source_->confirm(node, *file)) return;
  // follow_stored_state() waits until a running commit of this content has ended. Otherwise two
  // contents would have one name.
  if (follow_stored_state(request, file->content)) return;
  // Only a content that was made writable can follow. Any other open file is detached from the
  // node: its handles keep their snapshot, and the next open reads the new state.
  if (file->content->is_overtaken() && !file->is_authoritative()) source_->retire(node, *file);
}

void Contents::try_follow(Request& request, NodeId node) {
  if (const auto file = source_->opened(node); file && file->content->follow_failed_recently())
    return;
  try {
    follow(request, node);
  } catch (const std::exception& error) {
    services_.log.error(request.user(), fmt::format("{}: changed by another program: {}",
                                                    source_->display_path(node), error.what()));
  }
}

FollowResult Contents::follow(Request& request, const std::shared_ptr<Content>& content,
                              IfBeingWritten unfinished) {
  if (unfinished == IfBeingWritten::fail) return content->follow_source(request);
  const auto timeout = services_.content.clock.now() + kUnfinishedTimeout;
  const int others = waiting_++;
  const std::shared_ptr<void> counted(nullptr, [this](void*) { waiting_--; });
  for (;;) {
    const FollowResult result = content->follow_source(request);
    if (result != FollowResult::being_written || others >= kMostWaiting ||
        services_.content.clock.now() > timeout)
      return result;
    request.need_slot();
    const frame::WaitMark mark(frame::WaitReason::other_program);
    std::this_thread::sleep_for(kPollInterval);
  }
}

bool Contents::follow_stored_state(Request& request, const std::shared_ptr<Content>& content) {
  const FollowResult result = follow(request, content, IfBeingWritten::wait);
  if (result == FollowResult::being_written)
    frame::throw_errno(ESTALE, content->path() + ": being written");
  return result == FollowResult::yes;
}

bool Contents::has_followed(Request& request, const std::shared_ptr<Content>& content,
                            std::uint64_t epoch) {
  return follow_stored_state(request, content) || content->epoch() != epoch;
}

bool Contents::can_retry(Request& request, const std::system_error& error,
                         const std::shared_ptr<Content>& content, std::uint64_t epoch) {
  return error.code() == std::errc(ESTALE) && has_followed(request, content, epoch);
}

// --- changes

void Contents::created(const Change& change, NodeId node, const struct stat& shown) {
  const auto file = std::make_shared<const OpenContainer>(
      shown, std::make_shared<Content>(services_.content, shown.st_mtim));
  file->content->make_writable(change, source_->home(node));
  source_->set_opened(node, file);
  services_.committer.note(file->content, file);
}

void Contents::change(Request& request, NodeId node, FairShare::Part descriptors,
                      const Work& work) {
  for (int tries = 1;; tries++) {
    const auto file = open_to_change(request, node);
    const std::uint64_t epoch = file->content->epoch();
    try {
      work(file);
      changed(file, std::move(descriptors));
      // While space is scarce, commits at once: no close follows that could report the error of a
      // later commit.
      if (source_->is_space_scarce() && file->content->needs_commit())
        commit_briefly({file->content});
      return;
    } catch (const std::system_error& error) {
      if (tries == kContentTries || !can_retry(request, error, file->content, epoch)) throw;
    }
  }
}

void Contents::commit(Request& request, const std::vector<NodeId>& nodes) {
  Committer::Contents contents;
  for (const NodeId node : nodes)
    if (const auto file = source_->opened(node); file && file->content->needs_commit())
      contents.push_back(file->content);
  if (!contents.empty()) request.need_slot();
  commit_briefly(contents);
}

/// Commits on the thread of a request. Limits the time of all waits for other programs' locks, so
/// that the request ends.
void Contents::commit_briefly(const Committer::Contents& contents) {
  const frame::SharedLockTimeout timeout;
  services_.committer.commit(contents);
}

std::shared_ptr<void> Contents::force_flat(Request& request, NodeId node) {
  request.need_slot();
  const auto file = open_to_change(request, node);
  file->content->force_flat(true);
  std::shared_ptr<void> held(nullptr, [this, file](void*) {
    file->content->force_flat(false);
    if (file->content->needs_commit()) changed(file, {});
  });
  services_.committer.note(file->content, file);
  commit_briefly({file->content});
  return held;
}

void Contents::update_representation(Request& request, NodeId node) {
  auto descriptors = source_->take_descriptors_at_once(request);
  const bool is_beyond_share = !descriptors;
  const auto file = open_to_change(request, node);
  file->content->reconsider_representation();
  if (!file->content->needs_commit()) return;
  changed(file, std::move(descriptors));
  // The user's share of descriptors is used up. The file already has its new name, so it is too
  // late for EMFILE. An early commit frees the descriptors instead.
  if (is_beyond_share && !file->content->has_writers())
    services_.committer.queue(file->content, true);
}

void Contents::removed(const std::shared_ptr<const OpenContainer>& file,
                       const std::function<bool()>& has_name) {
  if (!file) return;
  file->content->orphan();
  if (has_name()) return file->content->restore_name();
  if (!file->content->has_writers()) services_.committer.drop(*file->content);
}

void Contents::resize(Request& request, NodeId node, std::int64_t size) {
  require_changeable(request, node, *source_->open_container(request, node, false)->content);
  change(request, node, source_->take_descriptors(request),
         [&](const std::shared_ptr<const OpenContainer>& file) {
           file->content->resize(request, size);
         });
}

bool Contents::set_times(Request& request, NodeId node, const timespec& accessed,
                         const timespec& modified) {
  const auto file = source_->opened(node);
  if (!file) return false;
  try {
    // The content must know the new times, so that they do not count as another program's change. A
    // removed file has its times in the content alone.
    if (!file->content->is_orphan()) file->content->make_writable(request, source_->home(node));
  } catch (const std::system_error&) {
    return false;
  }
  for (int tries = 1;; tries++) {
    const std::uint64_t epoch = file->content->epoch();
    try {
      return file->content->set_times(request, accessed, modified);
    } catch (const std::system_error& error) {
      if (tries == kContentTries || !can_retry(request, error, file->content, epoch)) throw;
    }
  }
}

void Contents::set_metalayer(Request& request, NodeId node, const LayerName& name,
                             const LayerChange& content, int flags) {
  frame::check_layer_name(name.name);
  // A change of a fixed metalayer writes the frame into a new file. The other hard links would
  // still lead to the old one.
  if (name.kind == LayerKind::fixed && source_->home(node)->place_now(request).has_links)
    frame::throw_errno(EOPNOTSUPP, name.name);
  std::shared_ptr<Content> changed;
  change(request, node, source_->take_descriptors(request),
         [&](const std::shared_ptr<const OpenContainer>& file) {
           changed = file->content;
           if (content) changed->require_room();
           put_metalayer(Change(request), *changed, name, content, flags);
         });
  // The metalayer counts as dirty memory of the user. write(2) waits without a thread until dirty
  // memory is free, but setxattr(2) cannot do so. So it commits, to free the memory that it took.
  if (content && !services_.content.budget.has_room(changed->user())) commit_briefly({changed});
}

void Contents::put_metalayer(const Change& change, Content& content, const LayerName& name,
                             const LayerChange& value, int flags) {
  const MutexLock lock(metalayers_);
  const auto snapshot = content.snapshot();
  frame::VlmetalayerSizes changes = changed_sizes(content, name.kind);
  const bool exists = has_metalayer(snapshot.get(), changes, name);
  if ((flags & XATTR_CREATE) != 0 && exists) frame::throw_errno(EEXIST, name.name);
  if (((flags & XATTR_REPLACE) != 0 || !value) && !exists) frame::throw_errno(ENODATA, name.name);
  if (value) {
    changes[name.name] = value->size();
    check_room(snapshot.get(), changes, name.kind);
  }
  content.set_metalayer(change, name, value);
}

}  // namespace bloscfs::fs
