#pragma once
// Reads small pieces of a section of a source through a window. Neighbouring pieces cost one read,
// and distant ones read no more than they need.

#include <cstdint>
#include <vector>

#include "frame/store/byte_source.hpp"

namespace bloscfs::frame::inline store {

class WindowReader {
 public:
  /// The section is the first `size` bytes of `source`, which is borrowed. Reads nothing yet.
  WindowReader(const ByteSource& source, std::uint64_t size) : source_(source), size_(size) {}

  std::uint64_t size() const { return size_; }
  /// Changes the size of the section.
  void set_size(std::uint64_t size) { size_ = size; }

  /// Reads [offset, offset + size) of the section into the window, cut off at the section's end,
  /// unless the window contains these bytes already.
  void load(std::uint64_t offset, std::size_t size);

  /// Returns bytes of the section, valid until the next call. Throws Error(malformed), which names
  /// `what`, if they are outside the section or the source ends early.
  Bytes at(std::uint64_t offset, std::size_t size, const char* what);

  /// Returns the whole section if the window holds it, otherwise nothing. The reader must not be
  /// used afterwards.
  std::vector<std::uint8_t> take_whole();

 private:
  const ByteSource& source_;
  std::uint64_t size_;
  std::uint64_t window_at_ = 0;
  std::vector<std::uint8_t> window_;
};

}  // namespace bloscfs::frame::inline store
