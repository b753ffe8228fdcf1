#include "fs/mount/filesystem.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <malloc.h>
#include <sys/stat.h>

#include "frame/open/open.hpp"
#include "frame/store/refusal.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/support/log.hpp"
#include "fs/support/request_limits.hpp"
#include "fs/support/turns.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;

/// Messages that are remembered, so that they are not repeated.
constexpr std::size_t kMaxLogged = 10'000;

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr),
                                                        std::free);
  if (!resolved) throw_errno();
  return resolved.get();
}

frame::UniqueFd open_directory_path(const std::string& path) {
  frame::UniqueFd fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) throw_errno();
  return fd;
}

/// Bytes that may be decoded ahead at once, as a part of the budget.
std::int64_t readahead_limit(std::size_t cache_size) {
  return static_cast<std::int64_t>(std::min(cache_size / 16, std::size_t{16} << 20));
}

/// Bytes that may be dirty at once, as a part of the budget unless it is given.
std::size_t dirty_limit(const MountOptions& options) {
  return options.write.dirty_limit != 0 ? options.write.dirty_limit : options.cache_size / 4;
}

std::size_t descriptors_of(const SourceEntry& entry, bool writes) {
  return (writes ? DescriptorShares::kOfWriter : DescriptorShares::kOfReader) +
         (entry.is_sframe ? DescriptorShares::kSparseMore : 0);
}

constexpr int kStaleTries = 20;
constexpr std::size_t kLargeDirectory = 10'000;
/// One part in so many of the cache stays when nobody reads.
constexpr std::uint64_t kKeptAtRest = 4;

/// Runs `work` again while the source is replaced under it: the kernel itself tries only twice.
template <typename Work>
auto retrying_stale(Work work) {
  for (int tries = 1; tries < kStaleTries; tries++) {
    try {
      return work();
    } catch (const std::system_error& error) {
      if (error.code() != std::errc(ESTALE)) throw;
    }
  }
  return work();
}

}  // namespace

MountSource open_source(const std::string& path, bool raw) {
  const std::string resolved = real_path(path);
  struct stat st {};
  if (::stat(resolved.c_str(), &st) != 0) throw_errno();
  const auto snapshot = frame::open_path(resolved, {});
  if (!snapshot) {
    if (!S_ISDIR(st.st_mode))
      throw std::invalid_argument("neither a directory nor a Blosc2 frame nor a Bloscpack file");
    return {open_directory_path(resolved), std::nullopt, Surroundings(resolved, std::nullopt)};
  }
  view_shape(snapshot->info(), raw);  // an array that cannot be shown is refused now
  const std::size_t slash = resolved.rfind('/');
  const std::string directory = resolved.substr(0, std::max<std::size_t>(slash, 1));
  const std::string name = resolved.substr(slash + 1);
  return {open_directory_path(directory), name, Surroundings(directory, name)};
}

Filesystem::Filesystem(MountSource source, const MountOptions& options, std::size_t workers,
                       MountLock* lock, PagePool& pages)
    : surroundings_(std::move(source.surroundings)),
      root_(std::move(source.root),
            options.cross_mounts ? OtherMounts::enter : OtherMounts::leave_out, source.own_device),
      reader_settings_{options.verify, Work::kRequestLimit},
      cache_(options.cache_size, pages, stats_),
      attributes_(cache_.budget()),
      classifier_(root_, options.raw, &stats_.source),
      tree_(root_, classifier_, std::move(source.single), options.owner),
      names_(root_, surroundings_, tree_, {options.raw, options.write.suffix}, lock),
      listings_(cache_.budget()),
      descriptors_(
          DescriptorLimits::of_process().for_files, committer_,
          [this](uid_t user) { log_once(fmt::format("user {} has too many files open", user)); }),
      write_options_(options.write),
      writable_(!options.read_only),
      budget_(dirty_limit(options), stats_, [this](bool all) { committer_.press(all); }),
      readahead_budget_(readahead_limit(options.cache_size)),
      last_release_(std::chrono::steady_clock::now().time_since_epoch().count()),
      pool_(workers),
      committer_(stats_),
      contents_(tree_, classifier_, committer_, descriptors_,
                {pages, cache_, stats_, reader_settings_, pool_, budget_, write_options_,
                 options.raw, next_content_id_}) {
  names_.set_contents(contents_);
  if (!writable_) return;
  tree_.set_follower([this](NodeId node) { contents_.try_follow(node); });
  committer_.start(
      {[this](uid_t user, const std::error_code& error) { budget_.commit_ended(user, error); },
       [this] { root_.sync_all(); },
       [this](const std::shared_ptr<Content>& content, IfBeingWritten unfinished) {
         return contents_.go_on(content, unfinished);
       },
       DescriptorLimits::of_process().batch});
  if (surroundings_.is_below_another_mount()) return;
  sweep_.emplace(root_, tree_, tree_.single(), lock == nullptr ? nullptr : lock->journal());
}

