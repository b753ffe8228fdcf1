// A filesystem that does nothing, which shows the cost of FUSE itself. It has one file `data`,
// whose bytes come from one buffer in memory. It accepts new files, and discards their bytes.
// Requests, their sizes, threads and replies are like those of bloscfs.
//
//   null_fuse MOUNTPOINT BYTES    serves in the foreground, until an unmount or a signal

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <fuse_lowlevel.h>
#include <sys/stat.h>

#include "fs/fuse/request_cells.hpp"
#include "tests/bench/fuse_session.hpp"

namespace {

using bloscfs::bench::kCacheSeconds;
using bloscfs::fs::kRequestSize;
/// Not zeros, which the kernel might not copy.
std::array<char, kRequestSize> contents;

std::mutex mutex;
std::vector<std::int64_t> sizes;           // by inode - FUSE_ROOT_ID - 1
std::map<std::string, fuse_ino_t> inodes;  // by name

bool exists(fuse_ino_t inode) { return inode - FUSE_ROOT_ID <= sizes.size(); }

std::int64_t& size_of(fuse_ino_t inode) { return sizes[inode - FUSE_ROOT_ID - 1]; }

struct stat attributes_of(fuse_ino_t inode) {
  struct stat st {};
  st.st_ino = inode;
  st.st_nlink = 1;
  st.st_blksize = 4096;
  if (inode == FUSE_ROOT_ID) {
    st.st_mode = S_IFDIR | 0755;
    return st;
  }
  st.st_mode = S_IFREG | 0644;
  st.st_size = size_of(inode);
  return st;
}

fuse_entry_param entry_of(fuse_ino_t inode) {
  fuse_entry_param entry{};
  entry.ino = inode;
  entry.generation = 1;
  entry.attr = attributes_of(inode);
  entry.attr_timeout = entry.entry_timeout = kCacheSeconds;
  return entry;
}

fuse_ino_t add_file(const std::string& name, std::int64_t size) {
  sizes.push_back(size);
  return inodes[name] = FUSE_ROOT_ID + sizes.size();
}

void op_init(void*, fuse_conn_info* connection) {
  bloscfs::bench::set_request_sizes(*connection);
  connection->want |=
      connection->capable & static_cast<unsigned>(FUSE_CAP_ASYNC_READ | FUSE_CAP_PARALLEL_DIROPS |
                                                  FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_SPLICE_WRITE);
  connection->want &= ~static_cast<unsigned>(FUSE_CAP_HANDLE_KILLPRIV);
}

void op_lookup(fuse_req_t request, fuse_ino_t, const char* name) {
  const std::lock_guard lock(mutex);
  const auto found = inodes.find(name);
  if (found == inodes.end()) {
    fuse_reply_err(request, ENOENT);
    return;
  }
  const fuse_entry_param entry = entry_of(found->second);
  fuse_reply_entry(request, &entry);
}

void op_getattr(fuse_req_t request, fuse_ino_t inode, fuse_file_info*) {
  const std::lock_guard lock(mutex);
  if (!exists(inode)) {
    fuse_reply_err(request, ENOENT);
    return;
  }
  const struct stat st = attributes_of(inode);
  fuse_reply_attr(request, &st, kCacheSeconds);
}

void op_setattr(fuse_req_t request, fuse_ino_t inode, struct stat* wanted, int fields,
                fuse_file_info*) {
  const std::lock_guard lock(mutex);
  if ((fields & FUSE_SET_ATTR_SIZE) != 0) size_of(inode) = wanted->st_size;
  const struct stat st = attributes_of(inode);
  fuse_reply_attr(request, &st, kCacheSeconds);
}

void op_open(fuse_req_t request, fuse_ino_t, fuse_file_info* info) {
  info->keep_cache = 1;
  fuse_reply_open(request, info);
}

void op_create(fuse_req_t request, fuse_ino_t, const char* name, mode_t, fuse_file_info* info) {
  const std::lock_guard lock(mutex);
  const fuse_entry_param entry = entry_of(add_file(name, 0));
  fuse_reply_create(request, &entry, info);
}

void op_unlink(fuse_req_t request, fuse_ino_t, const char* name) {
  const std::lock_guard lock(mutex);
  fuse_reply_err(request, inodes.erase(name) == 0 ? ENOENT : 0);
}

void op_read(fuse_req_t request, fuse_ino_t inode, std::size_t size, off_t offset,
             fuse_file_info*) {
  std::int64_t there = 0;
  {
    const std::lock_guard lock(mutex);
    there = size_of(inode) - offset;
  }
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(there, 0));
  iovec piece{contents.data(), std::min({most, size, contents.size()})};
  fuse_reply_iov(request, &piece, 1);
}

void op_write(fuse_req_t request, fuse_ino_t inode, fuse_bufvec* in, off_t offset,
              fuse_file_info*) {
  const std::size_t size = fuse_buf_size(in);
  {
    const std::lock_guard lock(mutex);
    size_of(inode) = std::max(size_of(inode), offset + static_cast<std::int64_t>(size));
  }
  fuse_reply_write(request, size);
}

void op_getxattr(fuse_req_t request, fuse_ino_t, const char*, std::size_t) {
  fuse_reply_err(request, EOPNOTSUPP);
}

void op_fsync(fuse_req_t request, fuse_ino_t, int, fuse_file_info*) { fuse_reply_err(request, 0); }

void op_flush(fuse_req_t request, fuse_ino_t, fuse_file_info*) { fuse_reply_err(request, 0); }

fuse_lowlevel_ops operations() {
  fuse_lowlevel_ops ops{};
  ops.init = op_init;
  ops.lookup = op_lookup;
  ops.getattr = op_getattr;
  ops.setattr = op_setattr;
  ops.open = op_open;
  ops.create = op_create;
  ops.unlink = op_unlink;
  ops.read = op_read;
  ops.write_buf = op_write;
  ops.getxattr = op_getxattr;
  ops.fsync = op_fsync;
  ops.flush = op_flush;
  return ops;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  contents.fill(0x5a);
  add_file("data", std::strtoll(argv[2], nullptr, 10));

  return bloscfs::bench::serve("null", "", operations(), argv[1]);
}
