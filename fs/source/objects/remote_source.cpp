#include "fs/source/objects/remote_source.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

#include "frame/header/metalayer_writer.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/archives/archive.hpp"
#include "fs/source/container_handle.hpp"
#include "fs/source/objects/object_handle.hpp"
#include "fs/source/objects/object_home.hpp"
#include "fs/support/timestamps.hpp"
#include "fs/support/turns.hpp"
#include "fs/view/attributes.hpp"
#include "fs/view/thread_decoder.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;

/// For so long chunks stay that no index names any more.
constexpr std::chrono::minutes kReadersHave{10};

/// Bytes of chunks that may be on their way to the store, as a part of the budget, and of the
/// connections: readers need the rest.
constexpr std::size_t kUploadPart = 8, kMostUploads = std::size_t{32} << 20;

frame::UploadSettings uploads_of(const MountOptions& options, MemoryBudget& budget) {
  frame::UploadSettings uploads;
  uploads.at_once = std::max(1U, options.remote.connections * 3 / 4);
  uploads.bytes = std::min(options.cache_size / kUploadPart, kMostUploads);
  uploads.take_memory = [&budget](std::size_t bytes) {
    return std::make_shared<MemoryBudget::Part>(budget, bytes);
  };
  return uploads;
}

constexpr unsigned kNoReplace = 1;  // RENAME_NOREPLACE

void set_time(timespec& time, const std::optional<timespec>& wanted) {
  if (wanted) time = wanted->tv_nsec == UTIME_NOW ? now() : *wanted;
}

}  // namespace

RemoteSource::RemoteSource(const SourceServices& services,
                           const std::shared_ptr<frame::ObjectTree>& tree,
                           const MountOptions& options)
    : services_(services),
      tree_(tree),
      writable_(tree->is_writable() && !options.read_only),
      later_(tree, kReadersHave, services.content.clock),
      objects_(
          tree, {{options.raw, options.stores}, options.remote.revalidate}, options.owner,
          services.content.cache.budget(), [this](const std::string& path) { later_.add(path); },
          uploads_of(options, services.content.cache.budget()), services.content.clock),
      refuge_(options.remote.disk_cache) {
  objects_.require_shown();
}

Committer::Services RemoteSource::committing() {
  Committer::Services committing;
  // Each is stored by a request of its own: there is no flush to share.
  committing.batch = 1;
  return committing;
}

void RemoteSource::check_access(NodeId, int mask) {
  if ((mask & W_OK) != 0) require_writable("access");
}

struct statvfs RemoteSource::stat_filesystem() {
  struct statvfs st {};
  st.f_bsize = st.f_frsize = 4096;
  st.f_namemax = NAME_MAX;
  return st;
}

AttributeFacts RemoteSource::attribute_facts(NodeId node) {
  AttributeFacts facts;
  facts.of = objects_.has_attributes_of(node);
  facts.is_read_only = !objects_.is_changeable(node);
  return facts;
}

std::optional<std::string> RemoteSource::group_attribute(NodeId node, const std::string& name) {
  TurnAtNeed::need();
  const auto group = objects_.group(node);
  return group ? fs::group_attribute(*group->archive, group->group, name) : std::nullopt;
}

/// A store of objects keeps none.
void RemoteSource::set_stored_attribute(NodeId, const std::string& name, const std::string*, int,
                                        const Caller&) {
  throw_errno(EOPNOTSUPP, name);
}

OpenedFile RemoteSource::open(NodeId node, int flags, FairShare::Part) {
  if ((flags & O_ACCMODE) != O_RDONLY) {
    require_writable("open");
    TurnAtNeed::need();
    return {open_handle(services_.contents, node, open_container(node, true), flags), false};
  }
  Objects::Opened opened = objects_.open(node, services_.content);
  if (opened.container)
    return {open_handle(services_.contents, node, opened.container, flags), false};
  return {std::make_shared<ObjectHandle>(services_, node, flags, opened.attributes,
                                         std::move(opened.object), objects_.told_path(node)),
          false};
}

std::shared_ptr<const OpenContainer> RemoteSource::open_container(NodeId node, bool for_change) {
  if (!for_change) {
    auto file = objects_.open(node, services_.content).container;
    if (!file) throw_errno(EROFS, objects_.told_path(node));
    return file;
  }
  objects_.require_changeable(node);
  auto file = objects_.opened(node);
  if (file && file->content->is_overtaken()) {
    services_.contents.follow(node);
    throw_errno(ESTALE, objects_.told_path(node));
  }
  objects_.require_present(node);
  if (!file) file = objects_.open(node, services_.content).container;
  // It leads from now on.
  file->content->make_writable(home(node));
  objects_.set_opened(node, file);
  return file;
}

