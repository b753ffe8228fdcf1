// FUSE operations that make, move and remove names.

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include <sys/stat.h>

#include "fs/fuse/far_limits.hpp"
#include "fs/fuse/in_turn.hpp"
#include "fs/fuse/reply.hpp"
#include "fs/fuse/watched_operation.hpp"

namespace bloscfs::fs {
namespace {

void reply_found(fuse_req_t request, const FoundNode& found) {
  const fuse_entry_param entry = entry_param(found);
  Source& source = source_of(request);
  if (fuse_reply_entry(request, &entry) != 0)
    run_unanswered("entry", [&] { source.forget(found.id, 1); });
}

void op_mknod(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode, dev_t device) {
  in_turn(request, parent, "mknod", [=, name = std::string(name)] {
    const FarLimits limits(request, parent);
    reply_found(request,
                source_of(request).make_special(parent, name, mode, device, caller_of(request)));
  });
}

/// A change of names may take long: a rename or a hard link may commit the file first, and in a
/// store an embedded leaf becomes a file.
template <typename Body>
void change_names(fuse_req_t request, fuse_ino_t parent, fuse_ino_t other, const char* operation,
                  const Body& body) {
  in_turn(request, parent, operation, [=] {
    const FarLimits limits(request, parent, other);
    body();
  });
}

void op_mkdir(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode) {
  change_names(request, parent, parent, "mkdir", [=, name = std::string(name)] {
    reply_found(request, source_of(request).make_directory(parent, name, mode, caller_of(request)));
  });
}

void op_symlink(fuse_req_t request, const char* target, fuse_ino_t parent, const char* name) {
  change_names(request, parent, parent, "symlink",
               [=, target = std::string(target), name = std::string(name)] {
                 reply_found(request, source_of(request).make_symlink(parent, name, target,
                                                                      caller_of(request)));
               });
}

void op_link(fuse_req_t request, fuse_ino_t inode, fuse_ino_t parent, const char* name) {
  change_names(request, parent, inode, "link", [=, name = std::string(name)] {
    reply_found(request, source_of(request).make_link(inode, parent, name, caller_of(request)));
  });
}

void op_unlink(fuse_req_t request, fuse_ino_t parent, const char* name) {
  change_names(request, parent, parent, "unlink", [=, name = std::string(name)] {
    source_of(request).remove_file(parent, name, caller_of(request));
    fuse_reply_err(request, 0);
  });
}

void op_rmdir(fuse_req_t request, fuse_ino_t parent, const char* name) {
  change_names(request, parent, parent, "rmdir", [=, name = std::string(name)] {
    source_of(request).remove_directory(parent, name, caller_of(request));
    fuse_reply_err(request, 0);
  });
}

void op_rename(fuse_req_t request, fuse_ino_t parent, const char* name, fuse_ino_t new_parent,
               const char* new_name, unsigned flags) {
  change_names(request, parent, new_parent, "rename",
               [=, name = std::string(name), new_name = std::string(new_name)] {
                 source_of(request).rename(parent, name, new_parent, new_name, flags,
                                           caller_of(request));
                 fuse_reply_err(request, 0);
               });
}

/// Takes back what a file that could not be opened has been counted.
class Reference {
 public:
  Reference(Source& source, NodeId node) : source_(source), node_(node) {}
  ~Reference() {
    if (node_ != 0) source_.forget(node_, 1);
  }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;
  void keep() { node_ = 0; }

 private:
  Source& source_;
  NodeId node_;
};

void op_create(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode,
               fuse_file_info* given) {
  in_turn(request, parent, "create", [=, name = std::string(name), info = *given] {
    fuse_file_info reply = info;
    Mount& mount = mount_of(request);
    Source& source = source_of(request);
    const FarLimits limits(request, parent);
    auto descriptors = source.take_descriptors();
    const FoundNode found = source.create_file(parent, name, mode, caller_of(request));
    Reference reference(source, found.id);
    // There is nothing to truncate, which would count as a change.
    reply.fh = mount.open(found.id, info.flags & ~O_TRUNC, std::move(descriptors)).handle;
    reply.keep_cache = 1;
    const fuse_entry_param entry = entry_param(found);
    if (fuse_reply_create(request, &entry, &reply) == 0)
      reference.keep();
    else
      run_unanswered("create", [&] { mount.release(reply.fh); });
  });
}

void op_fsyncdir(fuse_req_t request, fuse_ino_t inode, int, fuse_file_info*) {
  in_turn(request, inode, "fsyncdir", [=] {
    source_of(request).sync_directory(inode);
    fuse_reply_err(request, 0);
  });
}

}  // namespace

void add_namespace_operations(fuse_lowlevel_ops& ops) {
  ops.mknod = watched<Operation::mknod, op_mknod>;
  ops.mkdir = watched<Operation::mkdir, op_mkdir>;
  ops.symlink = watched<Operation::symlink, op_symlink>;
  ops.link = watched<Operation::link, op_link>;
  ops.unlink = watched<Operation::unlink, op_unlink>;
  ops.rmdir = watched<Operation::rmdir, op_rmdir>;
  ops.rename = watched<Operation::rename, op_rename>;
  ops.create = watched<Operation::create, op_create>;
  ops.fsyncdir = watched<Operation::fsyncdir, op_fsyncdir>;
}

}  // namespace bloscfs::fs
