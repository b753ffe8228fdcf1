#include "fs/mount/filesystem.hpp"

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/open/open.hpp"
#include "frame/store/lock_patience.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/mount/fixed_content_handle.hpp"
#include "fs/mount/stale_retries.hpp"
#include "fs/support/turns.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;

/// Bytes that may be decoded ahead at once, as a part of the budget.
std::int64_t readahead_limit(std::size_t cache_size) {
  return static_cast<std::int64_t>(std::min(cache_size / 16, std::size_t{16} << 20));
}

std::size_t descriptors_of(const SourceEntry& entry, bool writes) {
  return (writes ? DescriptorShares::kOfWriter : DescriptorShares::kOfReader) +
         (entry.is_sframe ? DescriptorShares::kSparseMore : 0);
}

}  // namespace

Filesystem::Filesystem(MountSource source, const MountOptions& options, const WorkerCounts& workers,
                       MountLock* lock, PagePool& pages, const frame::Clock& clock)
    : clock_(clock),
      surroundings_(std::move(source.surroundings)),
      rescue_(std::move(source.rescue)),
      root_(std::move(source.root),
            options.cross_mounts ? OtherMounts::enter : OtherMounts::leave_out, source.own_device),
      reader_settings_{options.verify, Work::kRequestLimit},
      cache_(options.cache_size, pages, stats_),
      classifier_(root_, {options.raw, options.stores, options.unsupported}, &stats_.source),
      tree_(root_, classifier_, std::move(source.single), options.owner),
      stores_(root_, tree_, cache_.budget(), options.raw),
      names_(root_, surroundings_, tree_, {options.raw, options.write.suffix}, lock,
             rescue_ ? &*rescue_ : nullptr),
      directories_(cache_.budget(),
                   [this](NodeId node, const std::function<void()>& if_many) {
                     node = stores_.present(node);
                     return stores_.is_part(node) ? stores_.list(node, if_many)
                                                  : tree_.list(node, if_many);
                   }),
      descriptors_(
          DescriptorLimits::of_process().for_files, committer_,
          [this](uid_t user) {
            log_.error(
                fmt::format("user {} has too many files open: close some, or mount with a higher "
                            "limit of descriptors (ulimit -Hn)",
                            user));
          },
          clock),
      write_options_(options.write),
      writable_(!options.read_only),
      set_ids_(options.set_ids),
      devices_(options.devices),
      budget_(
          dirty_limit(options), stats_, [this](bool all) { committer_.press(all); }, clock),
      readahead_budget_(readahead_limit(options.cache_size), clock),
      last_release_(clock.now()),
      pool_(workers.coding),
      committer_(stats_, clock),
      content_services_{cache_,      stats_,           reader_settings_,
                        pool_,       budget_,          write_options_,
                        options.raw, next_content_id_, std::make_shared<frame::RecentWriters>(),
                        clock},
      space_(root_, source.has_quotas, stats_, clock),
      contents_(tree_, classifier_, committer_, descriptors_, space_, content_services_),
      reading_services_{stats_, pool_, readahead_budget_, log_, direct_handles_, pages},
      container_services_{contents_, committer_, reading_services_},
      containers_(container_services_, tree_, contents_, names_),
      plain_files_(tree_, classifier_, contents_, names_, write_options_.writeback),
      store_guard_(root_, tree_, stores_),
      extended_attributes_({tree_, stores_, names_, contents_, stats_}, cache_.budget(),
                           writable_) {
  root_.watch_directories(DescriptorLimits::of_process().watched, clock);
  names_.set_contents(contents_);
  committer_.set_commits_at_close(options.write.strict);
  committer_.set_longest_wait(options.write.longest_wait);
  if (writable_) begin_writing(lock, workers.committing);
}

void Filesystem::change_options(const MountOptions& options) {
  if (options.cache_size > cache_.budget().capacity()) cache_.grow(options.cache_size);
  budget_.set_limit(dirty_limit(options));
  committer_.set_commits_at_close(options.write.strict);
  committer_.set_longest_wait(options.write.longest_wait);
}

