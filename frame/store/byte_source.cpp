#include "frame/store/byte_source.hpp"

#include <cerrno>
#include <limits>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "codec/error.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline store {

void UniqueFd::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

FileStamp stamp_of(const struct stat& st) {
  return {static_cast<std::uint64_t>(st.st_dev), static_cast<std::uint64_t>(st.st_ino),
          static_cast<std::int64_t>(st.st_size), static_cast<std::int64_t>(st.st_mtim.tv_sec),
          static_cast<std::int64_t>(st.st_mtim.tv_nsec)};
}

struct stat status_of(int fd) {
  struct stat st {};
  if (::fstat(fd, &st) != 0) throw_errno("fstat");
  return st;
}

void ByteSource::read_exactly_at(std::uint64_t offset, MutableBytes out, const char* what) const {
  const std::size_t got = read_at(offset, out);
  if (got != out.size())
    codec::throw_malformed(
        fmt::format("{} at {}: source ends after {} of {} bytes", what, offset, got, out.size()));
}

std::size_t FileSource::read_at(std::uint64_t offset, MutableBytes out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const std::uint64_t position = offset + done;
    if (position < offset || position > std::uint64_t{std::numeric_limits<off_t>::max()}) break;
    const ssize_t got =
        ::pread(fd(), out.data() + done, out.size() - done, static_cast<off_t>(position));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_errno("pread");
    // The end of the file is not an error here. read_exactly_at() throws for it.
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
    if (counters_ != nullptr) {
      counters_->reads.fetch_add(1, std::memory_order_relaxed);
      counters_->bytes.fetch_add(static_cast<std::uint64_t>(got), std::memory_order_relaxed);
    }
  }
  return done;
}

FileStamp FileSource::stamp() const { return stamp_of(status_of(fd())); }

std::optional<FileReaders> FileSource::readers() const {
  const struct stat st = status_of(fd());
  return FileReaders{st.st_uid, (st.st_mode & (S_IRGRP | S_IROTH)) != 0};
}

}  // namespace bloscfs::frame::inline store
