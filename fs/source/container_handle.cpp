#include "fs/source/container_handle.hpp"

#include <cerrno>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "frame/store/refusal.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/source/services.hpp"
#include "fs/source/source.hpp"

namespace bloscfs::fs {
namespace {

/// Reads below this offset count as reading the header. A program may read a header into a large
/// buffer, and the kernel reads ahead of that.
constexpr std::int64_t kStart = 1 << 20;

[[noreturn]] void throw_estale() { frame::throw_errno(ESTALE, "changed by another program"); }

void throw_commit_error(Content& content) {
  if (const std::error_code error = content.take_error())
    throw std::system_error(error, "earlier commit");
}

}  // namespace

// --- reading

ContainerHandle::ContainerHandle(Contents& contents, NodeId node, int flags, pid_t opener,
                                 std::shared_ptr<const OpenContainer> file)
    : FileHandle(node, flags),
      contents_(contents),
      file_(std::move(file)),
      epoch_(file_->content->epoch()) {
  const auto snapshot = content().snapshot();
  is_over_network_ = snapshot && snapshot->is_over_network();
  if (opener == 0) return;
  may_be_mapped_ = file_->last_reader == opener && file_->beginners > 0;
  if ((flags & O_ACCMODE) != O_RDONLY) return;
  file_->last_reader = opener;
  file_->beginners++;
  is_at_start_ = true;
}

void ContainerHandle::leave_start() {
  if (is_at_start_.exchange(false)) file_->beginners--;
}

void ContainerHandle::expect_more(std::int64_t offset, std::int64_t size, uid_t user) {
  if (offset >= kStart || size > kStart - offset) leave_start();
  const SourceServices& services = contents_.services();
  const auto strides =
      is_over_network_ ? Readahead::Strides::are_not_followed : Readahead::Strides::are_followed;
  readahead_.on_read(offset, size, user, file_, services.content.pool, services.readahead, strides);
}

ReadBytes ContainerHandle::read(Request& request, std::int64_t offset, std::int64_t size) {
  const SourceServices& services = contents_.services();
  Stats& stats = services.content.stats;
  // Without O_DIRECT handles the kernel's page cache keeps these bytes, and serves later reads of
  // them.
  const bool kernel_serves_all = services.direct_handles == 0;
  ReplyData out(services.content.cache.pages(), kernel_serves_all);
  try {
    read_into(request, out, offset, size);
    readahead_.was_read(offset + static_cast<std::int64_t>(out.size()));
    stats.contents_bytes_read += out.size();
  } catch (const std::exception& error) {
    if (is_interruption(error)) throw;
    stats.io_errors++;
    services.log_bad_data(request, contents_.source().display_path(node()), error);
    // With O_DIRECT a short reply may hold the bytes in front of the damaged part. Through the page
    // cache the kernel would take a short reply for the end of the file.
    if (!is_direct() || out.size() == 0) throw;
  }
  return out;
}

/// Read-only handles stay on the epoch that they opened.
void ContainerHandle::read_into(Request& request, ReplyData& out, std::int64_t offset,
                                std::int64_t size) {
  content().read(request, offset, size, out, epoch_);
}

std::int64_t ContainerHandle::seek(Request& request, std::int64_t offset, int whence) const {
  const auto found = whence == SEEK_DATA ? content().seek_data(request, offset)
                                         : content().seek_hole(request, offset);
  if (!found) frame::throw_errno(ENXIO, "lseek");
  return *found;
}

struct stat ContainerHandle::attributes(Request& request) const {
  try {
    return contents_.source().attributes(request, node());
  } catch (const std::system_error& error) {
    // A refusal means that the file is gone or may no longer be looked at. Then only the attributes
    // from the time of the open are left. Other errors are thrown.
    if (!frame::is_refusal(error.code())) throw;
    return file_->attributes;
  }
}

void ContainerHandle::sync(Request& request) {
  // The kernel keeps the file locked during an fsync, even one through a read-only handle. So a
  // slot is taken only if there is something to commit.
  const bool needs_commit = content().needs_commit();
  if (needs_commit) request.need_slot();
  throw_commit_error(content());
  if (needs_commit) contents_.services().committer.commit({file_->content});
}

void ContainerHandle::close(Request&) {
  // An open(2) with O_CREAT and O_RDONLY may have made the file. Its handle has a writer's
  // descriptors, and no writer closes the file. So this close queues the commit.
  if (descriptors_.amount() >= DescriptorNeed::kWriter && content().needs_commit())
    contents_.changed(file_, std::move(descriptors_));
}

// --- writing

void ContainerWriter::begin(Request& request, std::shared_ptr<ContentHome> home) {
  content().make_writable(request, std::move(home));
  content().add_writer();
}

/// Writers read the current epoch, whichever that is. If another program's change makes the read
/// fail, follows that change and reads once more.
void ContainerWriter::read_into(Request& request, ReplyData& out, std::int64_t offset,
                                std::int64_t size) {
  const std::size_t before = out.size();
  const std::uint64_t epoch = content().epoch();
  try {
    content().read(request, offset, size, out);
  } catch (const std::system_error&) {
    if (out.size() != before || !contents_.has_followed(request, file_->content, epoch)) throw;
    content().read(request, offset, size, out);
  }
}

/// Throws ESTALE once if this handle's earlier writes went to an epoch whose contents were lost.
void ContainerWriter::report_lost_writes() {
  const std::uint64_t known = epoch_.exchange(content().epoch());
  if (content().lost_contents_of(known)) throw_estale();
}

Content& ContainerWriter::content_to_change(Request& request) {
  // Another program has changed the file. Without uncommitted changes nothing can be lost, so the
  // content follows that change, and the write goes to the present state.
  if (!content().needs_commit() && content().is_overtaken()) contents_.try_follow(request, node());
  report_lost_writes();
  if (content().is_abandoned()) throw_estale();
  return content();
}

/// Tells the committer that the content has dirty bytes. Must be called after the change. If a
/// commit ended between note() and the change, the committer would forget a content that has dirty
/// bytes. Nothing would store them while their writer waits for room.
void ContainerWriter::note_dirty() { contents_.services().committer.note(file_->content, file_); }

/// Changes the content by `work`. Runs `work` again if the content has followed another program's
/// change during the first run. Throws ESTALE if earlier writes of this handle were lost.
template <typename Work>
void ContainerWriter::change(Request& request, const Work& work) {
  for (;;) {
    Content& changed = content_to_change(request);
    const std::uint64_t epoch = epoch_;
    try {
      work(changed, epoch);
      return note_dirty();
    } catch (const std::system_error& error) {
      if (!contents_.can_retry(request, error, file_->content, epoch)) throw;
    }
  }
}

template <typename Bytes>
void ContainerWriter::put(Request& request, const WritePlace& place, Bytes bytes,
                          std::size_t size) {
  const auto at = place.appends ? std::nullopt : std::optional(place.offset);
  if (!place.are_pages)
    return change(request, [&](Content& changed, auto epoch) {
      if (at) changed.remember_chunks(request, *at, static_cast<std::int64_t>(size));
      changed.write(request, at, bytes, epoch);
    });
  // A page belongs to the epoch in which the kernel read it. Written to a later epoch, the page
  // would bring back old bytes. So this write is not retried.
  const std::uint64_t epoch = content().epoch_of_pages();
  content().write(request, at, bytes, epoch);
  note_dirty();
}

std::size_t ContainerWriter::write(Request& request, const WritePlace& place, codec::Bytes bytes) {
  put(request, place, bytes, bytes.size());
  return bytes.size();
}

std::size_t ContainerWriter::write(Request& request, const WritePlace& place,
                                   std::span<PooledBuffer> cells) {
  std::size_t size = 0;
  for (const PooledBuffer& cell : cells) size += cell.size();
  put(request, place, cells, size);
  return size;
}

void ContainerWriter::truncate(Request& request, std::int64_t size) {
  change(request, [&](Content& changed, auto epoch) { changed.resize(request, size, epoch); });
}

void ContainerWriter::allocate(Request& request, int mode, std::int64_t offset, std::int64_t size) {
  const bool keeps_size = (mode & FALLOC_FL_KEEP_SIZE) != 0;
  const bool punches = (mode & FALLOC_FL_PUNCH_HOLE) != 0;
  const bool zeroes = (mode & FALLOC_FL_ZERO_RANGE) != 0;
  if ((mode & ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) != 0)
    frame::throw_errno(EOPNOTSUPP, "fallocate");
  if (size > std::numeric_limits<std::int64_t>::max() - offset)
    frame::throw_errno(EFBIG, "fallocate");
  if (!punches)
    change(request, [&](Content& changed, auto epoch) {
      // First EFBIG if no file can be that large, then ENOSPC if SOURCE has no room for it.
      changed.require_storable(offset + size);
      contents_.source().require_space(offset + size - changed.size());
      changed.reserve(request, keeps_size ? 0 : offset + size, epoch);
    });
  if (punches || zeroes)
    change(request, [&](Content& changed, auto epoch) {
      changed.remember_chunks(request, offset, size);
      changed.zero(request, offset, size, epoch);
    });
}

void ContainerWriter::sync(Request& request) {
  ContainerHandle::sync(request);
  report_lost_writes();
}

void ContainerWriter::flush(Request& request) {
  request.need_slot();
  throw_commit_error(content());
  if (content().is_authoritative() && content().is_overtaken())
    contents_.try_follow(request, node());
  if (content().needs_commit() &&
      (contents_.services().committer.commits_at_close() || contents_.source().is_space_scarce()))
    contents_.services().committer.commit({file_->content});
  // Throws ESTALE, but does not count the loss as reported, so that the next write or fsync throws
  // ESTALE, too. The reason: a flush also comes when another program, such as a child process,
  // closes a copy of the descriptor and ignores the result.
  if (content().lost_contents_of(epoch_)) throw_estale();
}

void ContainerWriter::close(Request&) {
  content().remove_writer();
  if (content().needs_commit())
    contents_.changed(file_, std::move(descriptors_));
  else if (content().is_orphan() && !content().has_writers())
    contents_.services().committer.drop(content());
  contents_.source().left(node(), content().attributes().size);
}

std::shared_ptr<FileHandle> open_handle(Request& request, Contents& contents, NodeId node,
                                        const std::shared_ptr<const OpenContainer>& file,
                                        int flags) {
  const pid_t opener = request.caller() != nullptr ? request.caller()->thread : 0;
  if ((flags & O_ACCMODE) == O_RDONLY)
    return std::make_shared<ContainerHandle>(contents, node, flags, opener, file);
  auto handle = std::make_shared<ContainerWriter>(contents, node, flags, opener, file);
  contents.require_changeable(request, node, *file->content);
  handle->begin(request, contents.source().home(node));
  try {
    // The node may have got another open file before begin() counted this writer.
    if (contents.source().opened(node) != file) throw_estale();
    if ((flags & O_TRUNC) != 0) handle->truncate(request, 0);
  } catch (...) {
    handle->close(request);
    throw;
  }
  return handle;
}

}  // namespace bloscfs::fs