std::shared_ptr<const OpenFile> Filesystem::make_open_file(NodeId node, const SourceEntry& entry) {
  if (entry.is_container) return contents_.open(node, entry);
  auto file = std::make_shared<OpenFile>();
  file->attributes = tree_.attributes_of(entry);
  file->plain = tree_.object(node, entry)->open(O_RDONLY);
  return tree_.share_opened(node, std::move(file), entry);
}

void Filesystem::give_descriptors(NodeId node, FairShare::Part descriptors) {
  if (const auto file = tree_.opened(node); file && file->content)
    contents_.changed(file, std::move(descriptors));
}

Filesystem::Opened Filesystem::open(NodeId node, int flags, FairShare::Part descriptors) {
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  if (writes && !writable_) throw_errno(EROFS, "open");
  return retrying_stale([&]() -> Opened {
    // Checked even if a handle is open: that may be of an older state.
    const SourceEntry entry = tree_.entry(node);
    auto handle = std::make_shared<FileHandle>();
    handle->node = node;
    handle->direct = (flags & O_DIRECT) != 0;
    if (!descriptors) descriptors = descriptors_.take(descriptors_of(entry, writes));
    handle->descriptors = std::move(descriptors);
    try {
      open_into(*handle, entry, flags);
      const bool changed = tree_.take_change(node, entry);
      const std::uint64_t number = handles_.add(handle);
      if (handle->direct) direct_handles_++;
      return {number, changed};
    } catch (...) {
      descriptors = std::move(handle->descriptors);  // for the next try
      end_writing(*handle);
      throw;
    }
  });
}

void Filesystem::open_into(FileHandle& handle, const SourceEntry& entry, int flags) {
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  handle.file = tree_.opened(handle.node);
  if (handle.file && handle.file->content && handle.file->content->is_overtaken()) {
    contents_.follow(handle.node);
    throw_errno(ESTALE, "changed by another program");
  }
  if (writes && !entry.is_container && !(handle.file && handle.file->content))
    open_plain(handle, flags);
  else if (!handle.file)
    handle.file = make_open_file(handle.node, entry);
  if (!handle.file->content) return;
  handle.epoch = handle.file->content->epoch();
  if (!writes) return;
  require_changeable(handle.node, *handle.file->content);
  handle.file->content->make_writable(names_.home(handle.node));
  handle.file->content->add_writer();
  handle.writes = true;
  // The node may have given way to another one meanwhile.
  if (tree_.opened(handle.node) != handle.file) throw_errno(ESTALE, "changed by another program");
  if ((flags & O_TRUNC) != 0) truncate(handle, 0);
}

void Filesystem::end_writing(FileHandle& handle) {
  if (handle.writes) {
    const auto& content = handle.file->content;
    content->remove_writer();
    if (content->needs_commit())
      contents_.changed(handle.file, std::move(handle.descriptors));
    else if (content->is_orphan() && !content->has_writers())
      committer_.drop(*content);
  } else if (handle.descriptors.amount() >= DescriptorShares::kOfWriter && handle.file &&
             handle.file->content && handle.file->content->needs_commit()) {
    contents_.changed(handle.file, std::move(handle.descriptors));  // made by open(2) for reading
  }
  if (handle.plain) close_plain(handle.node);
}

std::shared_ptr<Filesystem::FileHandle> Filesystem::handle(std::uint64_t number) const {
  auto found = handles_.find(number);
  if (!found) throw_errno(EBADF, "file handle");
  return found;
}

void Filesystem::release(std::uint64_t number) {
  const auto closed = handle(number);
  handles_.remove(number);
  if (closed->direct) direct_handles_--;
  end_writing(*closed);
  if (closed->writes && closed->file->content)
    tree_.keep_last_size(closed->node, closed->file->content->attributes().size);
  last_release_ = std::chrono::steady_clock::now().time_since_epoch().count();
}

struct stat Filesystem::handle_attributes(std::uint64_t number) {
  const auto open = handle(number);
  if (open->file->plain) {
    struct stat st {};
    if (::fstat(open->file->plain.get(), &st) != 0) throw_errno("fstat");
    return tree_.owned(st);
  }
  try {
    return tree_.attributes(open->node);
  } catch (const std::system_error& error) {
    // Of what is gone, or no longer ours to look at, the state that was opened is what there is.
    if (!frame::is_refusal(error.code())) throw;
    return open->file->attributes;
  }
}

