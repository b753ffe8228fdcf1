#pragma once
// A range of another source as a source, for a frame that is a member of a ZIP file.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "frame/store/byte_source.hpp"

namespace bloscfs::frame::inline pystore {

class WindowSource final : public ByteSource {
 public:
  /// Covers the bytes [offset, offset + size) of `below`. Throws Error(malformed) if the range is
  /// outside of it.
  WindowSource(std::shared_ptr<const ByteSource> below, std::uint64_t offset, std::uint64_t size);
  std::size_t read_at(std::uint64_t offset, MutableBytes out) const override;
  bool is_over_network() const override { return below_->is_over_network(); }
  void expect(std::span<const ByteRange> ranges) const override;
  bool is_available(std::span<const ByteRange> ranges) const override;
  /// Returns the stamp of the source below with the window's size, or with size -1 once that source
  /// has another size.
  FileStamp stamp() const override;
  std::optional<FileReaders> readers() const override { return below_->readers(); }

 private:
  std::vector<ByteRange> ranges_below(std::span<const ByteRange> ranges) const;

  const std::shared_ptr<const ByteSource> below_;
  const std::uint64_t offset_;
  const std::uint64_t size_;
  const std::int64_t size_below_;
};

}  // namespace bloscfs::frame::inline pystore
