#include "fs/source/local/local_source.hpp"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "frame/open/open.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/container_handle.hpp"
#include "fs/support/caller.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;

/// Retries `work` while it throws ESTALE because the file is replaced under it. Tries 20 times at
/// most; the kernel itself would try only twice.
template <typename Work>
auto retrying_stale(const Work& work) {
  constexpr int kTries = 20;
  for (int tries = 1; tries < kTries; tries++) {
    try {
      return work();
    } catch (const std::system_error& error) {
      if (error.code() != std::errc(ESTALE)) throw;
    }
  }
  return work();
}

}  // namespace

LocalSource::LocalSource(const SourceServices& services, MountSource source,
                         const MountOptions& options, MountLock* lock,
                         std::size_t committing_threads)
    : services_(services),
      path_(source.single ? source.directory + "/" + *source.single : source.directory),
      columns_(std::move(source.columns)),
      rescue_(std::move(source.rescue)),
      rescue_obstacle_(std::move(source.rescue_obstacle)),
      lock_(lock),
      root_(std::move(source.root),
            options.cross_mounts ? OtherMounts::enter : OtherMounts::leave_out, source.own_device),
      classifier_(root_, {options.raw, options.stores, options.unsupported, options.logs_verdicts},
                  &services.content.stats.source),
      tree_(root_, classifier_, std::move(source.single), options.owner),
      recent_archives_(services.content.cache.budget(), kRecentArchives),
      embedded_(root_, tree_, recent_archives_, options.raw),
      archives_(root_, tree_, embedded_, recent_archives_, options.raw),
      names_(path_, root_, columns_, tree_, {options.raw, options.write.suffix}, services.contents,
             services.kernel, lock, rescue_ ? &*rescue_ : nullptr),
      descriptors_(DescriptorLimits::of_process().for_files, services.committer, services.log,
                   services.content.clock),
      writable_(!options.read_only),
      set_ids_(options.set_ids),
      devices_(options.devices),
      committing_threads_(committing_threads),
      space_(root_, source.has_quotas, services.content.stats, services.content.clock),
      plain_files_(tree_, classifier_, services_.content, names_, options.write.writeback),
      store_guard_(root_, tree_, embedded_, archives_) {
  root_.watch_directories(DescriptorLimits::of_process().watched, services.content.clock);
  if (!writable_) return;
  tree_.set_follower([&contents = services.contents](Request& request, NodeId node) {
    contents.try_follow(request, node);
  });
  if (!source.is_below_another_mount)
    sweep_.emplace(root_, tree_, tree_.single(), lock == nullptr ? nullptr : lock->journal());
}

Committer::Services LocalSource::committing() {
  Committer::Services committing;
  committing.sync_all = [this] { root_.sync_all(); };
  committing.batch = DescriptorLimits::of_process().batch;
  committing.threads = committing_threads_;
  committing.check_written = [this](const Content& content) {
    // A daemon that runs as root could write into the space that is reserved for root. Bytes of
    // other users must not go there.
    if (content.user() != 0 && ::geteuid() == 0 && space_.is_scarce()) space_.require_unreserved();
  };
  return committing;
}

// --- open files

OpenedFile LocalSource::open(Request& request, NodeId node, int flags,
                             FairShare::Part descriptors) {
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  if (writes) require_changeable(node, "open");
  if (archives_.part(node)) {
    descriptors = descriptors_.take(request, DescriptorNeed::kReader);
    auto handle = open_handle(request, services_.contents, node,
                              archives_.open(request, node, services_.content), flags);
    handle->keep(std::move(descriptors));
    return {std::move(handle), false};
  }
  return retrying_stale([&]() -> OpenedFile {
    // Looks at SOURCE even if the file is open already, since the open file may be of an older
    // state.
    const SourceEntry entry = tree_.entry(request, node);
    if (!descriptors)
      descriptors =
          descriptors_.take(request, (writes ? DescriptorNeed::kWriter : DescriptorNeed::kReader) +
                                         (entry.is_sframe() ? DescriptorNeed::kSparseMore : 0));
    auto handle = open_as(request, node, entry, flags);
    try {
      const bool changed = tree_.take_change(node, entry);
      handle->keep(std::move(descriptors));
      return {std::move(handle), changed};
    } catch (...) {
      handle->close(request);
      throw;
    }
  });
}

