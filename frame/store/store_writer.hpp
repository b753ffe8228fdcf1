#pragma once
// Writes a range of a file in order, in large pieces.

#include <cstdint>
#include <vector>

#include "frame/store/byte_store.hpp"

namespace bloscfs::frame::inline store {

class StoreWriter {
 public:
  /// `file` is borrowed. If it is null, the writer only counts bytes.
  StoreWriter(ByteSink* file, std::uint64_t position) : file_(file), position_(position) {}

  /// Returns the offset of the next byte.
  std::uint64_t position() const { return position_ + buffer_.size(); }
  void append(Bytes bytes);
  /// Appends `size` bytes of a source. Throws Error(malformed) if the source ends early.
  void copy(const ByteSource& source, std::uint64_t offset, std::uint64_t size);
  /// Continues at `position`, which is not before the current one. Skipped bytes are unspecified.
  void skip_to(std::uint64_t position);
  /// Overwrites bytes that were appended before.
  void replace(std::uint64_t position, Bytes bytes);
  /// Returns appended bytes that are not written yet.
  Bytes buffered() const { return buffer_; }
  /// Writes the buffered bytes. Without this call they may never be written.
  void flush();

 private:
  ByteSink* file_;
  std::uint64_t position_;
  std::vector<std::uint8_t> buffer_;
};

}  // namespace bloscfs::frame::inline store
