// Requests that look up, make, move and remove names.

#include <cerrno>
#include <cstddef>
#include <cstring>

#include <fcntl.h>
#include <linux/fs.h>

#include "fs/fuse/remount.hpp"
#include "tests/fuzz/request_player.hpp"

namespace bloscfs::fuzz {
namespace {

constexpr std::uint32_t kUmask = 022;
constexpr std::uint32_t kListed = 4096;  ///< size of a listing in bytes

}  // namespace

void RequestPlayer::look_up(InputReader& input) {
  const std::uint64_t parent = directory(input).id;
  enter(ask(FUSE_LOOKUP, parent, {as_bytes(name(input))}));
}

void RequestPlayer::make_file(InputReader& input) {
  const std::uint64_t parent = directory(input).id;
  const std::string made = name(input);
  // The kernel looks up a name before it creates a file. If the file exists, the kernel opens it.
  const Reply found = ask(FUSE_LOOKUP, parent, {as_bytes(made)});
  if (enter(found)) return;
  const int flags = input.below(4) == 0 ? O_RDWR | O_CREAT | O_APPEND : O_RDWR | O_CREAT;
  fuse_create_in create{};
  create.flags = static_cast<std::uint32_t>(flags);
  create.mode = S_IFREG | 0666;
  create.umask = kUmask;
  const Reply reply = ask(FUSE_CREATE, parent, {as_bytes(create), as_bytes(made)});
  if (!enter(reply)) return;
  fuse_open_out opened{};
  std::memcpy(&opened, reply.bytes.data() + sizeof(fuse_entry_out), sizeof opened);
  const std::uint64_t id = reply.as<fuse_entry_out>().nodeid;
  known_.opened({opened.fh, id, flags});
  if (!source_has_changed_) known_.find(id)->contents.emplace();
}

void RequestPlayer::make_other(InputReader& input) {
  const std::uint64_t parent = directory(input).id;
  const std::string made = name(input);
  const std::uint8_t kind = input.byte();
  if (kind % 4 == 0) {
    enter(ask(FUSE_SYMLINK, parent, {as_bytes(made), as_bytes(name(input))}));
  } else if (kind % 4 == 1) {
    fuse_mknod_in mknod{};
    mknod.mode = (kind % 8 == 1 ? S_IFREG : S_IFIFO) | 0644;
    mknod.umask = kUmask;
    enter(ask(FUSE_MKNOD, parent, {as_bytes(mknod), as_bytes(made)}));
  } else {
    fuse_mkdir_in mkdir{};
    mkdir.mode = 0777;
    mkdir.umask = kUmask;
    enter(ask(FUSE_MKDIR, parent, {as_bytes(mkdir), as_bytes(made)}));
  }
}

void RequestPlayer::remove(InputReader& input) {
  const std::uint64_t parent = directory(input).id;
  const std::string removed = name(input);
  const Reply found = ask(FUSE_LOOKUP, parent, {as_bytes(removed)});
  if (!enter(found)) return;
  const bool is_directory = S_ISDIR(found.as<fuse_entry_out>().attr.mode);
  ask(is_directory ? FUSE_RMDIR : FUSE_UNLINK, parent, {as_bytes(removed)});
}

void RequestPlayer::rename(InputReader& input) {
  static constexpr std::uint32_t kFlags[] = {
      0, 0, 0, RENAME_NOREPLACE, RENAME_EXCHANGE, RENAME_WHITEOUT};
  const std::uint64_t parent = directory(input).id;
  const std::string from = name(input);
  fuse_rename2_in rename{};
  rename.newdir = directory(input).id;
  const std::string to = name(input);
  rename.flags = kFlags[input.below(std::size(kFlags))];
  if (!enter(ask(FUSE_LOOKUP, parent, {as_bytes(from)}))) return;
  const bool exists = enter(ask(FUSE_LOOKUP, rename.newdir, {as_bytes(to)}));
  if ((rename.flags == RENAME_NOREPLACE && exists) || (rename.flags == RENAME_EXCHANGE && !exists))
    return;
  if (rename.newdir == parent && from == to) return;
  ask(FUSE_RENAME2, parent, {as_bytes(rename), as_bytes(from), as_bytes(to)});
}

void RequestPlayer::link(InputReader& input) {
  const KnownNode* const node = known_.choose(input.byte(), S_IFREG);
  if (node == nullptr) return;
  const fuse_link_in link{node->id};
  const std::uint64_t parent = directory(input).id;
  enter(ask(FUSE_LINK, parent, {as_bytes(link), as_bytes(name(input))}));
}

void RequestPlayer::list(InputReader& input) {
  const std::uint64_t node = directory(input).id;
  const bool plus = input.below(2) == 0;
  const Reply opened = ask(FUSE_OPENDIR, node, {as_bytes(fuse_open_in{})});
  if (opened.error != 0) return;
  fuse_read_in read{};
  read.fh = opened.as<fuse_open_out>().fh;
  read.size = kListed;
  read.offset = input.below(4);
  const Reply listed = ask(plus ? FUSE_READDIRPLUS : FUSE_READDIR, node, {as_bytes(read)});
  for (std::size_t at = 0; plus && at + FUSE_NAME_OFFSET_DIRENTPLUS <= listed.bytes.size();) {
    fuse_direntplus entry;
    std::memcpy(&entry, listed.bytes.data() + at, FUSE_NAME_OFFSET_DIRENTPLUS);
    if (entry.entry_out.nodeid != 0) known_.enter(entry.entry_out);
    at += FUSE_DIRENTPLUS_SIZE(&entry);
  }
  if (input.below(4) == 0) ask(FUSE_FSYNCDIR, node, {as_bytes(fuse_fsync_in{read.fh, 0, 0})});
  fuse_release_in release{};
  release.fh = read.fh;
  ask(FUSE_RELEASEDIR, node, {as_bytes(release)});
}

void RequestPlayer::forget(InputReader& input) {
  const std::uint64_t id = known_.choose(input.byte()).id;
  const std::uint64_t references = known_.forget(id);
  if (references > 0) channel_.tell(FUSE_FORGET, id, {as_bytes(fuse_forget_in{references})});
}

void RequestPlayer::look_at(InputReader& input) {
  const KnownNode& node = known_.choose(input.byte());
  switch (input.below(4)) {
    case 0:
      ask(FUSE_STATFS, node.id, {});
      break;
    case 1:
      if (S_ISLNK(node.type)) ask(FUSE_READLINK, node.id, {});
      break;
    case 2: {
      fuse_ioctl_in commit{};
      commit.cmd = fs::kCommitRequest;
      ask(FUSE_IOCTL, FUSE_ROOT_ID, {as_bytes(commit)});
      break;
    }
    default: {
      const Reply reply = ask(FUSE_GETATTR, node.id, {as_bytes(fuse_getattr_in{})});
      const std::uint64_t size = reply.as<fuse_attr_out>().attr.size;
      if (reply.error == 0 && node.contents && size != node.contents->size())
        fail("size " + std::to_string(size) + ", not " + std::to_string(node.contents->size()));
    }
  }
}

}  // namespace bloscfs::fuzz
