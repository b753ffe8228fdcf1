#include "frame/store/file_start.hpp"

#include <algorithm>

namespace bloscfs::frame::inline store {
namespace {

constexpr std::uint64_t kMostKept = std::uint64_t{64} << 10;

}  // namespace

void FileStart::write_at(std::uint64_t offset, Bytes bytes) {
  if (is_kept_ && offset + bytes.size() > kMostKept) {
    flush();
    is_kept_ = false;
    bytes_ = {};
  }
  if (!is_kept_) return file_->write_at(offset, bytes);
  const auto begin = static_cast<std::size_t>(offset);
  bytes_.resize(std::max(bytes_.size(), begin + bytes.size()));
  std::copy(bytes.begin(), bytes.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(begin));
}

void FileStart::flush() {
  if (is_kept_ && !bytes_.empty()) file_->write_at(0, bytes_);
}

}  // namespace bloscfs::frame::inline store
