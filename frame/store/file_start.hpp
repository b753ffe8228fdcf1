#pragma once
// Writes a new small file with one system call.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "frame/store/byte_store.hpp"

namespace bloscfs::frame::inline store {

/// Keeps in memory what is written to the first 64 KiB of the file; flush() writes it to the file.
/// A write that reaches further flushes at once, and from then on each write goes to the file
/// directly. Gaps between writes are zeros.
class FileStart final : public ByteSink {
 public:
  explicit FileStart(std::shared_ptr<StoreFile> file) : file_(std::move(file)) {}

  void write_at(std::uint64_t offset, Bytes bytes) override;
  /// After an error it may be called again: it writes everything again.
  void flush();
  /// The contents of the whole file; empty if it is larger than 64 KiB. To be called once.
  std::vector<std::uint8_t> take() { return std::move(bytes_); }

 private:
  const std::shared_ptr<StoreFile> file_;
  std::vector<std::uint8_t> bytes_;
  bool is_kept_ = true;
};

}  // namespace bloscfs::frame::inline store
