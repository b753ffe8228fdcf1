#include "tools/raw_input.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/store/throw_errno.hpp"
#include "fs/support/file_error.hpp"
#include "tools/input.hpp"
#include "tools/interrupt.hpp"

namespace bloscfs::tools {

RawInput::RawInput(const std::string& path)
    : RawInput(frame::UniqueFd(path == "-" ? ::dup(STDIN_FILENO)
                                           : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)),
               path == "-" ? "stdin" : path) {}

RawInput::RawInput(frame::UniqueFd file, std::string name)
    : name_(std::move(name)), fd_(std::move(file)) {
  throw_if_interrupted();  // the open may have waited for the other end of a FIFO
  struct stat st {};
  if (!fd_ || ::fstat(fd_.get(), &st) != 0)
    throw FileError(name_, reason(std::system_error(frame::errno_code(errno)), name_));
  if (!S_ISREG(st.st_mode)) return;
  file_offset_ = std::max<off_t>(0, ::lseek(fd_.get(), 0, SEEK_CUR));
  file_size_ = std::max<std::int64_t>(0, st.st_size - file_offset_);
  ::posix_fadvise(fd_.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
}

/// Waits for bytes from a pipe, or for a signal, which ends the wait.
void RawInput::wait_for_bytes() const {
  if (file_size_) return;
  pollfd descriptors[2] = {{fd_.get(), POLLIN, 0}, {interrupt_descriptor(), POLLIN, 0}};
  while (::poll(descriptors, 2, -1) < 0)
    if (errno != EINTR) throw FileError(name_, errno);
}

std::size_t RawInput::read_some(codec::MutableBytes out) {
  if (read_ && !out.empty()) {
    throw_if_interrupted();
    return read_(out);
  }
  for (;;) {
    wait_for_bytes();
    throw_if_interrupted();
    const ssize_t got = ::read(fd_.get(), out.data(), out.size());
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR && errno != EAGAIN) throw FileError(name_, errno);
  }
}

codec::Bytes RawInput::peek(std::size_t size) {
  peeked_.resize(size);
  std::size_t filled = 0;
  for (std::size_t got = 1; filled < size && got > 0; filled += got)
    got = read_some(codec::MutableBytes(peeked_).subspan(filled));
  peeked_.resize(filled);
  return peeked_;
}

std::size_t RawInput::read(codec::MutableBytes out) {
  const std::int64_t left = std::max<std::int64_t>(0, std::ssize(peeked_) - taken_);
  std::size_t filled = std::min(out.size(), static_cast<std::size_t>(left));
  std::copy_n(peeked_.end() - left, filled, out.begin());
  for (std::size_t got = 1; filled < out.size() && got > 0; filled += got)
    got = read_some(out.subspan(filled));
  taken_ += static_cast<std::int64_t>(filled);
  return filled;
}

std::int64_t RawInput::known_rest() const {
  return file_size_ ? std::max<std::int64_t>(0, *file_size_ - taken_) : 0;
}

void RawInput::skip(std::int64_t size) {
  taken_ += size;
  // read() takes peeked bytes from memory, and all others from the position of the file.
  const std::int64_t read = std::max<std::int64_t>(std::ssize(peeked_), taken_);
  if (::lseek(fd_.get(), file_offset_ + read, SEEK_SET) < 0) throw FileError(name_, errno);
}

void RawInput::announce(std::int64_t position, std::int64_t size) const {
  ::posix_fadvise(fd_.get(), position, size, POSIX_FADV_WILLNEED);
}

void RawInput::read_at(std::int64_t position, codec::MutableBytes out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(fd_.get(), out.data(), out.size(), position);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw FileError(name_, errno);
    if (got == 0) throw FileError(name_, "became shorter while it was read");
    position += got;
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

}  // namespace bloscfs::tools
