#include "fs/mount/remote_source.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

#include "frame/header/metalayer_writer.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/mount/fixed_content_handle.hpp"
#include "fs/mount/object_handle.hpp"
#include "fs/source/archives/store_attributes.hpp"
#include "fs/support/timestamps.hpp"
#include "fs/support/turns.hpp"
#include "fs/view/attributes.hpp"
#include "fs/view/thread_decoder.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;

/// For so long chunks stay that no index names any more.
constexpr std::chrono::minutes kReadersHave{10};
/// Each chunk is an object.
constexpr std::int32_t kChunkSize = std::int32_t{4} << 20;

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

RemoteSource::RemoteSource(const MountServices& services,
                           const std::shared_ptr<frame::ObjectTree>& tree,
                           const MountOptions& options)
    : services_(services),
      tree_(tree),
      writable_(tree->is_writable() && !options.read_only),
      later_(tree, kReadersHave, services.clock),
      objects_(
          tree, {options.raw, options.stores, options.remote.revalidate}, options.owner,
          services.cache.budget(), [this](const std::string& path) { later_.add(path); },
          uploads_of(options, services.cache.budget()), services.clock),
      contents_(objects_, services.committer, services.log, services.content,
                options.remote.disk_cache),
      container_services_{*this, contents_, services.committer, services.reading} {
  objects_.require_shown();
  if (!writable_) return;
  Committer::Services committing;
  committing.ended = [&budget = services.budget](uid_t user, const std::error_code& error) {
    budget.commit_ended(user, error);
  };
  committing.follow = [this](const std::shared_ptr<Content>& content, IfBeingWritten) {
    return contents_.follow(content);
  };
  // Each is stored by a request of its own: there is no flush to share.
  committing.batch = 1;
  services.committer.start(std::move(committing));
}

