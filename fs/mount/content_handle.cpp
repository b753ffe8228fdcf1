#include "fs/mount/content_handle.hpp"

#include <cerrno>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "frame/store/throw_errno.hpp"
#include "fs/support/request_limits.hpp"

namespace bloscfs::fs {

void ReadingServices::log_bad_data(const std::string& told_path,
                                   const std::exception& error) const {
  log.error(fmt::format("{}: {}", told_path, error.what()));
}

ContentHandle::ContentHandle(const ReadingServices& services, NodeId node, int flags,
                             std::shared_ptr<const OpenContainer> file)
    : FileHandle(node, flags),
      file_(std::move(file)),
      epoch_(file_->content->epoch()),
      reading_(services) {}

void ContentHandle::expect_more(std::int64_t offset, std::int64_t size, uid_t user) {
  readahead_.on_read(offset, size, user, file_, reading_.pool, reading_.readahead);
}

ReadBytes ContentHandle::read(std::int64_t offset, std::int64_t size) {
  const bool kernel_serves_all = reading_.direct_handles == 0;
  ReplyData out(reading_.pages, kernel_serves_all);
  try {
    read_into(out, offset, size);
    readahead_.was_read(offset + static_cast<std::int64_t>(out.size()));
    reading_.stats.contents_bytes_read += out.size();
  } catch (const std::exception& error) {
    if (is_interruption(error)) throw;
    reading_.stats.io_errors++;
    reading_.log_bad_data(told_path(), error);
    // A direct reader may be given what precedes the bad place; through the page cache the kernel
    // would take a short reply for the end of the file.
    if (!is_direct() || out.size() == 0) throw;
  }
  return out;
}

/// Who does not write keeps what it has opened.
void ContentHandle::read_into(ReplyData& out, std::int64_t offset, std::int64_t size) {
  content().read(offset, size, out, epoch_);
}

std::int64_t ContentHandle::seek(std::int64_t offset, int whence) const {
  const auto found =
      whence == SEEK_DATA ? content().seek_data(offset) : content().seek_hole(offset);
  if (!found) frame::throw_errno(ENXIO, "lseek");
  return *found;
}

}  // namespace bloscfs::fs