uid_t Filesystem::owner(NodeId node) { return tree_.object(node)->stat().st_uid; }

std::chrono::steady_clock::duration Filesystem::idle_time() const {
  using Steady = std::chrono::steady_clock;
  if (handles_.size() != 0) return Steady::duration::zero();
  return Steady::now().time_since_epoch() - Steady::duration(last_release_.load());
}

void Filesystem::rest() {
  cache_.shrink(stats_.cache_bytes / kKeptAtRest);
  cache_.pages().trim();
  ::malloc_trim(0);
}

std::shared_ptr<const DirectoryListing> Filesystem::list(NodeId directory, std::uint64_t begun) {
  return listings_.make(directory, begun, [&](const std::function<void()>& if_many) {
    return tree_.list(directory, if_many);
  });
}

std::uint64_t Filesystem::open_directory(NodeId node, std::uint64_t begun) {
  auto handle = std::make_shared<DirectoryHandle>();
  handle->node = node;
  {
    const MutexLock lock(handle->mutex);
    handle->listing = list(node, begun);
  }
  return directories_.add(std::move(handle));
}

std::shared_ptr<const DirectoryListing> Filesystem::directory_entries(std::uint64_t number,
                                                                      bool from_start,
                                                                      std::uint64_t begun) {
  const auto handle = directories_.find(number);
  if (!handle) throw_errno(EBADF, "directory handle");
  const MutexLock lock(handle->mutex);
  // The first reading takes what opening has found.
  if (from_start && handle->was_read) {
    handle->listing.reset();
    handle->listing = list(handle->node, begun);
  }
  handle->was_read = true;
  if (!handle->listing) throw_errno(ENOMEM, "directory handle");
  return handle->listing;
}

void Filesystem::release_directory(std::uint64_t number) {
  auto handle = directories_.find(number);
  const bool was_large = handle && [&] {
    const MutexLock lock(handle->mutex);
    return handle->listing && handle->listing->entries.size() >= kLargeDirectory;
  }();
  if (was_large) TurnAtNeed::need();
  directories_.remove(number);
  handle.reset();
  // What listing it took lies between what is kept of its files.
  if (was_large) ::malloc_trim(0);
}

void Filesystem::expect_more(FileHandle& handle, std::int64_t offset, std::int64_t size,
                             uid_t user) {
  handle.readahead.on_read(offset, size, user, handle.file, pool_, readahead_budget_);
}

void Filesystem::read(FileHandle& handle, std::int64_t offset, std::int64_t size, ReplyData& out) {
  try {
    read_content(handle, offset, size, out);
    handle.readahead.was_read(offset + static_cast<std::int64_t>(out.size()));
    stats_.contents_bytes_read += out.size();
  } catch (const std::exception& error) {
    if (is_interruption(error)) throw;
    stats_.io_errors++;
    log_bad_data(handle.node, error);
    // A direct reader may be given what precedes the bad place; through the page cache the kernel
    // would take a short reply for the end of the file.
    if (!handle.direct || out.size() == 0) throw;
  }
}

/// Who writes goes on from the state that is there; others keep what they have opened.
void Filesystem::read_content(FileHandle& handle, std::int64_t offset, std::int64_t size,
                              ReplyData& out) {
  Content& content = *handle.file->content;
  if (!handle.writes) return content.read(offset, size, out, handle.epoch);
  const std::size_t before = out.size();
  const std::uint64_t epoch = content.epoch();
  try {
    content.read(offset, size, out);
  } catch (const std::system_error&) {
    if (out.size() != before || !contents_.has_gone_on(handle.file->content, epoch)) throw;
    content.read(offset, size, out);
  }
}

void Filesystem::log_bad_data(NodeId node, const std::exception& error) {
  log_once(fmt::format("{}: {}", tree_.told_path(node), error.what()));
}

void Filesystem::log_once(const std::string& message) {
  {
    const MutexLock lock(log_mutex_);
    if (logged_.size() >= kMaxLogged) logged_.clear();
    if (!logged_.insert(std::hash<std::string>()(message)).second) return;
  }
  log::error(message);
}

std::shared_ptr<const OpenFile> Filesystem::container(NodeId node) {
  return retrying_stale([&]() -> std::shared_ptr<const OpenFile> {
    const SourceEntry entry = tree_.entry(node);
    if (auto file = tree_.opened(node); file && file->content) return file;
    return make_open_file(node, entry);
  });
}

}  // namespace bloscfs::fs
