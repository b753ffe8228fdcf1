// FUSE operations on names and inodes.

#include <cerrno>
#include <string_view>
#include <system_error>

#include "fs/reply.hpp"

namespace bloscfs::fs {
namespace {

void op_lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  guarded(request, "lookup", [&] {
    Tree& tree = filesystem(request).tree();
    const std::string_view wanted(name);
    if (wanted == "." || wanted == "..") {
      // From a NFS server that holds a node id without a name for it.
      const NodeId id = wanted == "." ? parent : tree.parent(parent);
      const fuse_entry_param entry = entry_param(tree.reference(id));
      fuse_reply_entry(request, &entry);
      return;
    }
    const auto found = tree.lookup(parent, name);
    if (!found) {
      fuse_reply_err(request, ENOENT);
      return;
    }
    const fuse_entry_param entry = entry_param(*found);
    if (fuse_reply_entry(request, &entry) != 0) tree.forget(found->id, 1);
  });
}

void op_forget(fuse_req_t request, fuse_ino_t inode, std::uint64_t references) {
  filesystem(request).tree().forget(inode, references);
  fuse_reply_none(request);
}

void op_forget_multi(fuse_req_t request, std::size_t count, fuse_forget_data* forgets) {
  Tree& tree = filesystem(request).tree();
  for (std::size_t i = 0; i < count; i++) tree.forget(forgets[i].ino, forgets[i].nlookup);
  fuse_reply_none(request);
}

void op_getattr(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info) {
  guarded(request, "getattr", [&] {
    Filesystem& fs = filesystem(request);
    if (info != nullptr) {
      const struct stat attributes = fs.handle_attributes(info->fh);
      fuse_reply_attr(request, &attributes, kCacheSeconds);
      return;
    }
    const struct stat attributes = fs.tree().attributes(inode);
    fuse_reply_attr(request, &attributes, kCacheSeconds);
  });
}

void op_readlink(fuse_req_t request, fuse_ino_t inode) {
  guarded(request, "readlink", [&] {
    Filesystem& fs = filesystem(request);
    fuse_reply_readlink(request, fs.root().read_link(fs.tree().path(inode)).c_str());
  });
}

void op_statfs(fuse_req_t request, fuse_ino_t) {
  guarded(request, "statfs", [&] {
    const struct statvfs st = filesystem(request).root().stat_filesystem();
    fuse_reply_statfs(request, &st);
  });
}

}  // namespace

void add_lookup_operations(fuse_lowlevel_ops& ops) {
  ops.lookup = op_lookup;
  ops.forget = op_forget;
  ops.forget_multi = op_forget_multi;
  ops.getattr = op_getattr;
  ops.readlink = op_readlink;
  ops.statfs = op_statfs;
}

}  // namespace bloscfs::fs
