#pragma once
// Writes a stretch of a file from front to back in large pieces.

#include <cstdint>
#include <vector>

#include "frame/store/byte_store.hpp"

namespace bloscfs::frame::inline store {

class StoreWriter {
 public:
  /// `file` is borrowed; null counts bytes only.
  StoreWriter(ByteSink* file, std::uint64_t position) : file_(file), position_(position) {}

  /// Where the next byte goes.
  std::uint64_t position() const { return position_ + buffer_.size(); }
  void append(Bytes bytes);
  /// Appends `size` bytes of a source. Throws Error(malformed) when that ends before.
  void copy(const ByteSource& source, std::uint64_t offset, std::uint64_t size);
  /// Goes on at `position`, which lies ahead; what is left out is unspecified.
  void skip_to(std::uint64_t position);
  /// Puts other bytes in place of some that were appended.
  void replace(std::uint64_t position, Bytes bytes);
  /// What was appended last and is not written yet.
  Bytes buffered() const { return buffer_; }
  /// Writes what is buffered; without it nothing is promised to have been written.
  void flush();

 private:
  ByteSink* file_;
  std::uint64_t position_;
  std::vector<std::uint8_t> buffer_;
};

}  // namespace bloscfs::frame::inline store