void Filesystem::begin_writing(MountLock* lock, std::size_t committing_threads) {
  tree_.set_follower([this](NodeId node) { contents_.try_follow(node); });
  committer_.start(
      {[this](uid_t user, const std::error_code& error) { budget_.commit_ended(user, error); },
       [this] { root_.sync_all(); },
       [this](const std::shared_ptr<Content>& content, IfBeingWritten unfinished) {
         return contents_.go_on(content, unfinished);
       },
       DescriptorLimits::of_process().batch, committing_threads,
       [this](const Content& content) {
         if (content.user() != 0 && ::geteuid() == 0 && space_.is_scarce())
           space_.require_unreserved();
       }});
  if (surroundings_.is_below_another_mount()) return;
  sweep_.emplace(root_, tree_, tree_.single(), lock == nullptr ? nullptr : lock->journal());
}

void Filesystem::give_descriptors(NodeId node, FairShare::Part descriptors) {
  if (const auto file = tree_.opened_as<OpenContainer>(node))
    contents_.changed(file, std::move(descriptors));
}

/// A file that was plain when the entry was looked at may be open as a container since.
FileKind& Filesystem::kind_of(NodeId node, const SourceEntry& entry) {
  if (entry.is_container || tree_.opened_as<OpenContainer>(node)) return containers_;
  return plain_files_;
}

Filesystem::Opened Filesystem::open(NodeId node, int flags, FairShare::Part descriptors) {
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  if (writes && (!writable_ || Stores::holds(node))) throw_errno(EROFS, "open");
  if (Stores::holds(node)) {
    auto file = stores_.open(node, content_services_);
    return add_handle(std::make_shared<FixedContentHandle>(
                          reading_services_, node, flags, std::move(file), stores_.told_path(node)),
                      false, descriptors_.take(DescriptorShares::kOfReader));
  }
  return retrying_stale([&]() -> Opened {
    // Checked even if a handle is open: that may be of an older state.
    const SourceEntry entry = tree_.entry(node);
    if (!descriptors) descriptors = descriptors_.take(descriptors_of(entry, writes));
    const auto handle = kind_of(node, entry).open(node, entry, flags);
    try {
      const bool changed = tree_.take_change(node, entry);
      return add_handle(handle, changed, std::move(descriptors));
    } catch (...) {
      handle->close();
      throw;
    }
  });
}

Filesystem::Opened Filesystem::add_handle(const std::shared_ptr<FileHandle>& handle, bool changed,
                                          FairShare::Part descriptors) {
  const std::uint64_t number = handles_.add(handle);
  handle->keep(std::move(descriptors));
  if (handle->is_direct()) direct_handles_++;
  return {number, changed};
}

std::optional<Tree::Found> Filesystem::lookup(NodeId directory, const std::string& name) {
  directory = stores_.present(directory);
  return stores_.is_part(directory) ? stores_.lookup(directory, name)
                                    : tree_.lookup(directory, name);
}

/// Of what a store holds names and types are known alone, until somebody asks for more.
std::optional<Tree::Found> Filesystem::enter(NodeId directory, const Tree::DirectoryEntry& entry) {
  directory = stores_.present(directory);
  if (entry.is_beside || stores_.is_part(directory)) return Tree::Found{};
  return tree_.enter(directory, entry);
}

struct stat Filesystem::attributes(NodeId node) {
  node = stores_.present(node);
  return Stores::holds(node) ? stores_.attributes(node) : tree_.attributes(node);
}

StoredForm Filesystem::stored_form(NodeId node) {
  StoredForm form;
  if (Stores::holds(node)) {
    form.frame = stores_.frame_of(node);
    form.may_lack_contents = true;
    return form;
  }
  const SourceEntry entry = tree_.entry(node);
  form.bytes = entry.is_sframe ? entry.stored_size : entry.own_stat.st_size;
  if (entry.is_container) {
    form.frame = classifier_.open(tree_.path(node), entry);
    form.may_lack_contents = entry.is_unsupported || entry.may_lack_contents;
    if (!form.frame) throw_errno(ESTALE, tree_.told_path(node));
    return form;
  }
  // What may not be read has not been looked into.
  entry.object->check_access(R_OK);
  if (entry.is_damaged && entry.own_stat.st_size > 0)
    frame::open_file(entry.object->open_quietly(O_RDONLY), {});
  form.plain = entry.object;
  return form;
}

std::string Filesystem::read_link(NodeId node) {
  return Stores::holds(node) ? stores_.read_link(node) : tree_.read_link(node);
}

void Filesystem::forget(NodeId node, std::uint64_t references) {
  if (Stores::holds(node))
    stores_.forget(node, references);
  else
    tree_.forget(node, references);
}

