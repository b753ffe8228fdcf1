// Changes of a mounted tree of objects.

#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

#include "frame/header/metalayer_writer.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/mount/object_filesystem.hpp"
#include "fs/support/timestamps.hpp"
#include "fs/support/turns.hpp"
#include "fs/view/attributes.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;

constexpr unsigned kNoReplace = 1;  // RENAME_NOREPLACE

void set_time(timespec& time, const std::optional<timespec>& wanted) {
  if (wanted) time = wanted->tv_nsec == UTIME_NOW ? now() : *wanted;
}

}  // namespace

void ObjectFilesystem::require_writable(const std::string& name) const {
  if (!writable_) throw_errno(EROFS, name);
}

Tree::Found ObjectFilesystem::create_file(NodeId directory, const std::string& name, mode_t mode,
                                          const Caller& caller) {
  require_writable(name);
  TurnAtNeed::need();
  frame::FileAttributes owner;
  owner.owner = caller.user;
  owner.group = caller.group;
  owner.mode = mode & ~caller.umask & 0777;
  owner.modified = owner.accessed = now();
  Tree::Found found = objects_.create(directory, name, owner, write_options_.suffix);
  try {
    contents_.created(found.id);
  } catch (...) {
    objects_.forget(found.id, 1);
    throw;
  }
  return found;
}

Tree::Found ObjectFilesystem::make_directory(NodeId directory, const std::string& name, mode_t,
                                             const Caller&) {
  require_writable(name);
  TurnAtNeed::need();
  return objects_.make_directory(directory, name);
}

Tree::Found ObjectFilesystem::make_symlink(NodeId, const std::string& name, const std::string&,
                                           const Caller&) {
  require_writable(name);
  throw_errno(EPERM, name);
}

Tree::Found ObjectFilesystem::make_special(NodeId directory, const std::string& name, mode_t mode,
                                           dev_t, const Caller& caller) {
  require_writable(name);
  if (!S_ISREG(mode)) throw_errno(EPERM, name);
  return create_file(directory, name, mode, caller);
}

Tree::Found ObjectFilesystem::make_link(NodeId, NodeId, const std::string& name, const Caller&) {
  require_writable(name);
  throw_errno(EPERM, name);
}

void ObjectFilesystem::remove_file(NodeId directory, const std::string& name, const Caller&) {
  require_writable(name);
  TurnAtNeed::need();
  contents_.removed(
      objects_.remove_file(directory, name, [&](NodeId node) { contents_.commit(node); }));
}

void ObjectFilesystem::remove_directory(NodeId directory, const std::string& name, const Caller&) {
  require_writable(name);
  TurnAtNeed::need();
  objects_.remove_directory(directory, name);
}

void ObjectFilesystem::rename(NodeId from, const std::string& from_name, NodeId to,
                              const std::string& to_name, unsigned flags, const Caller&) {
  require_writable(from_name);
  if ((flags & ~kNoReplace) != 0) throw_errno(EINVAL, from_name);
  TurnAtNeed::need();
  if (const auto found = objects_.lookup(from, from_name)) {
    const std::shared_ptr<void> reference(nullptr, [&](void*) { objects_.forget(found->id, 1); });
    contents_.commit(found->id);
  }
  objects_.rename(from, from_name, to, to_name, (flags & kNoReplace) == 0);
}

void ObjectFilesystem::sync_directory(NodeId) {
  if (!writable_) return;
  TurnAtNeed::need();
  committer_.commit_all();
}

std::shared_ptr<FileHandle> ObjectFilesystem::open_for_writing(NodeId node, int flags) {
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

void ObjectFilesystem::set_attributes(NodeId node, NewAttributes wanted, const Caller&) {
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

void ObjectFilesystem::resize(NodeId node, std::int64_t size) {
  require_writable("truncate");
  TurnAtNeed::need();
  const auto file = contents_.open_for_writing(node);
  file->content->require_changeable(*contents_.home(node));
  file->content->resize(size);
  contents_.changed(file, {});
}

void ObjectFilesystem::put_metalayer(NodeId node, const std::string& name, LayerChange content,
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

void ObjectFilesystem::set_attribute(NodeId node, const std::string& name, const std::string& value,
                                     int flags, const Caller&) {
  std::vector<std::uint8_t> content(value.begin(), value.end());
  if (name.starts_with(kJsonPrefix)) content = layer_from_json(value);
  put_metalayer(node, name, std::make_shared<const std::vector<std::uint8_t>>(std::move(content)),
                flags);
}

void ObjectFilesystem::remove_attribute(NodeId node, const std::string& name, const Caller&) {
  put_metalayer(node, name, nullptr, 0);
}

void ObjectFilesystem::commit_written() {
  require_writable("commit");
  committer_.commit_all();
}

void ObjectFilesystem::commit_all() {
  if (!writable_) return;
  committer_.stop();
  try {
    committer_.commit_all();
  } catch (const std::exception&) {
    keep_uncommitted(committer_.uncommitted());
  }
}

}  // namespace bloscfs::fs