std::shared_ptr<FileHandle> LocalSource::open_as(Request& request, NodeId node,
                                                 const SourceEntry& entry, int flags) {
  auto file = tree_.opened_as<OpenContainer>(node);
  // `entry` may be outdated: a file that was plain then may be open as a container by now.
  if (!file && !entry.is_container()) return plain_files_.open(request, node, entry, flags);
  if (file && file->content->is_overtaken()) {
    services_.contents.follow(request, node);
    throw_errno(ESTALE, "changed by another program");  // the caller then opens the new state
  }
  if (!file) file = open_as_container(request, node, entry);
  return open_handle(request, services_.contents, node, file, flags);
}

/// Throws ESTALE if the file is being replaced.
std::shared_ptr<const OpenContainer> LocalSource::open_as_container(Request& request, NodeId node,
                                                                    const SourceEntry& entry) {
  if (auto file = tree_.opened_as<OpenContainer>(node)) return file;
  const SourcePath path = tree_.path(node);
  const struct stat shown = tree_.attributes_of(entry);
  std::shared_ptr<const frame::Snapshot> snapshot;
  try {
    snapshot = classifier_.open(path, entry);
  } catch (const std::system_error& error) {
    // ENOENT: the file, or a directory above it, has been renamed since tree_.path().
    if (error.code() != std::errc::no_such_file_or_directory) throw;
  }
  if (!snapshot || !(snapshot->stamp() == frame::stamp_of(entry.content_stat)))
    throw_errno(ESTALE, path.text());
  auto content = std::make_shared<Content>(request, services_.content, std::move(snapshot));
  return tree_.share_opened(node, std::make_shared<const OpenContainer>(shown, std::move(content)),
                            entry);
}

std::shared_ptr<const OpenContainer> LocalSource::opened(NodeId node) {
  return tree_.opened_as<OpenContainer>(node);
}

std::shared_ptr<const OpenContainer> LocalSource::open_container(Request& request, NodeId node,
                                                                 bool for_change) {
  if (for_change) return open_as_container(request, node, tree_.entry(request, node));
  return retrying_stale(
      [&] { return open_as_container(request, node, tree_.entry(request, node)); });
}

bool LocalSource::confirm(NodeId node, const OpenContainer& file) {
  const auto state = tree_.state_in_source(node);
  if (!file.content->is_current()) return false;
  // confirm_state() does nothing if SOURCE has another state by now, such as that of a new commit.
  if (state) tree_.confirm_state(node, *state);
  return true;
}

// --- names

/// Throws EROFS for files in archives, and for all files of a read-only mount.
void LocalSource::require_changeable(NodeId node, const char* operation) {
  if (archives_.part(node)) throw_errno(EROFS, "in an archive, which no mount changes");
  require_writable(operation);
}

StoredForm LocalSource::stored_form(Request& request, NodeId node) {
  if (const auto part = archives_.part(node))
    return {archives_.frame_of(request, *part, node), {}, 0, /*may_lack_contents=*/true};
  StoredForm form;
  const SourceEntry entry = tree_.entry(request, node);
  form.bytes = entry.is_sframe() ? entry.stored_size : entry.own_stat.st_size;
  if (entry.is_container()) {
    form.frame = classifier_.open(tree_.path(node), entry);
    form.may_lack_contents =
        entry.health == SourceEntry::Health::unsupported || entry.may_lack_contents;
    if (!form.frame) throw_errno(ESTALE, tree_.display_path(node));
    return form;
  }
  // A file that the daemon may not read was not judged by its bytes. So this throws EACCES for it.
  entry.object->check_access(R_OK);
  // Opens a damaged file only to throw the codec::Error that names the damage.
  if (entry.health == SourceEntry::Health::damaged)
    frame::open_file(entry.object->open_noatime(O_RDONLY), {});
  form.open_plain = [file = entry.object] { return file->open_noatime(O_RDONLY); };
  return form;
}

FoundNode LocalSource::reference(Request& request, NodeId node) {
  return tree_.reference(node, attributes(request, node));
}

/// Called only if the daemon serves a single user. Otherwise the kernel checks the shown modes
/// itself (default_permissions).
void LocalSource::check_access(Request& /*request*/, NodeId node, int mask) {
  if (tree_.is_virtual(node)) return;
  if (!archives_.answers_for(node)) return tree_.object(node)->check_access(mask);
  // In an archive only an embedded group is writable: files can be created in it.
  const auto part = archives_.part(node);
  const bool may_grow = part && part->embed && part->entry.is_group();
  if ((mask & W_OK) != 0 && part && !(writable_ && may_grow)) throw_errno(EROFS, "access");
}

