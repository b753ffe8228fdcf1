#include "frame/store/object_chunk.hpp"

#include <algorithm>
#include <cerrno>

#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline store {

void ObjectChunk::write_at(std::uint64_t offset, Bytes bytes) {
  if (offset != 0 || upload_) throw_errno(EINVAL, path_);
  upload_ = services_->uploads().begin(path_, bytes);
}

void ObjectChunk::sync() {
  if (upload_) upload_->wait();
}

std::size_t ObjectChunk::read_at(std::uint64_t offset, MutableBytes out) const {
  const Bytes bytes = upload_ ? upload_->bytes() : Bytes();
  if (offset >= bytes.size()) return 0;
  const Bytes rest = bytes.subspan(static_cast<std::size_t>(offset));
  const std::size_t size = std::min(out.size(), rest.size());
  std::copy_n(rest.begin(), size, out.begin());
  return size;
}

FileStamp ObjectChunk::stamp() const {
  FileStamp stamp;
  stamp.size = static_cast<std::int64_t>(upload_ ? upload_->bytes().size() : 0);
  return stamp;
}

void ObjectChunk::truncate(std::uint64_t) { throw_errno(EOPNOTSUPP, path_); }

void ObjectChunk::punch(std::uint64_t, std::uint64_t) { throw_errno(EOPNOTSUPP, path_); }

}  // namespace bloscfs::frame::inline store