std::shared_ptr<ContentHome> RemoteSource::home(NodeId node) {
  return std::make_shared<ObjectHome>(objects_, node, services_.content.options.suffix,
                                      services_.content.raw, refuge_, services_.kernel);
}

// --- changes

FoundNode RemoteSource::create_file(NodeId directory, const std::string& name, mode_t mode,
                                    const Caller& caller) {
  require_writable(name);
  TurnAtNeed::need();
  frame::FileAttributes owner;
  owner.owner = caller.user;
  owner.group = caller.group;
  owner.mode = mode & ~caller.umask & 0777;
  owner.modified = owner.accessed = now();
  FoundNode found = objects_.create(directory, name, owner, services_.content.options.suffix);
  try {
    services_.contents.created(found.id, found.attributes);
  } catch (...) {
    objects_.forget(found.id, 1);
    throw;
  }
  return found;
}

FoundNode RemoteSource::make_directory(NodeId directory, const std::string& name, mode_t,
                                       const Caller&) {
  require_writable(name);
  TurnAtNeed::need();
  return objects_.make_directory(directory, name);
}

FoundNode RemoteSource::make_symlink(NodeId, const std::string& name, const std::string&,
                                     const Caller&) {
  require_writable(name);
  throw_errno(EPERM, name);
}

FoundNode RemoteSource::make_special(NodeId directory, const std::string& name, mode_t mode, dev_t,
                                     const Caller& caller) {
  require_writable(name);
  if (!S_ISREG(mode)) throw_errno(EPERM, name);
  return create_file(directory, name, mode, caller);
}

FoundNode RemoteSource::make_link(NodeId, NodeId, const std::string& name, const Caller&) {
  require_writable(name);
  throw_errno(EPERM, name);
}

void RemoteSource::remove_file(NodeId directory, const std::string& name, const Caller&) {
  require_writable(name);
  TurnAtNeed::need();
  services_.contents.removed(
      objects_.remove_file(directory, name,
                           [&](NodeId node) { services_.contents.commit({node}); }),
      [] { return false; });
}

void RemoteSource::remove_directory(NodeId directory, const std::string& name, const Caller&) {
  require_writable(name);
  TurnAtNeed::need();
  objects_.remove_directory(directory, name);
}

void RemoteSource::rename(NodeId from, const std::string& from_name, NodeId to,
                          const std::string& to_name, unsigned flags, const Caller&) {
  require_writable(from_name);
  if ((flags & ~kNoReplace) != 0) throw_errno(EINVAL, from_name);
  TurnAtNeed::need();
  if (const auto found = objects_.lookup(from, from_name)) {
    const std::shared_ptr<void> reference(nullptr, [&](void*) { objects_.forget(found->id, 1); });
    services_.contents.commit({found->id});
  }
  services_.contents.removed(
      objects_.rename(from, from_name, to, to_name, (flags & kNoReplace) == 0),
      [] { return false; });
}

void RemoteSource::sync_directory(NodeId) {
  if (!writable_) return;
  TurnAtNeed::need();
  services_.committer.commit_all();
}

void RemoteSource::set_attributes(NodeId node, NewAttributes wanted, const Caller&) {
  require_writable("set attributes");
  const bool sets_times = wanted.accessed || wanted.modified;
  const bool sets_owner =
      wanted.mode || wanted.group || (wanted.owner && *wanted.owner != kUnchangedOwner);
  if (!sets_times && !sets_owner) return;
  // Directories have nothing to keep them in; programs that copy trees set them all the same.
  if (objects_.is_directory(node)) return;
  TurnAtNeed::need();
  objects_.require_changeable(node);
  const auto file = objects_.opened(node);
  if (sets_times && file && file->content->is_writable()) {
    timespec accessed = file->attributes.st_atim, modified = now();
    set_time(accessed, wanted.accessed);
    set_time(modified, wanted.modified);
    file->content->set_times(accessed, modified);
    // What waits for a commit takes its times with it.
    if (!sets_owner && file->content->needs_commit()) return;
  }
  frame::FileAttributes attributes = objects_.frame_attributes(node);
  if (wanted.mode) attributes.mode = *wanted.mode & 0777;
  if (wanted.owner && *wanted.owner != kUnchangedOwner) attributes.owner = *wanted.owner;
  if (wanted.group) attributes.group = *wanted.group;
  set_time(attributes.accessed, wanted.accessed);
  set_time(attributes.modified, wanted.modified);
  objects_.set_attributes(node, attributes);
}

void RemoteSource::resize(NodeId node, std::int64_t size) {
  require_writable("truncate");
  TurnAtNeed::need();
  objects_.require_changeable(node);
  services_.contents.resize(node, size);
}

}  // namespace bloscfs::fs
