// A filesystem that passes all requests on to a directory, without compression. It shows the cost
// of FUSE and the directory. Requests, their sizes, threads and the kernel's cache time are like
// those of bloscfs.
//
//   passthrough_fuse DIRECTORY MOUNTPOINT    serves in the foreground, until an unmount or a signal

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "fs/fuse/kernel_channel.hpp"
#include "tests/bench/fuse_session.hpp"

namespace {

using bloscfs::bench::kCacheSeconds;

/// An object that the kernel knows. The node's address is its inode number for the kernel.
struct Node {
  int fd = -1;  ///< O_PATH
  std::uint64_t references = 0;
  std::pair<dev_t, ino_t> identity;

  ~Node() { ::close(fd); }
};

std::mutex mutex;
std::map<std::pair<dev_t, ino_t>, std::unique_ptr<Node>> nodes;
Node root;

Node& node_of(fuse_ino_t inode) {
  return inode == FUSE_ROOT_ID ? root : *reinterpret_cast<Node*>(inode);
}

int fd_of(fuse_ino_t inode) { return node_of(inode).fd; }

std::string path_of(fuse_ino_t inode) { return "/proc/self/fd/" + std::to_string(fd_of(inode)); }

/// Replies to a request whose call returned -1 and set errno.
void reply_status(fuse_req_t request, int result) {
  fuse_reply_err(request, result < 0 ? errno : 0);
}

/// Returns 0 or an errno.
int find(fuse_ino_t parent, const char* name, fuse_entry_param& entry) {
  entry = {};
  entry.generation = 1;
  entry.attr_timeout = entry.entry_timeout = kCacheSeconds;
  const int fd = ::openat(fd_of(parent), name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 || ::fstat(fd, &entry.attr) != 0) return errno;
  const std::lock_guard lock(mutex);
  std::unique_ptr<Node>& node = nodes[{entry.attr.st_dev, entry.attr.st_ino}];
  if (node) {
    ::close(fd);
  } else {
    node = std::make_unique<Node>();
    node->fd = fd;
    node->identity = {entry.attr.st_dev, entry.attr.st_ino};
  }
  node->references++;
  entry.ino = reinterpret_cast<fuse_ino_t>(node.get());
  return 0;
}

void reply_found(fuse_req_t request, fuse_ino_t parent, const char* name) {
  fuse_entry_param entry;
  const int error = find(parent, name, entry);
  if (error != 0)
    fuse_reply_err(request, error);
  else
    fuse_reply_entry(request, &entry);
}

void forget(fuse_ino_t inode, std::uint64_t count) {
  if (inode == FUSE_ROOT_ID) return;
  const std::lock_guard lock(mutex);
  Node& node = node_of(inode);
  node.references -= count;
  if (node.references == 0) nodes.erase(node.identity);
}

void op_init(void*, fuse_conn_info* connection) {
  bloscfs::bench::set_request_sizes(*connection);
  connection->want |= connection->capable &
                      static_cast<unsigned>(FUSE_CAP_ASYNC_READ | FUSE_CAP_PARALLEL_DIROPS |
                                            FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_READDIRPLUS |
                                            FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_SPLICE_WRITE);
  connection->want &= ~static_cast<unsigned>(FUSE_CAP_HANDLE_KILLPRIV);
}

void op_lookup(fuse_req_t request, fuse_ino_t parent, const char* name) {
  reply_found(request, parent, name);
}

void op_forget(fuse_req_t request, fuse_ino_t inode, std::uint64_t count) {
  forget(inode, count);
  fuse_reply_none(request);
}

void op_forget_multi(fuse_req_t request, std::size_t count, fuse_forget_data* forgotten) {
  for (std::size_t i = 0; i < count; i++) forget(forgotten[i].ino, forgotten[i].nlookup);
  fuse_reply_none(request);
}

void op_getattr(fuse_req_t request, fuse_ino_t inode, fuse_file_info*) {
  struct stat st {};
  if (::fstat(fd_of(inode), &st) != 0)
    fuse_reply_err(request, errno);
  else
    fuse_reply_attr(request, &st, kCacheSeconds);
}

void op_setattr(fuse_req_t request, fuse_ino_t inode, struct stat* wanted, int fields,
                fuse_file_info* info) {
  const std::string path = path_of(inode);
  int result = 0;
  if ((fields & FUSE_SET_ATTR_MODE) != 0) result = ::chmod(path.c_str(), wanted->st_mode);
  if (result == 0 && (fields & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID)) != 0)
    result = ::fchownat(fd_of(inode), "",
                        (fields & FUSE_SET_ATTR_UID) != 0 ? wanted->st_uid : static_cast<uid_t>(-1),
                        (fields & FUSE_SET_ATTR_GID) != 0 ? wanted->st_gid : static_cast<gid_t>(-1),
                        AT_EMPTY_PATH);
  if (result == 0 && (fields & FUSE_SET_ATTR_SIZE) != 0)
    result = info != nullptr ? ::ftruncate(static_cast<int>(info->fh), wanted->st_size)
                             : ::truncate(path.c_str(), wanted->st_size);
  if (result == 0 && (fields & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME)) != 0) {
    const auto time = [&](int set, int set_now, const timespec& at) {
      if ((fields & set_now) != 0) return timespec{0, UTIME_NOW};
      return (fields & set) != 0 ? at : timespec{0, UTIME_OMIT};
    };
    const timespec times[2] = {time(FUSE_SET_ATTR_ATIME, FUSE_SET_ATTR_ATIME_NOW, wanted->st_atim),
                               time(FUSE_SET_ATTR_MTIME, FUSE_SET_ATTR_MTIME_NOW, wanted->st_mtim)};
    result = ::utimensat(AT_FDCWD, path.c_str(), times, 0);
  }
  if (result != 0)
    fuse_reply_err(request, errno);
  else
    op_getattr(request, inode, info);
}

