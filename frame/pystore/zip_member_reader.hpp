#pragma once
// Reads the bytes of a stored or deflated member of a ZIP file, in order.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "frame/pystore/zip_records.hpp"

namespace bloscfs::frame::inline pystore {

/// For use by one thread. All functions throw Error: malformed if size or CRC-32 of the bytes
/// differ from the directory, unsupported for other compression methods.
class ZipMemberReader {
 public:
  ZipMemberReader(std::shared_ptr<const ByteSource> archive, ZipMember member);
  ~ZipMemberReader();
  ZipMemberReader(const ZipMemberReader&) = delete;
  ZipMemberReader& operator=(const ZipMemberReader&) = delete;

  /// Fills the start of `out`, which must not be empty. Returns the number of bytes, 0 at the end.
  std::size_t read(MutableBytes out);

 private:
  struct Inflater;

  std::size_t read_stored(MutableBytes out);
  std::size_t inflate(MutableBytes out);

  const std::shared_ptr<const ByteSource> archive_;
  const ZipMember member_;
  std::uint64_t position_;   ///< in the archive, of the next byte to read
  std::uint64_t remaining_;  ///< stored bytes from there on
  std::uint64_t given_ = 0;
  std::uint32_t crc_ = 0;
  std::unique_ptr<Inflater> inflater_;  ///< null if the member is stored
};

}  // namespace bloscfs::frame::inline pystore
