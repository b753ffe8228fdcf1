// FUSE operations that make, move and remove names.

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include <sys/stat.h>

#include "fs/fuse/kernel_readahead.hpp"
#include "fs/fuse/reply.hpp"
#include "fs/fuse/serve.hpp"

namespace bloscfs::fs {
namespace {

void reply_found(KernelRequest& request, const FoundNode& found) {
  const fuse_entry_param entry = entry_param(found);
  Source& source = source_of(request);
  if (fuse_reply_entry(request, &entry) != 0)
    run_unanswered("entry", [&](Request&) { source.forget(found.id, 1); });
}

void op_mknod(fuse_req_t raw, fuse_ino_t parent, const char* name, mode_t mode, dev_t device) {
  serve(raw, parent, Operation::mknod, [=, name = std::string(name)](KernelRequest& request) {
    request.limit_if_far(parent);
    reply_found(request, source_of(request).make_special(request, parent, name, mode, device));
  });
}

void op_mkdir(fuse_req_t raw, fuse_ino_t parent, const char* name, mode_t mode) {
  serve(raw, parent, Operation::mkdir, [=, name = std::string(name)](KernelRequest& request) {
    request.limit_if_far(parent);
    reply_found(request, source_of(request).make_directory(request, parent, name, mode));
  });
}

void op_symlink(fuse_req_t raw, const char* target, fuse_ino_t parent, const char* name) {
  serve(raw, parent, Operation::symlink,
        [=, target = std::string(target), name = std::string(name)](KernelRequest& request) {
          request.limit_if_far(parent);
          reply_found(request, source_of(request).make_symlink(request, parent, name, target));
        });
}

void op_link(fuse_req_t raw, fuse_ino_t inode, fuse_ino_t parent, const char* name) {
  serve(raw, parent, Operation::link, [=, name = std::string(name)](KernelRequest& request) {
    request.limit_if_far(parent, inode);
    reply_found(request, source_of(request).make_link(request, inode, parent, name));
  });
}

void op_unlink(fuse_req_t raw, fuse_ino_t parent, const char* name) {
  serve(raw, parent, Operation::unlink, [=, name = std::string(name)](KernelRequest& request) {
    request.limit_if_far(parent);
    source_of(request).remove_file(request, parent, name);
    fuse_reply_err(request, 0);
  });
}

void op_rmdir(fuse_req_t raw, fuse_ino_t parent, const char* name) {
  serve(raw, parent, Operation::rmdir, [=, name = std::string(name)](KernelRequest& request) {
    request.limit_if_far(parent);
    source_of(request).remove_directory(request, parent, name);
    fuse_reply_err(request, 0);
  });
}

void op_rename(fuse_req_t raw, fuse_ino_t parent, const char* name, fuse_ino_t new_parent,
               const char* new_name, unsigned flags) {
  serve(raw, parent, Operation::rename,
        [=, name = std::string(name), new_name = std::string(new_name)](KernelRequest& request) {
          request.limit_if_far(parent, new_parent);
          source_of(request).rename(request, parent, name, new_parent, new_name, flags);
          fuse_reply_err(request, 0);
        });
}

/// Drops the reference to a new file that could not be opened.
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

void op_create(fuse_req_t raw, fuse_ino_t parent, const char* name, mode_t mode,
               fuse_file_info* given) {
  serve(raw, parent, Operation::create,
        [=, name = std::string(name), info = *given](KernelRequest& request) {
          fuse_file_info reply = info;
          Mount& mount = mount_of(request);
          Source& source = source_of(request);
          request.limit_if_far(parent);
          // Reserved first: without descriptors, no file may be created.
          auto descriptors = source.take_descriptors(request);
          const FoundNode found = source.create_file(request, parent, name, mode);
          Reference reference(source, found.id);
          // O_TRUNC is removed: the new file is empty, and truncating it would count as a change.
          reply.fh =
              mount.open(request, found.id, info.flags & ~O_TRUNC, std::move(descriptors)).handle;
          reply.keep_cache = 1;
          mount_state(request).kernel_readahead->before_open(false);
          const fuse_entry_param entry = entry_param(found);
          if (fuse_reply_create(request, &entry, &reply) == 0)
            reference.keep();
          else
            run_unanswered("create", [&](Request& rest) { mount.release(rest, reply.fh); });
        });
}

void op_fsyncdir(fuse_req_t raw, fuse_ino_t inode, int, fuse_file_info*) {
  serve(raw, inode, Operation::fsyncdir, [=](KernelRequest& request) {
    source_of(request).sync_directory(request, inode);
    fuse_reply_err(request, 0);
  });
}

}  // namespace

void add_namespace_operations(fuse_lowlevel_ops& ops) {
  ops.mknod = op_mknod;
  ops.mkdir = op_mkdir;
  ops.symlink = op_symlink;
  ops.link = op_link;
  ops.unlink = op_unlink;
  ops.rmdir = op_rmdir;
  ops.rename = op_rename;
  ops.create = op_create;
  ops.fsyncdir = op_fsyncdir;
}

}  // namespace bloscfs::fs
