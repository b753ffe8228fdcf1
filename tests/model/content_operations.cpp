#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "tests/model/chooser.hpp"
#include "tests/model/operation.hpp"

namespace bloscfs::test {

namespace {

constexpr int kFlags[] = {O_RDONLY,
                          O_RDWR,
                          O_RDWR,
                          O_RDWR | O_CREAT,
                          O_RDWR | O_CREAT,
                          O_WRONLY | O_CREAT,
                          O_RDWR | O_APPEND,
                          O_RDWR | O_TRUNC,
                          O_RDWR | O_CREAT | O_TRUNC,
                          O_RDWR | O_CREAT | O_EXCL,
                          O_WRONLY | O_CREAT | O_APPEND};

// --- choosing

bool choose_open(Chooser& chooser, Operation& operation) {
  operation.flags = kFlags[chooser.below(std::size(kFlags))];
  operation.path = (operation.flags & O_EXCL) != 0 ? chooser.path() : chooser.existing_path();
  operation.mode = chooser.chance(50) ? 0644 : 0600;
  operation.slot = chooser.below(kSlots);
  return true;
}

bool choose_slot(Chooser& chooser, Operation& operation) {
  return chooser.open_slot(operation.slot);
}

bool choose_range(Chooser& chooser, Operation& operation) {
  if (!chooser.open_slot(operation.slot)) return false;
  operation.offset = chooser.offset(chooser.size_of(operation.slot));
  operation.size = chooser.length();
  return true;
}

bool choose_write(Chooser& chooser, Operation& operation) {
  if (!choose_range(chooser, operation)) return false;
  operation.bytes = chooser.bytes(static_cast<std::size_t>(operation.size));
  return true;
}

bool choose_append(Chooser& chooser, Operation& operation) {
  operation.path = chooser.existing_file();
  operation.bytes = chooser.bytes(1 + chooser.below(5000));
  return true;
}

bool choose_seek(Chooser& chooser, Operation& operation) {
  operation.flags = chooser.chance(50) ? SEEK_SET : chooser.chance(50) ? SEEK_END : SEEK_CUR;
  if (!choose_range(chooser, operation)) return false;
  if (operation.flags != SEEK_SET)
    operation.offset = -static_cast<std::int64_t>(chooser.below(500));
  return true;
}

bool choose_truncate(Chooser& chooser, Operation& operation) {
  operation.path = chooser.existing_path();
  operation.size = chooser.offset(kMaxFileSize / 4);
  return true;
}

bool choose_ftruncate(Chooser& chooser, Operation& operation) {
  if (!chooser.open_slot(operation.slot)) return false;
  operation.size = chooser.offset(chooser.size_of(operation.slot));
  return true;
}

bool choose_copy(Chooser& chooser, Operation& operation) {
  if (!choose_range(chooser, operation)) return false;
  operation.other_slot = chooser.below(kSlots);
  if (!chooser.model().files[operation.other_slot].fd) operation.other_slot = operation.slot;
  operation.other_offset = chooser.offset(chooser.size_of(operation.other_slot));
  return true;
}

// --- doing

int descriptor(const Side& side, const Operation& operation) {
  return side.files[operation.slot].fd.get();
}

Outcome perform_open(Side& side, const Operation& operation) {
  OpenFile& file = side.files[operation.slot];
  file = OpenFile();
  Fd fd(open((side / operation.path).c_str(), operation.flags | O_NONBLOCK | O_CLOEXEC,
             operation.mode));
  if (!fd) return outcome_of(-1);
  file = {std::move(fd), operation.flags, operation.path};
  return {};
}

Outcome perform_close(Side& side, const Operation& operation) {
  const int last = dup(descriptor(side, operation));
  side.files[operation.slot] = OpenFile();
  return outcome_of(close(last));
}

Outcome cut_to_value(Outcome outcome) {
  outcome.bytes.resize(outcome.value < 0 ? 0 : static_cast<std::size_t>(outcome.value));
  return outcome;
}

Outcome perform_read(Side& side, const Operation& operation) {
  ByteVector bytes(static_cast<std::size_t>(operation.size));
  Outcome outcome = outcome_of(read(descriptor(side, operation), bytes.data(), bytes.size()));
  outcome.bytes = std::move(bytes);
  return cut_to_value(std::move(outcome));
}

Outcome perform_pread(Side& side, const Operation& operation) {
  ByteVector bytes(static_cast<std::size_t>(operation.size));
  Outcome outcome =
      outcome_of(pread(descriptor(side, operation), bytes.data(), bytes.size(), operation.offset));
  outcome.bytes = std::move(bytes);
  return cut_to_value(std::move(outcome));
}

Outcome perform_write(Side& side, const Operation& operation) {
  return outcome_of(
      write(descriptor(side, operation), operation.bytes.data(), operation.bytes.size()));
}

Outcome perform_pwrite(Side& side, const Operation& operation) {
  return outcome_of(pwrite(descriptor(side, operation), operation.bytes.data(),
                           operation.bytes.size(), operation.offset));
}

Outcome perform_append(Side& side, const Operation& operation) {
  const Fd fd(open((side / operation.path).c_str(), O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return outcome_of(-1);
  return outcome_of(write(fd.get(), operation.bytes.data(), operation.bytes.size()));
}

Outcome perform_seek(Side& side, const Operation& operation) {
  return outcome_of(lseek(descriptor(side, operation), operation.offset, operation.flags));
}

Outcome perform_truncate(Side& side, const Operation& operation) {
  return outcome_of(truncate((side / operation.path).c_str(), operation.size));
}

Outcome perform_ftruncate(Side& side, const Operation& operation) {
  return outcome_of(ftruncate(descriptor(side, operation), operation.size));
}

template <int mode>
Outcome perform_fallocate(Side& side, const Operation& operation) {
  return outcome_of(fallocate(descriptor(side, operation), mode, operation.offset, operation.size));
}

/// Copies the whole range, even if the filesystem copies it in small steps.
Outcome perform_copy(Side& side, const Operation& operation) {
  loff_t from = operation.offset, to = operation.other_offset;
  const int out = side.files[operation.other_slot].fd.get();
  std::int64_t done = 0;
  while (done < operation.size) {
    const ssize_t got = copy_file_range(descriptor(side, operation), &from, out, &to,
                                        static_cast<std::size_t>(operation.size - done), 0);
    if (got < 0) return outcome_of(got);
    if (got == 0) break;
    done += got;
  }
  return outcome_of(done);
}

Outcome perform_fsync(Side& side, const Operation& operation) {
  return outcome_of(fsync(descriptor(side, operation)));
}

Outcome perform_fdatasync(Side& side, const Operation& operation) {
  return outcome_of(fdatasync(descriptor(side, operation)));
}

/// Restores the file position.
template <int whence>
Outcome perform_seek_for(Side& side, const Operation& operation) {
  const int fd = descriptor(side, operation);
  const off_t before = lseek(fd, 0, SEEK_CUR);
  const Outcome outcome = outcome_of(lseek(fd, operation.offset, whence));
  lseek(fd, before, SEEK_SET);
  return outcome;
}

}  // namespace

const OperationKinds& content_operations() {
  constexpr auto contents = Touches::contents;
  constexpr auto nothing = Touches::nothing;
  static const OperationKinds kinds = {
      {"open", 9, contents, choose_open, perform_open},
      {"close", 5, nothing, choose_slot, perform_close},
      {"read", 6, nothing, choose_range, perform_read},
      {"pread", 9, nothing, choose_range, perform_pread},
      {"write", 6, contents, choose_write, perform_write},
      {"pwrite", 14, contents, choose_write, perform_pwrite},
      {"append", 3, contents, choose_append, perform_append},
      {"seek", 3, nothing, choose_seek, perform_seek},
      {"truncate", 3, contents, choose_truncate, perform_truncate},
      {"ftruncate", 4, contents, choose_ftruncate, perform_ftruncate},
      {"fallocate", 2, contents, choose_range, perform_fallocate<0>},
      {"keep_size", 2, contents, choose_range, perform_fallocate<FALLOC_FL_KEEP_SIZE>},
      {"punch_hole", 3, contents, choose_range,
       perform_fallocate<FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE>},
      {"zero_range", 3, contents, choose_range, perform_fallocate<FALLOC_FL_ZERO_RANGE>},
      {"zero_range_keep", 1, contents, choose_range,
       perform_fallocate<FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE>},
      {"copy_file_range", 3, contents, choose_copy, perform_copy},
      {"fsync", 2, nothing, choose_slot, perform_fsync},
      {"fdatasync", 1, nothing, choose_slot, perform_fdatasync},
      {"seek_data", 2, nothing, choose_range, perform_seek_for<SEEK_DATA>},
      {"seek_hole", 2, nothing, choose_range, perform_seek_for<SEEK_HOLE>},
  };
  return kinds;
}

}  // namespace bloscfs::test
