#pragma once
// Reads small pieces of a section of a source through one window, so that neighbouring pieces cost
// one read and far ones no more than they need.

#include <cstdint>
#include <vector>

#include "frame/store/byte_source.hpp"

namespace bloscfs::frame::inline store {

class WindowReader {
 public:
  /// The first `size` bytes of `source`, which is borrowed. Nothing is read yet.
  WindowReader(const ByteSource& source, std::uint64_t size) : source_(source), size_(size) {}

  std::uint64_t size() const { return size_; }
  /// Limits what follows to a section of another size.
  void set_size(std::uint64_t size) { size_ = size; }

  /// Makes [offset, offset + size) of the section the window, cut off at the section's end,
  /// unless the present window holds it already.
  void load(std::uint64_t offset, std::size_t size);

  /// Bytes of the section, valid until the next call. Throws Error(malformed), naming `what`, when
  /// they are not inside the section or the source ends before.
  Bytes at(std::uint64_t offset, std::size_t size, const char* what);

  /// The whole section where the window holds it, else nothing. Ends the reader.
  std::vector<std::uint8_t> take_whole();

 private:
  const ByteSource& source_;
  std::uint64_t size_;
  std::uint64_t window_at_ = 0;
  std::vector<std::uint8_t> window_;
};

}  // namespace bloscfs::frame::inline store
