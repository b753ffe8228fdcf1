#include "fs/mount/frame_aliases.hpp"

#include <algorithm>
#include <cerrno>

#include <fcntl.h>

#include "frame/store/throw_errno.hpp"
#include "fs/source/plain_file.hpp"

namespace bloscfs::fs {
namespace {

using frame::throw_errno;

/// A commit in place is the change of a header within the first bytes (frame/INVARIANTS.md).
constexpr std::size_t kBeginning = 512;

std::vector<std::uint8_t> beginning_of(const frame::FileSource& source) {
  std::vector<std::uint8_t> bytes(kBeginning);
  bytes.resize(source.read_at(0, bytes));
  return bytes;
}

}  // namespace

OpenAlias::OpenAlias(const struct stat& shown, frame::UniqueFd file,
                     frame::SourceCounters& counters)
    : OpenFile(shown), source_(std::move(file), &counters), beginning_(beginning_of(source_)) {}

bool OpenAlias::is_unchanged() const { return beginning_of(source_) == beginning_; }

ReadBytes AliasHandle::read(std::int64_t offset, std::int64_t size) {
  ReplyData data(pages_);
  const std::int64_t there = std::clamp<std::int64_t>(attributes().st_size - offset, 0, size);
  if (there == 0) return data;
  const auto bytes = data.add_owned(static_cast<std::size_t>(there));
  const std::size_t read = file_->source().read_at(static_cast<std::uint64_t>(offset), bytes);
  // Looked at behind the bytes: what the header still reaches was not used for anything else.
  if (read < bytes.size() || !file_->is_unchanged())
    throw_errno(EIO, "the frame has another state by now");
  return data;
}

std::int64_t AliasHandle::seek(std::int64_t offset, int whence) const {
  return seek_plain(file_->source().fd(), offset, whence);
}

std::shared_ptr<FileHandle> FrameAliases::open(NodeId node, const SourceEntry& entry, int flags) {
  if ((flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC) != 0) throw_errno(EROFS, "open");
  auto file = tree_.opened_as<OpenAlias>(node);
  // A commit within the resolution of the clock leaves the times that its file had.
  if (file && !file->is_unchanged()) {
    tree_.retire_opened(node, *file);
    file.reset();
  }
  if (!file) {
    file = std::make_shared<const OpenAlias>(tree_.attributes_of(entry),
                                             entry.object->open(O_RDONLY), counters_);
    if (!(state_of(frame::status_of(file->source().fd())) == state_of(entry.own_stat)))
      throw_errno(ESTALE, "changed meanwhile");
    file = tree_.share_opened(node, std::move(file), entry);
  }
  return std::make_shared<AliasHandle>(node, flags, std::move(file), pages_);
}

void FrameAliases::resize(NodeId, std::int64_t) { throw_errno(EROFS, "truncate"); }

}  // namespace bloscfs::fs
