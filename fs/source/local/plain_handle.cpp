#include "fs/source/local/plain_handle.hpp"

#include <algorithm>
#include <vector>

#include <sys/stat.h>

#include "frame/store/throw_errno.hpp"
#include "fs/support/turns.hpp"

namespace bloscfs::fs {
namespace {

/// One request copies no more, so that its turn ends soon. Programs call copy_file_range(2) again
/// for the rest.
constexpr std::size_t kCopiedAtOnce = std::size_t{64} << 20;

}  // namespace

struct stat PlainHandle::attributes() const {
  struct stat st {};
  if (::fstat(file_->descriptor.get(), &st) != 0) frame::throw_errno("fstat");
  return tree_.owned(st);
}

ReadBytes PlainHandle::read(std::int64_t offset, std::int64_t size) {
  return DescriptorRange{own_descriptor(), offset, static_cast<std::size_t>(size)};
}

std::int64_t PlainHandle::seek(std::int64_t offset, int whence) const {
  return seek_plain(file_->descriptor.get(), offset, whence);
}

std::size_t PlainHandle::copy_to(int descriptor, const CopiedRange& range) const {
  return copy_plain(file_->descriptor.get(), range.from_offset, descriptor, range.to_offset,
                    range.size, range.flags);
}

void PlainHandle::sync() {
  TurnAtNeed::need();
  sync_plain(own_descriptor());
}

std::size_t PlainWriter::put(const WritePlace& place, std::span<const iovec> pieces) const {
  return place.are_pages ? written_.write_pages(pieces, place.offset, keep_times_)
                         : written_.write(pieces, place.offset);
}

std::size_t PlainWriter::write(const WritePlace& place, codec::Bytes bytes) {
  // What is written from is not changed.
  const iovec piece{const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
  return put(place, std::span(&piece, 1));
}

std::size_t PlainWriter::write(const WritePlace& place, std::span<PooledBuffer> cells) {
  std::vector<iovec> pieces;
  pieces.reserve(cells.size());
  for (PooledBuffer& cell : cells) pieces.push_back({cell.data(), cell.size()});
  return put(place, pieces);
}

std::size_t PlainWriter::copy_from(const FileHandle& source, const CopiedRange& range) {
  TurnAtNeed::need();
  CopiedRange first = range;
  first.size = std::min(range.size, kCopiedAtOnce);
  return source.copy_to(written_.fd(), first);
}

}  // namespace bloscfs::fs