/// Where the daemon serves others too the kernel checks the modes that it is shown.
void Filesystem::check_access(NodeId node, int mask) {
  node = stores_.present(node);
  if (!stores_.is_part(node)) return names_.check_access(node, mask);
  if ((mask & W_OK) != 0 && Stores::holds(node) && !(writable_ && stores_.embedded(node)))
    throw_errno(EROFS, "access");
}

std::shared_ptr<FileHandle> Filesystem::handle(std::uint64_t number) const {
  auto found = handles_.find(number);
  if (!found) throw_errno(EBADF, "file handle");
  return found;
}

void Filesystem::release(std::uint64_t number) {
  const auto closed = handle(number);
  closed->before_close();
  TurnAtNeed::need_no_more();
  handles_.remove(number);
  if (closed->is_direct()) direct_handles_--;
  closed->close();
  last_release_ = clock_.now();
}

/// EPERM for a mode that a new file, or one that had no such bits, may have with `suid` and `dev`
/// alone: elsewhere SOURCE may be mounted with them.
void Filesystem::require_permitted(mode_t mode) const {
  if ((mode & kSetIds) != 0 && !set_ids_) throw_errno(EPERM, "set-user-ID without suid");
  if ((S_ISCHR(mode) || S_ISBLK(mode)) && !devices_) throw_errno(EPERM, "device without dev");
}

void Filesystem::drop_privileges(NodeId node, const Caller& caller) {
  node = stores_.present(node);
  if (Stores::holds(node)) throw_errno(EROFS, "write");
  const struct stat st = tree_.attributes(node);
  const mode_t dropped = bits_to_drop(st.st_mode, st.st_gid, caller);
  if (dropped == 0) return;
  NewAttributes wanted;
  wanted.mode = st.st_mode & ~dropped;
  try {
    names_.set_attributes(node, wanted, nullptr);
  } catch (const std::system_error& error) {
    // Of a file that is not the daemon's SOURCE takes them itself, with the first byte.
    if (error.code() != std::errc::operation_not_permitted) throw;
  }
}

void Filesystem::set_attributes(NodeId node, NewAttributes wanted, const Caller& caller) {
  node = stores_.present(node);
  if (Stores::holds(node)) throw_errno(EROFS, "set attributes");
  if (wanted.mode && (*wanted.mode & kSetIds) != 0)
    require_permitted(*wanted.mode & ~tree_.attributes(node).st_mode);
  // A store's file is never executed, whatever lets its directory be searched.
  if (wanted.mode && tree_.is_store(node)) wanted.mode = *wanted.mode & 0666;
  if (wanted.owner || wanted.group) {
    const struct stat st = tree_.attributes(node);
    const mode_t dropped = bits_to_drop(st.st_mode, st.st_gid, caller);
    // So the kernel also announces a write, for which no owner is needed; that tells by itself
    // which bits it takes.
    const bool names_nobody = wanted.owner == kUnchangedOwner && !wanted.group;
    if (names_nobody && caller.user != 0 && caller.user != st.st_uid) return;
    if (dropped != 0) wanted.mode = wanted.mode.value_or(st.st_mode) & ~dropped;
  }
  names_.set_attributes(node, wanted, &caller);
}

void Filesystem::resize(NodeId node, std::int64_t size) {
  if (!writable_ || Stores::holds(node)) throw_errno(EROFS, "truncate");
  kind_of(node, tree_.entry(node)).resize(node, size);
}

uid_t Filesystem::owner(NodeId node) { return tree_.object(node)->stat().st_uid; }

void Filesystem::commit_written() {
  if (!writable_) throw_errno(EROFS, "commit");
  committer_.commit_all();
}

void Filesystem::commit_all() {
  const frame::LockPatience for_all(frame::kLockPatience);
  sweep_.reset();
  committer_.stop();
  try {
    committer_.commit_all();
  } catch (const std::exception&) {
    keep_uncommitted(committer_.uncommitted());
  }
}

frame::Clock::Duration Filesystem::idle_time() const {
  if (handles_.size() != 0) return frame::Clock::Duration::zero();
  return clock_.now() - last_release_.load();
}

void Filesystem::rest() { cache_.rest(); }

void Filesystem::tidy() { root_.tidy(); }

}  // namespace bloscfs::fs
