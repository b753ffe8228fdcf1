#pragma once
// Writes a new small file with one system call.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "frame/store/byte_store.hpp"

namespace bloscfs::frame::inline store {

/// Buffers writes to the first 64 KiB of the file. flush() writes the buffer to the file. A write
/// beyond the 64 KiB flushes at once, and all later writes go directly to the file. Gaps between
/// writes are zeros.
class FileStart final : public ByteSink {
 public:
  explicit FileStart(std::shared_ptr<StoreFile> file) : file_(std::move(file)) {}

  void write_at(std::uint64_t offset, Bytes bytes) override;
  /// May be called again after an error. It then writes everything again.
  void flush();
  /// Returns the contents of the whole file, or nothing if it is larger than 64 KiB. To be called
  /// once.
  std::vector<std::uint8_t> take() { return std::move(bytes_); }

 private:
  const std::shared_ptr<StoreFile> file_;
  std::vector<std::uint8_t> bytes_;
  bool is_kept_ = true;
};

}  // namespace bloscfs::frame::inline store