std::unique_ptr<Mount> mount_objects(const std::shared_ptr<frame::ObjectTree>& tree,
                                     MountOptions options, std::size_t workers, PagePool& pages,
                                     const frame::Clock& clock) {
  if (options.write.chunk_size == 0) options.write.chunk_size = kChunkSize;
  return std::make_unique<Mount>(options, workers, pages, clock,
                                 [&](const MountServices& services) {
                                   return std::make_unique<RemoteSource>(services, tree, options);
                                 });
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

std::vector<std::string> RemoteSource::attribute_names(NodeId node) {
  const auto file = objects_.opened(node);
  if (!file || !file->content->is_writable())
    return names_of_attributes(objects_.frame_of(node).get());
  // Before what is committed: a commit that ends in between is seen twice rather than not at all.
  const LayerChanges changes = file->content->uncommitted_metalayers();
  const auto frame = objects_.frame_of(node);
  if (!frame) return list_attributes(nullptr, changes);
  const FrameAttributes found = look_at_attributes(*frame, thread_decoder());
  return list_attributes(&found, changes);
}

std::string RemoteSource::attribute(NodeId node, const std::string& name) {
  std::optional<std::string> value;
  TurnAtNeed::need();
  if (const auto group = objects_.store_group(node)) {
    value = group_attribute(group->store->store(), group->group, name);
  } else if (layer_of(name) || is_computed(name)) {
    // Listings ask for access lists, for which no frame is to be opened.
    const auto file = objects_.opened(node);
    const bool is_written = file && file->content->is_writable();
    // Before what is committed: a commit that ends in between is seen twice rather than not at all.
    AttributeValues values;
    if (is_written) values.changes = file->content->uncommitted_metalayers();
    const auto frame = objects_.frame_of(node);
    values.layer = [&](const LayerName& layer) {
      return frame ? read_layer(*frame, layer, thread_decoder()) : std::nullopt;
    };
    values.info = [&] { return frame ? frame->info() : file->content->info(); };
    if (frame || is_written) value = value_of(values, name);
  }
  if (!value) throw_errno(ENODATA, name);
  return *std::move(value);
}

OpenedFile RemoteSource::open(NodeId node, int flags, FairShare::Part) {
  const bool writes = (flags & O_ACCMODE) != O_RDONLY;
  return {writes ? open_for_writing(node, flags) : open_for_reading(node, flags), false, {}};
}

std::shared_ptr<FileHandle> RemoteSource::open_for_reading(NodeId node, int flags) {
  Objects::Opened opened = objects_.open(node, services_.content);
  std::string told = objects_.told_path(node);
  // One that somebody writes shows what is written.
  if (opened.container && opened.container->content->is_writable())
    return std::make_shared<ContainerHandle>(container_services_, node, flags,
                                             std::move(opened.container));
  if (opened.container)
    return std::make_shared<FixedContentHandle>(services_.reading, node, flags,
                                                std::move(opened.container), std::move(told));
  return std::make_shared<ObjectHandle>(services_.reading, node, flags, opened.attributes,
                                        std::move(opened.object), std::move(told));
}

// --- changes

void RemoteSource::require_writable(const std::string& name) const {
  if (!writable_) throw_errno(EROFS, name);
}

FoundNode RemoteSource::create_file(NodeId directory, const std::string& name, mode_t mode,
                                    const Caller& caller) {
  require_writable(name);
  TurnAtNeed::need();
  frame::FileAttributes owner;
  owner.owner = caller.user;
  owner.group = caller.group;
  owner.mode = mode & ~caller.umask & 0777;
  owner.modified = owner.accessed = now();
  FoundNode found = objects_.create(directory, name, owner, services_.write_options.suffix);
  try {
    contents_.created(found.id);
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
  contents_.removed(
      objects_.remove_file(directory, name, [&](NodeId node) { contents_.commit(node); }));
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
    contents_.commit(found->id);
  }
  contents_.removed(objects_.rename(from, from_name, to, to_name, (flags & kNoReplace) == 0));
}

void RemoteSource::sync_directory(NodeId) {
  if (!writable_) return;
  TurnAtNeed::need();
  services_.committer.commit_all();
}

std::shared_ptr<FileHandle> RemoteSource::open_for_writing(NodeId node, int flags) {
  require_writable("open");
  TurnAtNeed::need();
  auto file = contents_.open_for_writing(node);
  auto handle = std::make_shared<ContainerWriter>(container_services_, node, flags, file);
  file->content->require_changeable(*contents_.home(node));
  handle->begin(contents_.home(node));
  try {
    if ((flags & O_TRUNC) != 0) handle->truncate(0);
  } catch (...) {
    handle->close();
    throw;
  }
  return handle;
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
  const auto file = contents_.open_for_writing(node);
  file->content->require_changeable(*contents_.home(node));
  file->content->resize(size);
  contents_.changed(file, {});
}

void RemoteSource::put_metalayer(NodeId node, const std::string& name, LayerChange content,
                                 int flags) {
  require_writable(name);
  if (!is_in_shown_space(name)) throw_errno(EOPNOTSUPP, name);
  if (!name.starts_with(kAttributePrefix)) throw_errno(EOPNOTSUPP, name);
  TurnAtNeed::need();
  const auto layer = layer_of(name);
  if (!layer || !is_free(*layer)) {
    if (!layer && !is_computed(name)) throw_errno(EINVAL, name);
    throw_errno(EPERM, name);
  }
  frame::check_layer_name(layer->name);
  const auto file = contents_.open_for_writing(node);
  metalayers_.put(*file->content, *layer, std::move(content), flags);
  contents_.changed(file, {});
}

void RemoteSource::set_attribute(NodeId node, const std::string& name, const std::string& value,
                                 int flags, const Caller&) {
  put_metalayer(node, name, content_for(name, value), flags);
}

void RemoteSource::remove_attribute(NodeId node, const std::string& name, const Caller&) {
  put_metalayer(node, name, nullptr, 0);
}

}  // namespace bloscfs::fs