/// Throws EPERM for a set-ID bit or a device that the mount options `suid` and `dev` do not allow.
/// Such a file could take effect where SOURCE itself is mounted. `mode` is that of a new file, or
/// the bits to add to an old one.
void LocalSource::require_permitted(mode_t mode) const {
  if ((mode & kSetIds) != 0 && !set_ids_) throw_errno(EPERM, "set-user-ID without suid");
  if ((S_ISCHR(mode) || S_ISBLK(mode)) && !devices_) throw_errno(EPERM, "device without dev");
}

void LocalSource::drop_privileges(Request& request, NodeId node) {
  require_changeable(node, "write");
  const Caller& caller = *request.caller();
  const struct stat st = tree_.attributes(request, node);
  const mode_t dropped = bits_to_drop(st.st_mode, st.st_gid, caller);
  if (dropped == 0) return;
  NewAttributes wanted;
  wanted.mode = st.st_mode & ~dropped;
  try {
    names_.set_attributes(request, node, wanted, ChangedBy::daemon);
  } catch (const std::system_error& error) {
    // If the daemon does not own the file, SOURCE's filesystem clears the bits at the first write.
    if (error.code() != std::errc::operation_not_permitted) throw;
  }
}

void LocalSource::set_attributes(Request& request, NodeId node, NewAttributes wanted) {
  require_changeable(node, "set attributes");
  const Caller& caller = *request.caller();
  if (wanted.mode && (*wanted.mode & kSetIds) != 0)
    require_permitted(*wanted.mode & ~tree_.attributes(request, node).st_mode);
  // The mode's execute bits let programs search the shown directory. The store's file must not
  // become executable by them.
  if (wanted.mode && tree_.is_store(node)) wanted.mode = *wanted.mode & 0666;
  if (wanted.owner || wanted.group) {
    const struct stat st = tree_.attributes(request, node);
    const mode_t dropped = bits_to_drop(st.st_mode, st.st_gid, caller);
    // Before a write by a user who does not own the file, the kernel sends a request that sets
    // neither owner nor group. It is ignored, since the write itself says which bits it clears.
    const bool names_nobody = wanted.owner == kUnchangedOwner && !wanted.group;
    if (names_nobody && caller.user != 0 && caller.user != st.st_uid) return;
    if (dropped != 0) wanted.mode = wanted.mode.value_or(st.st_mode) & ~dropped;
  }
  names_.set_attributes(request, node, wanted, ChangedBy::caller);
}

void LocalSource::resize(Request& request, NodeId node, std::int64_t size) {
  require_changeable(node, "truncate");
  if (tree_.entry(request, node).is_container() || tree_.opened_as<OpenContainer>(node))
    services_.contents.resize(request, node, size);
  else
    plain_files_.resize(request, node, size);
}

// --- extended attributes

AttributeFacts LocalSource::attribute_facts(Request& request, NodeId node) {
  AttributeFacts facts;
  const auto part = archives_.part(node);
  facts.is_read_only = part || tree_.is_store(node);
  facts.is_virtual = tree_.is_virtual(node) && !facts.is_read_only;
  if (facts.is_read_only) {
    facts.of =
        part && !part->entry.is_group() ? AttributeFacts::Of::container : AttributeFacts::Of::group;
    facts.stored_names = [] { return std::vector<std::string>(); };
    facts.stored_value = [this, node](const std::string& name) {
      const auto list = archives_.access_list(node, name);
      if (!list) throw_errno(ENODATA, name);
      return *list;
    };
    return facts;
  }
  if (facts.is_virtual) return facts;
  const SourceEntry entry = tree_.entry(request, node);
  facts.stored_names = [this, node, entry] { return tree_.object(node, entry)->attribute_names(); };
  facts.stored_value = [this, node, entry](const std::string& name) {
    return tree_.object(node, entry)->attribute(name);
  };
  facts.is_read_only = entry.is_read_only;
  if (entry.is_container()) {
    facts.of = AttributeFacts::Of::container;
    facts.has_metalayers = entry.has_metalayers;
    facts.state = state_of(entry.content_stat);
  } else if (tree_.store_place(node)) {
    facts.of = AttributeFacts::Of::group;
  }
  return facts;
}

std::shared_ptr<const frame::Snapshot> LocalSource::frame_of(Request& request, NodeId node) {
  if (const auto group = archives_.group(request, node))
    return group->archive->frame_of(group->key);
  if (const auto part = archives_.part(node)) return archives_.frame_of(request, *part, node);
  if (tree_.store_place(node)) return nullptr;  // the directory's store has just gone
  return open_container(request, node, false)->content->snapshot();
}