void op_readlink(fuse_req_t request, fuse_ino_t inode) {
  char text[4097];
  const ssize_t size = ::readlinkat(fd_of(inode), "", text, sizeof text - 1);
  if (size < 0) {
    fuse_reply_err(request, errno);
    return;
  }
  text[size] = '\0';
  fuse_reply_readlink(request, text);
}

void op_mkdir(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode) {
  if (::mkdirat(fd_of(parent), name, mode) != 0)
    fuse_reply_err(request, errno);
  else
    reply_found(request, parent, name);
}

void op_symlink(fuse_req_t request, const char* target, fuse_ino_t parent, const char* name) {
  if (::symlinkat(target, fd_of(parent), name) != 0)
    fuse_reply_err(request, errno);
  else
    reply_found(request, parent, name);
}

void op_link(fuse_req_t request, fuse_ino_t inode, fuse_ino_t parent, const char* name) {
  const std::string path = path_of(inode);
  if (::linkat(AT_FDCWD, path.c_str(), fd_of(parent), name, AT_SYMLINK_FOLLOW) != 0)
    fuse_reply_err(request, errno);
  else
    reply_found(request, parent, name);
}

void op_unlink(fuse_req_t request, fuse_ino_t parent, const char* name) {
  reply_status(request, ::unlinkat(fd_of(parent), name, 0));
}

void op_rmdir(fuse_req_t request, fuse_ino_t parent, const char* name) {
  reply_status(request, ::unlinkat(fd_of(parent), name, AT_REMOVEDIR));
}

void op_rename(fuse_req_t request, fuse_ino_t parent, const char* name, fuse_ino_t new_parent,
               const char* new_name, unsigned flags) {
  reply_status(request, ::renameat2(fd_of(parent), name, fd_of(new_parent), new_name, flags));
}

void op_open(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info) {
  const int fd = ::open(path_of(inode).c_str(), (info->flags & ~O_NOFOLLOW) | O_CLOEXEC);
  if (fd < 0) {
    fuse_reply_err(request, errno);
    return;
  }
  info->fh = static_cast<std::uint64_t>(fd);
  info->keep_cache = 1;
  fuse_reply_open(request, info);
}

void op_create(fuse_req_t request, fuse_ino_t parent, const char* name, mode_t mode,
               fuse_file_info* info) {
  const int fd = ::openat(fd_of(parent), name, (info->flags | O_CREAT | O_CLOEXEC), mode);
  fuse_entry_param entry;
  const int error = fd < 0 ? errno : find(parent, name, entry);
  if (error != 0) {
    if (fd >= 0) ::close(fd);
    fuse_reply_err(request, error);
    return;
  }
  info->fh = static_cast<std::uint64_t>(fd);
  fuse_reply_create(request, &entry, info);
}

void op_read(fuse_req_t request, fuse_ino_t, std::size_t size, off_t offset, fuse_file_info* info) {
  fuse_bufvec out = FUSE_BUFVEC_INIT(size);
  out.buf[0].flags = static_cast<fuse_buf_flags>(FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK);
  out.buf[0].fd = static_cast<int>(info->fh);
  out.buf[0].pos = offset;
  fuse_reply_data(request, &out, FUSE_BUF_SPLICE_MOVE);
}

void op_write(fuse_req_t request, fuse_ino_t, fuse_bufvec* in, off_t offset, fuse_file_info* info) {
  fuse_bufvec out = FUSE_BUFVEC_INIT(fuse_buf_size(in));
  out.buf[0].flags = static_cast<fuse_buf_flags>(FUSE_BUF_IS_FD | FUSE_BUF_FD_SEEK);
  out.buf[0].fd = static_cast<int>(info->fh);
  out.buf[0].pos = offset;
  std::size_t done = 0;
  for (auto& cell : bloscfs::fs::written_cells(request)) {
    const ssize_t written =
        ::pwrite(out.buf[0].fd, cell.data(), cell.size(), offset + static_cast<off_t>(done));
    if (written < 0) {
      fuse_reply_err(request, errno);
      return;
    }
    done += static_cast<std::size_t>(written);
  }
  // Small writes are not in cells: libfuse has their bytes.
  const ssize_t copied = done > 0 ? static_cast<ssize_t>(done) : fuse_buf_copy(&out, in, {});
  if (copied < 0)
    fuse_reply_err(request, static_cast<int>(-copied));
  else
    fuse_reply_write(request, static_cast<std::size_t>(copied));
}

