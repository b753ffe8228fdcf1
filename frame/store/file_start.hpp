#pragma once
// A new file that is written by one call, if it is small.

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "frame/store/byte_store.hpp"

namespace bloscfs::frame::inline store {

/// Keeps what is written, from the file's start on, until flush(), or until it reaches beyond
/// 64 KiB: later calls then go to the file at once. What nobody has written is zero.
class FileStart final : public ByteSink {
 public:
  explicit FileStart(std::shared_ptr<StoreFile> file) : file_(std::move(file)) {}

  void write_at(std::uint64_t offset, Bytes bytes) override;
  /// May be called again after an error, when some bytes were written anew.
  void flush();
  /// All of the file, to be called once; nothing if that was too much to be kept.
  std::vector<std::uint8_t> take() { return std::move(bytes_); }

 private:
  const std::shared_ptr<StoreFile> file_;
  std::vector<std::uint8_t> bytes_;
  bool is_kept_ = true;
};

}  // namespace bloscfs::frame::inline store
