#pragma once
// The bytes of a member of a ZIP file, stored or deflated, in their order.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "frame/pystore/zip_records.hpp"

namespace bloscfs::frame::inline pystore {

/// For one thread. All throws Error: malformed for bytes that are not what the directory says of
/// the member, in size or CRC-32, unsupported for other methods than these two.
class ZipMemberReader {
 public:
  ZipMemberReader(std::shared_ptr<const ByteSource> archive, ZipMember member);
  ~ZipMemberReader();
  ZipMemberReader(const ZipMemberReader&) = delete;
  ZipMemberReader& operator=(const ZipMemberReader&) = delete;

  /// Fills a part of `out`, which is not empty; returns how many bytes, 0 at the end.
  std::size_t read(MutableBytes out);

 private:
  struct Inflater;

  std::size_t read_stored(MutableBytes out);
  std::size_t inflate(MutableBytes out);

  const std::shared_ptr<const ByteSource> archive_;
  const ZipMember member_;
  std::uint64_t position_;  ///< in the archive, of what was not read yet
  std::uint64_t left_;      ///< stored bytes from there on
  std::uint64_t given_ = 0;
  std::uint32_t crc_ = 0;
  std::unique_ptr<Inflater> inflater_;  ///< null where the member is stored
};

}  // namespace bloscfs::frame::inline pystore