void op_flush(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  reply_status(request, ::close(::dup(static_cast<int>(info->fh))));
}

void op_release(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  reply_status(request, ::close(static_cast<int>(info->fh)));
}

void op_fsync(fuse_req_t request, fuse_ino_t, int data_only, fuse_file_info* info) {
  const int fd = static_cast<int>(info->fh);
  reply_status(request, data_only != 0 ? ::fdatasync(fd) : ::fsync(fd));
}

void op_opendir(fuse_req_t request, fuse_ino_t inode, fuse_file_info* info) {
  const int fd = ::openat(fd_of(inode), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const directory = fd < 0 ? nullptr : ::fdopendir(fd);
  if (directory == nullptr) {
    fuse_reply_err(request, errno);
    return;
  }
  info->fh = reinterpret_cast<std::uint64_t>(directory);
  fuse_reply_open(request, info);
}

void list(fuse_req_t request, fuse_ino_t inode, std::size_t size, off_t offset,
          fuse_file_info* info, bool plus) {
  auto* const directory = reinterpret_cast<DIR*>(info->fh);
  if (offset != ::telldir(directory)) ::seekdir(directory, offset);
  std::vector<char> out(size);
  std::size_t used = 0;
  while (const dirent* const next = ::readdir(directory)) {
    const std::string name = next->d_name;
    const bool is_dot = name == "." || name == "..";
    fuse_entry_param entry{};
    entry.attr.st_ino = next->d_ino;
    entry.attr.st_mode = static_cast<mode_t>(DTTOIF(next->d_type));
    if (plus && !is_dot && find(inode, next->d_name, entry) != 0) continue;
    const std::size_t added = plus ? fuse_add_direntry_plus(request, out.data() + used, size - used,
                                                            next->d_name, &entry, next->d_off)
                                   : fuse_add_direntry(request, out.data() + used, size - used,
                                                       next->d_name, &entry.attr, next->d_off);
    if (added > size - used) {
      if (entry.ino != 0) forget(entry.ino, 1);
      break;
    }
    used += added;
  }
  fuse_reply_buf(request, out.data(), used);
}

void op_readdir(fuse_req_t request, fuse_ino_t inode, std::size_t size, off_t offset,
                fuse_file_info* info) {
  list(request, inode, size, offset, info, false);
}

void op_readdirplus(fuse_req_t request, fuse_ino_t inode, std::size_t size, off_t offset,
                    fuse_file_info* info) {
  list(request, inode, size, offset, info, true);
}

void op_releasedir(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  reply_status(request, ::closedir(reinterpret_cast<DIR*>(info->fh)));
}

void op_statfs(fuse_req_t request, fuse_ino_t inode) {
  struct statvfs st {};
  if (::fstatvfs(fd_of(inode), &st) != 0)
    fuse_reply_err(request, errno);
  else
    fuse_reply_statfs(request, &st);
}

void op_getxattr(fuse_req_t request, fuse_ino_t inode, const char* name, std::size_t size) {
  std::vector<char> value(size);
  const ssize_t found = ::getxattr(path_of(inode).c_str(), name, value.data(), size);
  if (found < 0)
    fuse_reply_err(request, errno);
  else if (size == 0)
    fuse_reply_xattr(request, static_cast<std::size_t>(found));
  else
    fuse_reply_buf(request, value.data(), static_cast<std::size_t>(found));
}

fuse_lowlevel_ops operations() {
  fuse_lowlevel_ops ops{};
  ops.init = op_init;
  ops.lookup = op_lookup;
  ops.forget = op_forget;
  ops.forget_multi = op_forget_multi;
  ops.getattr = op_getattr;
  ops.setattr = op_setattr;
  ops.readlink = op_readlink;
  ops.mkdir = op_mkdir;
  ops.symlink = op_symlink;
  ops.link = op_link;
  ops.unlink = op_unlink;
  ops.rmdir = op_rmdir;
  ops.rename = op_rename;
  ops.open = op_open;
  ops.create = op_create;
  ops.read = op_read;
  ops.write_buf = op_write;
  ops.flush = op_flush;
  ops.release = op_release;
  ops.fsync = op_fsync;
  ops.opendir = op_opendir;
  ops.readdir = op_readdir;
  ops.readdirplus = op_readdirplus;
  ops.releasedir = op_releasedir;
  ops.statfs = op_statfs;
  ops.getxattr = op_getxattr;
  return ops;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  ::umask(0);
  // Each file that the kernel knows needs a descriptor.
  const rlimit many{1 << 20, 1 << 20};
  ::setrlimit(RLIMIT_NOFILE, &many);
  root.fd = ::open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root.fd < 0) {
    std::perror(argv[1]);
    return 1;
  }
  return bloscfs::bench::serve("passthrough", "default_permissions", operations(), argv[2]);
}
