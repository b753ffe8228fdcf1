// Requests on open files.

#include <algorithm>
#include <cerrno>
#include <limits>

#include <fcntl.h>
#include <linux/falloc.h>
#include <unistd.h>

#include "tests/fuzz/request_player.hpp"

namespace bloscfs::fuzz {
namespace {

constexpr std::uint32_t kOwner = 1000;
/// Files of sizes in between would be committed with an index that takes the fuzzer seconds.
constexpr unsigned kSizeBits = 33;
constexpr std::uint64_t kEnd = std::numeric_limits<std::int64_t>::max();

/// Chooses an offset or a size. Those near the file's end are the most likely ones.
std::uint64_t choose_offset(InputReader& input, const KnownNode* node) {
  const std::uint64_t size = node != nullptr && node->contents ? node->contents->size() : 4096;
  const std::uint8_t choice = input.byte();
  switch (choice % 8) {
    case 0:
      return choice / 8U;
    case 1:
      return input.word();
    case 2:
      return size;
    case 3:
      return size - std::min<std::uint64_t>(size, choice / 8U);
    case 4:
      return size + choice / 8U;
    case 5:
      return std::uint64_t{1} << (input.byte() % kSizeBits);
    case 6:
      return kEnd - input.byte();
    default:
      return input.byte() * std::uint64_t{4096};
  }
}

std::size_t choose_length(InputReader& input) {
  const std::uint8_t choice = input.byte();
  return choice < 128 ? choice + std::size_t{1} : std::size_t{1} << (choice % 18);
}

}  // namespace

void RequestPlayer::open(InputReader& input) {
  static constexpr int kFlags[] = {O_RDONLY, O_RDWR,           O_WRONLY,
                                   O_RDWR,   O_RDWR | O_TRUNC, O_RDWR | O_APPEND};
  KnownNode* const node = known_.choose(input.byte(), S_IFREG);
  const int flags = kFlags[input.below(std::size(kFlags))];
  if (node == nullptr) return;
  fuse_open_in open{};
  open.flags = static_cast<std::uint32_t>(flags);
  const Reply reply = ask(FUSE_OPEN, node->id, {as_bytes(open)});
  if (reply.error != 0) return;
  known_.opened({reply.as<fuse_open_out>().fh, node->id, flags});
  if ((flags & O_TRUNC) != 0 && !source_has_changed_)
    node->contents.emplace();
  else
    learn(*node);
}

/// Reads the whole file, as another program does.
void RequestPlayer::learn(KnownNode& node) {
  if (node.contents || source_has_changed_) return;
  const Reply attributes = ask(FUSE_GETATTR, node.id, {as_bytes(fuse_getattr_in{})});
  const std::uint64_t size = attributes.as<fuse_attr_out>().attr.size;
  if (attributes.error != 0 || size > KnownFiles::kMostKept) return;
  const Reply opened = ask(FUSE_OPEN, node.id, {as_bytes(fuse_open_in{})});
  if (opened.error != 0) return;
  fuse_read_in read{};
  read.fh = opened.as<fuse_open_out>().fh;
  read.size = KnownFiles::kMostKept;
  Reply bytes = ask(FUSE_READ, node.id, {as_bytes(read)});
  fuse_release_in release{};
  release.fh = read.fh;
  ask(FUSE_RELEASE, node.id, {as_bytes(release)});
  if (bytes.error != 0) return;
  if (bytes.bytes.size() != size)
    fail(std::to_string(bytes.bytes.size()) + " bytes of " + std::to_string(size));
  node.contents = std::move(bytes.bytes);
}

void RequestPlayer::read(InputReader& input) {
  const auto handle = known_.choose_handle(input.byte(), true, false);
  if (!handle) return;
  const KnownNode* const node = known_.find(handle->node);
  fuse_read_in read{};
  read.fh = handle->number;
  read.offset = choose_offset(input, node);
  read.size = static_cast<std::uint32_t>(std::min(choose_length(input), kEnd - read.offset));
  const Reply reply = ask(FUSE_READ, handle->node, {as_bytes(read)});
  if (node == nullptr || !node->contents) return;
  if (reply.error != 0) fail("read: " + std::to_string(reply.error));
  const auto& contents = *node->contents;
  const std::size_t begin = std::min<std::size_t>(read.offset, contents.size());
  const std::size_t size = std::min<std::size_t>(read.size, contents.size() - begin);
  const auto expected = codec::Bytes(contents).subspan(begin, size);
  if (!std::equal(reply.bytes.begin(), reply.bytes.end(), expected.begin(), expected.end()))
    fail("other bytes than were written");
}

std::vector<std::uint8_t> RequestPlayer::bytes_to_write(InputReader& input) const {
  static constexpr std::uint8_t kNpy[] =
      "\x93NUMPY\x01\x00\x76\x00{'descr': '<i2', 'fortran_order': False, 'shape': (40,), }"
      "                                                          \n";
  const std::uint8_t choice = input.byte();
  switch (choice % 4) {
    case 0: {
      const codec::Bytes bytes = input.bytes(choice / 4U + 1);
      return {bytes.begin(), bytes.end()};
    }
    case 1:
      return std::vector<std::uint8_t>(choose_length(input), static_cast<std::uint8_t>(choice / 8));
    case 2: {
      std::vector<std::uint8_t> bytes(choose_length(input));
      std::uint32_t state = choice;
      for (std::uint8_t& byte : bytes)
        byte = static_cast<std::uint8_t>((state = state * 1664525U + 1013904223U) >> 24);
      return bytes;
    }
    default: {
      if (choice < 64) {
        std::vector<std::uint8_t> bytes(std::begin(kNpy), std::end(kNpy) - 1);
        bytes.resize(128 + 80, 7);
        return bytes;
      }
      return source_.images()[choice % source_.images().size()].files.front().second;
    }
  }
}

void RequestPlayer::write(InputReader& input) {
  const auto handle = known_.choose_handle(input.byte(), false, true);
  if (!handle) return;
  KnownNode* const node = known_.find(handle->node);
  const std::uint8_t how = input.byte();
  const bool is_page = how % 16 == 0;
  const bool appends = (handle->flags & O_APPEND) != 0 && !is_page;
  fuse_write_in write{};
  write.fh = handle->number;
  write.flags = static_cast<std::uint32_t>(handle->flags);
  write.write_flags = is_page ? FUSE_WRITE_CACHE : 0;
  if (how / 16 == 1) write.write_flags |= FUSE_WRITE_KILL_SUIDGID;
  const std::vector<std::uint8_t> bytes = bytes_to_write(input);
  write.offset = std::min(choose_offset(input, node), kEnd - bytes.size());
  // With O_APPEND, the kernel sends the offset of the end.
  if (appends && node != nullptr && node->contents) write.offset = node->contents->size();
  write.size = static_cast<std::uint32_t>(bytes.size());
  const Reply reply = ask(FUSE_WRITE, handle->node, {as_bytes(write), bytes});
  if (reply.error != 0 || node == nullptr) return;
  const std::uint32_t written = reply.as<fuse_write_out>().size;
  if (written > bytes.size()) fail("more written than was to be");
  if (node->contents) put_bytes(*node, write.offset, codec::Bytes(bytes).first(written));
}

void RequestPlayer::allocate(InputReader& input) {
  static constexpr std::uint32_t kModes[] = {0,
                                             FALLOC_FL_KEEP_SIZE,
                                             FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE,
                                             FALLOC_FL_ZERO_RANGE,
                                             FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE,
                                             FALLOC_FL_COLLAPSE_RANGE};
  const auto handle = known_.choose_handle(input.byte(), false, true);
  if (!handle) return;
  KnownNode* const node = known_.find(handle->node);
  fuse_fallocate_in allocate{};
  allocate.fh = handle->number;
  allocate.mode = kModes[input.below(std::size(kModes))];
  allocate.offset = std::min(choose_offset(input, node), kEnd - 1);
  allocate.length =
      std::clamp<std::uint64_t>(choose_offset(input, node), 1, kEnd - allocate.offset);
  const Reply reply = ask(FUSE_FALLOCATE, handle->node, {as_bytes(allocate)});
  if (reply.error != 0 || node == nullptr || !node->contents) return;
  if ((allocate.mode & FALLOC_FL_COLLAPSE_RANGE) != 0) fail("a range was taken out");
  if ((allocate.mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) != 0)
    put_zeros(*node, allocate.offset, allocate.length);
  const std::uint64_t end = allocate.offset + allocate.length;
  if ((allocate.mode & FALLOC_FL_KEEP_SIZE) == 0 && end > node->contents->size())
    set_size(*node, end);
}

void RequestPlayer::truncate(InputReader& input) {
  KnownNode* node = known_.choose(input.byte(), S_IFREG);
  const auto handle = known_.choose_handle(input.byte(), false, true);
  const bool by_handle = handle && input.below(2) == 0;
  if (by_handle) node = known_.find(handle->node);
  if (node == nullptr) return;
  fuse_setattr_in set{};
  set.valid = FATTR_SIZE;
  set.size = choose_offset(input, node);
  if (by_handle) {
    set.valid |= FATTR_FH;
    set.fh = handle->number;
  }
  const Reply reply = ask(FUSE_SETATTR, node->id, {as_bytes(set)});
  if (reply.error != 0) return;
  if (!node->contents && set.size == 0 && !source_has_changed_) node->contents.emplace();
  set_size(*node, set.size);
  if (node->contents && reply.as<fuse_attr_out>().attr.size != set.size) fail("not that size");
}

void RequestPlayer::set_attributes(InputReader& input) {
  const KnownNode& node = known_.choose(input.byte());
  fuse_setattr_in set{};
  const std::uint8_t what = input.byte();
  if ((what & 1) != 0) set.valid |= FATTR_MODE;
  if ((what & 2) != 0) set.valid |= FATTR_UID;
  if ((what & 4) != 0) set.valid |= FATTR_GID;
  if ((what & 8) != 0) set.valid |= FATTR_ATIME;
  if ((what & 16) != 0) set.valid |= FATTR_MTIME;
  if ((what & 32) != 0) set.valid |= FATTR_MTIME_NOW;
  set.mode = static_cast<std::uint32_t>(node.type) | (input.word() & 07777U);
  set.uid = set.gid = input.below(2) == 0 ? 0 : kOwner;
  set.atime = set.mtime = input.word() * (what >= 128 ? std::uint64_t{1} << 30 : 1);
  set.mtimensec = input.byte() * 1000U;
  ask(FUSE_SETATTR, node.id, {as_bytes(set)});
}

void RequestPlayer::sync(InputReader& input) {
  const auto handle = known_.choose_handle(input.byte(), false, false);
  if (!handle) return;
  if (input.below(2) == 0) {
    ask(FUSE_FSYNC, handle->node, {as_bytes(fuse_fsync_in{handle->number, 0, 0})});
  } else {
    fuse_flush_in flush{};
    flush.fh = handle->number;
    ask(FUSE_FLUSH, handle->node, {as_bytes(flush)});
  }
}

void RequestPlayer::seek(InputReader& input) {
  const auto handle = known_.choose_handle(input.byte(), false, false);
  if (!handle) return;
  const KnownNode* const node = known_.find(handle->node);
  fuse_lseek_in seek{};
  seek.fh = handle->number;
  seek.whence = input.below(2) == 0 ? SEEK_DATA : SEEK_HOLE;
  seek.offset = choose_offset(input, node);
  const Reply reply = ask(FUSE_LSEEK, handle->node, {as_bytes(seek)});
  if (node == nullptr || !node->contents) return;
  const auto& contents = *node->contents;
  const bool is_inside = seek.offset < contents.size();
  if (reply.error == 0 && !is_inside) fail("found behind the end");
  if (!is_inside) return;
  const std::uint64_t found = reply.as<fuse_lseek_out>().offset;
  if (reply.error == 0 && (found < seek.offset || found > contents.size())) fail("found elsewhere");
  if (seek.whence == SEEK_HOLE) {
    if (reply.error != 0) fail("no hole, not even the end");
    return;
  }
  // The bytes that the reply skips are a hole.
  const std::uint64_t end = reply.error == 0 ? found : contents.size();
  for (std::uint64_t at = seek.offset; at < end; at++)
    if (contents[at] != 0) fail("data in a hole");
}

void RequestPlayer::copy(InputReader& input) {
  const auto from = known_.choose_handle(input.byte(), true, false);
  const auto to = known_.choose_handle(input.byte(), false, true);
  if (!from || !to) return;
  KnownNode* const target = known_.find(to->node);
  fuse_copy_file_range_in copy{};
  copy.fh_in = from->number;
  copy.off_in = choose_offset(input, known_.find(from->node));
  copy.nodeid_out = to->node;
  copy.fh_out = to->number;
  copy.off_out = choose_offset(input, target);
  copy.len =
      std::min({std::uint64_t{choose_length(input)}, kEnd - copy.off_in, kEnd - copy.off_out});
  const Reply reply = ask(FUSE_COPY_FILE_RANGE, from->node, {as_bytes(copy)});
  if (reply.error == 0 && target != nullptr) target->contents.reset();
}

void RequestPlayer::close(InputReader& input) {
  const auto handle = known_.choose_handle(input.byte(), false, false);
  if (!handle) return;
  fuse_release_in release{};
  release.fh = handle->number;
  release.flags = static_cast<std::uint32_t>(handle->flags);
  if ((handle->flags & O_ACCMODE) != O_RDONLY) {
    fuse_flush_in flush{};
    flush.fh = handle->number;
    ask(FUSE_FLUSH, handle->node, {as_bytes(flush)});
  }
  ask(FUSE_RELEASE, handle->node, {as_bytes(release)});
  known_.closed(handle->number);
}

}  // namespace bloscfs::fuzz
