// FUSE operations on directories.

#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>

#include "fs/fuse/reply.hpp"
#include "fs/fuse/serve.hpp"

namespace bloscfs::fs {
namespace {

/// "." and ".." come before the entries of the listing. The offset of an entry counts the entries
/// before it.
constexpr off_t kDots = 2;

/// The limit of processor time for a listing, which may be as large as memory allows.
constexpr std::chrono::hours kMostOfListing{24};

/// Collects entries in a reply buffer of bounded size.
class EntryBuffer {
 public:
  EntryBuffer(fuse_req_t request, std::size_t size)
      : request_(request), memory_(new char[size]), size_(size) {}

  bool add(const char* name, const struct stat& attributes, off_t next) {
    return advance(
        fuse_add_direntry(request_, memory_.get() + used_, size_ - used_, name, &attributes, next));
  }
  bool add_plus(const char* name, const fuse_entry_param& entry, off_t next) {
    return advance(
        fuse_add_direntry_plus(request_, memory_.get() + used_, size_ - used_, name, &entry, next));
  }
  void reply() { fuse_reply_buf(request_, memory_.get(), used_); }

 private:
  bool advance(std::size_t needed) {
    if (needed > size_ - used_) return false;
    used_ += needed;
    return true;
  }

  fuse_req_t request_;
  std::unique_ptr<char[]> memory_;
  std::size_t size_;
  std::size_t used_ = 0;
};

struct stat type_and_inode(mode_t type, ino_t inode) {
  struct stat st {};
  st.st_mode = type;
  st.st_ino = inode;
  return st;
}

/// Adds "." and ".." unless `offset` is past them. Returns false once the buffer is full.
bool add_dots(EntryBuffer& buffer, off_t offset, fuse_ino_t inode, bool plus) {
  constexpr const char* kDotNames[] = {".", ".."};
  for (off_t dot = offset; dot < kDots; dot++) {
    fuse_entry_param entry{};  // inode 0: no reference is taken
    entry.attr = type_and_inode(S_IFDIR, inode);
    const bool added = plus ? buffer.add_plus(kDotNames[dot], entry, dot + 1)
                            : buffer.add(kDotNames[dot], entry.attr, dot + 1);
    if (!added) return false;
  }
  return true;
}

/// Adds an entry whose attributes could not be read. A lookup of its name then reports the error.
bool add_without_attributes(EntryBuffer& buffer, const DirectoryEntry& entry, off_t next) {
  fuse_entry_param param{};  // inode 0: no reference is taken
  param.attr = type_and_inode(entry.type, entry.inode);
  return buffer.add_plus(entry.shown_name.c_str(), param, next);
}

/// Adds an entry with its attributes, which gives the kernel a reference to the node. Returns false
/// if it does not fit.
bool add_with_attributes(Request& request, EntryBuffer& buffer, Source& source, NodeId directory,
                         const DirectoryEntry& entry, off_t next) {
  std::optional<FoundNode> found;
  try {
    found = source.enter(request, directory, entry);
  } catch (const NoSlot&) {
    // Does not wait for a slot: earlier entries have taken references, which a second run would
    // take again.
    return add_without_attributes(buffer, entry, next);
  } catch (const std::exception&) {
    return add_without_attributes(buffer, entry, next);
  }
  if (!found) return true;  // removed since the directory was opened
  // Reading the attributes would take much work.
  if (found->id == 0) return add_without_attributes(buffer, entry, next);
  if (buffer.add_plus(entry.shown_name.c_str(), entry_param(*found), next)) return true;
  source.forget(found->id, 1);
  return false;
}

void read_directory(KernelRequest& request, fuse_ino_t inode, std::size_t size, off_t offset,
                    std::uint64_t handle, std::uint64_t begun, bool plus) {
  Mount& mount = mount_of(request);
  Source& source = source_of(request);
  // Listing a large directory on a slow SOURCE takes long.
  request.limit(kMostOfListing);
  request.limit_if_far(inode);
  const auto listing = mount.directories().entries(request, handle, offset == 0, begun);
  EntryBuffer buffer(request, size);
  bool room = add_dots(buffer, offset, inode, plus);
  const auto& entries = listing->entries;
  for (auto i = static_cast<std::size_t>(std::max<off_t>(offset - kDots, 0));
       room && i < entries.size(); i++) {
    const off_t next = static_cast<off_t>(i) + kDots + 1;
    if (plus)
      room = add_with_attributes(request, buffer, source, inode, entries[i], next);
    else
      room = buffer.add(entries[i].shown_name.c_str(),
                        type_and_inode(entries[i].type, entries[i].inode), next);
  }
  // From here on, the request must not be served again: its entries have taken references.
  const Change change(request);
  // After the last entry, reports damage that has left the listing incomplete.
  if (offset >= kDots + static_cast<off_t>(entries.size())) source.require_listed(change, inode);
  buffer.reply();
}

void op_opendir(fuse_req_t raw, fuse_ino_t inode, fuse_file_info* info) {
  // Read when the request arrives: the listing must begin after that.
  const std::uint64_t begun = mount_of(raw).directories().listings_begun();
  serve(raw, inode, Operation::opendir, [=, given = *info](KernelRequest& request) {
    Mount& mount = mount_of(request);
    request.limit(kMostOfListing);
    request.limit_if_far(inode);
    fuse_file_info reply = given;
    reply.fh = mount.directories().open(request, inode, begun);
    if (fuse_reply_open(request, &reply) != 0)
      run_unanswered("opendir",
                     [&](Request& rest) { mount.directories().release(rest, reply.fh); });
  });
}

void op_readdir(fuse_req_t raw, fuse_ino_t inode, std::size_t size, off_t offset,
                fuse_file_info* info) {
  const std::uint64_t begun = mount_of(raw).directories().listings_begun();
  serve(raw, inode, Operation::readdir, [=, handle = info->fh](KernelRequest& request) {
    read_directory(request, inode, size, offset, handle, begun, false);
  });
}

void op_readdirplus(fuse_req_t raw, fuse_ino_t inode, std::size_t size, off_t offset,
                    fuse_file_info* info) {
  const std::uint64_t begun = mount_of(raw).directories().listings_begun();
  serve(raw, inode, Operation::readdir, [=, handle = info->fh](KernelRequest& request) {
    read_directory(request, inode, size, offset, handle, begun, true);
  });
}

void op_releasedir(fuse_req_t raw, fuse_ino_t inode, fuse_file_info* info) {
  serve(raw, inode, Operation::releasedir, [=, handle = info->fh](KernelRequest& request) {
    mount_of(request).directories().release(request, handle);
    fuse_reply_err(request, 0);
  });
}

}  // namespace

void add_directory_operations(fuse_lowlevel_ops& ops) {
  ops.opendir = op_opendir;
  ops.readdir = op_readdir;
  ops.readdirplus = op_readdirplus;
  ops.releasedir = op_releasedir;
}

}  // namespace bloscfs::fs
