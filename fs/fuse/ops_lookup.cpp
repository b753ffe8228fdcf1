// FUSE operations on names and inodes.

#include <cerrno>
#include <climits>
#include <optional>
#include <string>

#include <sys/stat.h>

#include "frame/store/throw_errno.hpp"
#include "fs/fuse/kernel_channel.hpp"
#include "fs/fuse/reply.hpp"
#include "fs/fuse/serve.hpp"

namespace bloscfs::fs {
namespace {

/// How long the kernel caches that a name is missing, if its writeback cache is used. Without that
/// caching, data can be lost:
/// 1. One process creates a file while another one looks up the same name, which was missing.
/// 2. The kernel drops the new inode once the creator has closed the file.
/// 3. The next inode gets the size as of the start of the other process's lookup, and the kernel
/// trusts it.
/// 4. An append then overwrites what was written after that lookup began.
/// The kernel does not look up a name that it knows to be missing.
constexpr double kMissingSeconds = 0.1;

void reply_missing(KernelRequest& request) {
  if (!mount_state(request).writeback) {
    fuse_reply_err(request, ENOENT);
    return;
  }
  fuse_entry_param missing{};
  missing.entry_timeout = kMissingSeconds;
  fuse_reply_entry(request, &missing);
}

void reply_lookup(KernelRequest& request, fuse_ino_t parent, const std::string& name) {
  Source& source = source_of(request);
  const auto found = source.lookup(request, parent, name);
  if (!found) return reply_missing(request);
  const fuse_entry_param entry = entry_param(*found);
  if (fuse_reply_entry(request, &entry) != 0)
    run_unanswered("lookup", [&](Request&) { source.forget(found->id, 1); });
}

void op_lookup(fuse_req_t raw, fuse_ino_t parent, const char* name) {
  serve(raw, parent, Operation::lookup, [=, name = std::string(name)](KernelRequest& request) {
    Source& source = source_of(request);
    request.limit_if_far(parent);
    if (name == "." || name == "..") {
      // An NFS server sends these names if it has a node id and no name.
      const NodeId id = name == "." ? parent : source.parent(parent);
      const fuse_entry_param entry = entry_param(source.reference(request, id));
      fuse_reply_entry(request, &entry);
      return;
    }
    if (name.size() > NAME_MAX) frame::throw_errno(ENAMETOOLONG);
    reply_lookup(request, parent, name);
  });
}

void op_forget(fuse_req_t raw, fuse_ino_t inode, std::uint64_t references) {
  run_unanswered("forget", [&](Request&) { mount_of(raw).forget(inode, references); });
  note_use(mount_state(raw));
  fuse_reply_none(raw);
}

void op_forget_multi(fuse_req_t raw, std::size_t count, fuse_forget_data* forgets) {
  run_unanswered("forget", [&](Request&) {
    Mount& mount = mount_of(raw);
    for (std::size_t i = 0; i < count; i++) mount.forget(forgets[i].ino, forgets[i].nlookup);
  });
  note_use(mount_state(raw));
  fuse_reply_none(raw);
}

void op_getattr(fuse_req_t raw, fuse_ino_t inode, fuse_file_info* info) {
  const auto handle = info != nullptr ? std::optional(info->fh) : std::nullopt;
  serve(raw, inode, Operation::getattr, [=](KernelRequest& request) {
    Mount& mount = mount_of(request);
    Source& source = source_of(request);
    request.limit_if_far(inode);
    const struct stat attributes =
        handle ? mount.handle(*handle)->attributes(request) : source.attributes(request, inode);
    fuse_reply_attr(request, &attributes, kCacheSeconds);
  });
}

timespec time_of(const timespec& given, bool is_now) {
  return is_now ? timespec{0, UTIME_NOW} : given;
}

/// Converts all attributes but the size. A chown(2) with neither owner nor group sets nothing, or
/// only the ctime if the kernel maintains it. It gets kUnchangedOwner.
NewAttributes new_attributes(const struct stat& st, int set) {
  NewAttributes wanted;
  if ((set & ~FUSE_SET_ATTR_CTIME) == 0) wanted.owner = kUnchangedOwner;
  if ((set & FUSE_SET_ATTR_MODE) != 0) wanted.mode = st.st_mode;
  if ((set & FUSE_SET_ATTR_UID) != 0) wanted.owner = st.st_uid;
  if ((set & FUSE_SET_ATTR_GID) != 0) wanted.group = st.st_gid;
  if ((set & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW)) != 0)
    wanted.accessed = time_of(st.st_atim, (set & FUSE_SET_ATTR_ATIME_NOW) != 0);
  if ((set & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW)) != 0)
    wanted.modified = time_of(st.st_mtim, (set & FUSE_SET_ATTR_MTIME_NOW) != 0);
  return wanted;
}

void op_setattr(fuse_req_t raw, fuse_ino_t inode, struct stat* given, int set,
                fuse_file_info* info) {
  const bool clears_setid_bits = request_clears_setid_bits(raw);
  const auto handle = info != nullptr ? std::optional(info->fh) : std::nullopt;
  serve(raw, inode, Operation::setattr, [=, given = *given](KernelRequest& request) {
    Mount& mount = mount_of(request);
    Source& source = source_of(request);
    request.limit_if_far(inode);
    if ((set & FUSE_SET_ATTR_SIZE) != 0) {
      // Takes a slot before the size changes. set_attributes() below may wait for a commit, and a
      // changed request cannot be served again to get a slot.
      request.need_slot();
      if (clears_setid_bits) source.drop_privileges(request, inode);
      if (handle)
        mount.handle(*handle)->truncate(request, given.st_size);
      else
        source.resize(request, inode, given.st_size);
    }
    source.set_attributes(request, inode, new_attributes(given, set));
    const struct stat attributes =
        handle ? mount.handle(*handle)->attributes(request) : source.attributes(request, inode);
    fuse_reply_attr(request, &attributes, kCacheSeconds);
  });
}

void op_access(fuse_req_t raw, fuse_ino_t inode, int mask) {
  serve(raw, inode, Operation::access, [=](KernelRequest& request) {
    source_of(request).check_access(request, inode, mask);
    fuse_reply_err(request, 0);
  });
}

void op_readlink(fuse_req_t raw, fuse_ino_t inode) {
  serve(raw, inode, Operation::readlink, [=](KernelRequest& request) {
    Source& source = source_of(request);
    fuse_reply_readlink(request, source.read_link(request, inode).c_str());
  });
}

void op_statfs(fuse_req_t raw, fuse_ino_t inode) {
  serve(raw, inode, Operation::statfs, [=](KernelRequest& request) {
    const struct statvfs st = source_of(request).stat_filesystem();
    fuse_reply_statfs(request, &st);
  });
}

}  // namespace

void add_lookup_operations(fuse_lowlevel_ops& ops) {
  ops.lookup = op_lookup;
  ops.forget = op_forget;
  ops.forget_multi = op_forget_multi;
  ops.getattr = op_getattr;
  ops.setattr = op_setattr;
  ops.access = op_access;
  ops.readlink = op_readlink;
  ops.statfs = op_statfs;
}

}  // namespace bloscfs::fs
