#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "tests/model/chooser.hpp"
#include "tests/model/operation.hpp"
#include "tests/support/frame_writer.hpp"
#include "tests/support/npy.hpp"

namespace bloscfs::test {

namespace {

/// Makes a NPY file. One in five is cut short, is too long, or has a header that NumPy does not
/// write.
ByteVector npy_bytes(Chooser& chooser) {
  const auto rows = static_cast<std::int64_t>(chooser.below(300));
  const auto columns = static_cast<std::int64_t>(1 + chooser.below(200));
  const bool doubles = chooser.chance(50);
  const std::string header =
      npy_header(doubles ? "<f8" : "<i2", {rows, columns}, chooser.chance(20));
  ByteVector bytes = bytes_of(header);
  const ByteVector items =
      chooser.bytes(static_cast<std::size_t>(rows * columns) * (doubles ? 8 : 2));
  bytes.insert(bytes.end(), items.begin(), items.end());
  switch (chooser.below(15)) {
    case 0:
      bytes.resize(chooser.below(bytes.size()));
      break;
    case 1:
      bytes.push_back(1);
      break;
    case 2:
      bytes[header.size() - 1] = ' ';
      break;
    default:
      break;
  }
  return bytes;
}

ByteVector frame_bytes(Chooser& chooser) {
  Cut cut;
  cut.chunksize = 16384;
  cut.blocksize = 4096;
  return flat_frame(chooser.bytes(chooser.below(60000)), cut);
}

bool choose_save(Chooser& chooser, Operation& operation) {
  operation.path = chooser.file();
  operation.bytes = chooser.bytes(static_cast<std::size_t>(chooser.length()));
  operation.size = static_cast<std::int64_t>(1 + chooser.below(70000));  // of one write
  return true;
}

bool choose_save_npy(Chooser& chooser, Operation& operation) {
  if (!choose_save(chooser, operation)) return false;
  operation.bytes = npy_bytes(chooser);
  return true;
}

bool choose_save_frame(Chooser& chooser, Operation& operation) {
  // If a plain file with several hard links became a frame, the frame would have only one of its
  // names.
  if (!choose_save(chooser, operation) || chooser.has_links(operation.path)) return false;
  operation.bytes = frame_bytes(chooser);
  return true;
}

bool choose_replace(Chooser& chooser, Operation& operation) {
  if (!choose_save(chooser, operation)) return false;
  operation.other = chooser.file();
  return true;
}

Outcome write_all(int fd, const Operation& operation) {
  const auto step = static_cast<std::size_t>(operation.size);
  for (std::size_t at = 0; at < operation.bytes.size(); at += step) {
    const std::size_t size = std::min(step, operation.bytes.size() - at);
    const ssize_t got = write(fd, operation.bytes.data() + at, size);
    if (got != static_cast<ssize_t>(size)) return outcome_of(got);
  }
  return {};
}

Outcome perform_save(Side& side, const Operation& operation) {
  const Fd fd(open((side / operation.path).c_str(),
                   O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0644));
  if (!fd) return outcome_of(-1);
  return write_all(fd.get(), operation);
}

/// Writes a file under one name, makes it durable, and renames it over another one if `other` is
/// set.
Outcome perform_replace(Side& side, const Operation& operation) {
  const Outcome written = perform_save(side, operation);
  if (written.error != 0) return written;
  const Fd fd(open((side / operation.path).c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  if (!fd || fsync(fd.get()) != 0) return outcome_of(-1);
  if (operation.other.empty()) return {};
  Outcome renamed =
      outcome_of(rename((side / operation.path).c_str(), (side / operation.other).c_str()));
  renamed.is_half_done = renamed.error != 0;
  return renamed;
}

}  // namespace

const OperationKinds& saving_operations() {
  static const OperationKinds kinds = {
      {"save", 4, Touches::contents, choose_save, perform_save},
      {"save_npy", 3, Touches::contents, choose_save_npy, perform_save},
      {"save_frame", 1, Touches::contents, choose_save_frame, perform_save},
      {"replace", 2, Touches::contents, choose_replace, perform_replace},
  };
  return kinds;
}

}  // namespace bloscfs::test