std::optional<std::string> LocalSource::group_attribute(Request& request, NodeId node,
                                                        const std::string& name) {
  const auto group = archives_.group(request, node);
  return group ? fs::group_attribute(*group->archive, group->key, name) : std::nullopt;
}

void LocalSource::set_stored_attribute(Request& request, NodeId node, const std::string& name,
                                       const std::string* value, int flags) {
  names_.change(request, node, ChangedBy::caller,
                [&](const Change& change, const SourceObject& object, const NamedObject*) {
                  if (value != nullptr)
                    object.set_attribute(change, name, *value, flags);
                  else
                    object.remove_attribute(change, name);
                });
}

std::string LocalSource::statistics() {
  services_.content.stats.names_held_us = tree_.longest_hold_of_names();
  try {
    // `recover` gives names to frames in the rescue folder, and to kept temporaries in SOURCE.
    Journal* const journal = lock_ == nullptr ? nullptr : lock_->journal();
    services_.content.stats.rescued_files = (rescue_ ? rescue_->rescued().size() : 0) +
                                            (journal != nullptr ? journal->kept().size() : 0);
  } catch (const std::system_error&) {
    // The folder cannot be listed now: the last count stays.
  }
  return to_json(services_.content.stats);
}

Source::Rescue LocalSource::rescue() {
  if (!rescue_) return {.folder = {}, .obstacle = rescue_obstacle_};
  struct stat folder {};
  if (::fstat(rescue_->descriptor().get(), &folder) == 0 && folder.st_nlink == 0)
    return {.folder = {}, .obstacle = rescue_->directory() + ": was removed"};
  struct statvfs st {};
  // A folder that cannot be looked at has no room, either.
  if (::fstatvfs(rescue_->descriptor().get(), &st) != 0) return {rescue_->directory()};
  return {rescue_->directory(), std::uint64_t{st.f_bavail} * st.f_frsize};
}

// --- changes of names, also inside store directories

void LocalSource::before_making(Request& request, NodeId directory, const std::string& name) {
  require_writable(name);
  store_guard_.before_making(request, directory, name);
}

FoundNode LocalSource::create_file(Request& request, NodeId directory, const std::string& name,
                                   mode_t mode) {
  require_permitted(mode);
  before_making(request, directory, name);
  return names_.create_file(request, directory, name, mode);
}

FoundNode LocalSource::make_directory(Request& request, NodeId directory, const std::string& name,
                                      mode_t mode) {
  require_writable(name);
  // No before_making() is needed: a new directory hides no leaf, since a key can be a leaf and a
  // group.
  store_guard_.make_directory_of(request, directory);
  return names_.make_directory(request, directory, name, mode);
}

FoundNode LocalSource::make_symlink(Request& request, NodeId directory, const std::string& name,
                                    const std::string& target) {
  before_making(request, directory, name);
  return names_.make_symlink(request, directory, name, target);
}

FoundNode LocalSource::make_special(Request& request, NodeId directory, const std::string& name,
                                    mode_t mode, dev_t device) {
  require_permitted(mode);
  before_making(request, directory, name);
  auto descriptors = S_ISREG(mode) ? take_descriptors(request) : FairShare::Part();
  const FoundNode made = names_.make_special(request, directory, name, mode, device);
  // Nothing opens the new file, so its commit keeps the descriptors.
  if (const auto file = tree_.opened_as<OpenContainer>(made.id))
    services_.contents.changed(file, std::move(descriptors));
  return made;
}

FoundNode LocalSource::make_link(Request& request, NodeId node, NodeId directory,
                                 const std::string& name) {
  require_changeable(node, "link");
  before_making(request, directory, name);
  return names_.make_link(request, node, directory, name);
}

void LocalSource::remove_file(Request& request, NodeId directory, const std::string& name) {
  require_writable(name);
  store_guard_.before_removing(request, directory, name);
  names_.remove_file(request, directory, name);
}

void LocalSource::remove_directory(Request& request, NodeId directory, const std::string& name) {
  require_writable(name);
  store_guard_.before_removing_directory(request, directory, name);
  names_.remove_directory(request, directory, name);
}

void LocalSource::rename(Request& request, NodeId from, const std::string& from_name, NodeId to,
                         const std::string& to_name, unsigned flags) {
  require_writable(from_name);
  store_guard_.before_renaming(request, {from, from_name, to, to_name, flags});
  names_.rename(request, from, from_name, to, to_name, flags);
}

}  // namespace bloscfs::fs
