#pragma once
// The input of b2frame create: the bytes of a file, or of stdin, whatever it is connected to. For
// one thread, except read_at().

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codec/bytes.hpp"
#include "frame/store/byte_source.hpp"

namespace bloscfs::tools {

/// All errors are FileError, which names the input, and Interrupted.
class RawInput {
 public:
  /// "-" means stdin.
  explicit RawInput(const std::string& path);
  /// Reads an open file that is called `name`.
  RawInput(frame::UniqueFd file, std::string name);
  /// Reads from a function. `read` fills a part of its argument and returns how many bytes, 0 at
  /// the end.
  RawInput(std::function<std::size_t(codec::MutableBytes)> read, std::string name)
      : name_(std::move(name)), read_(std::move(read)) {}

  const std::string& name() const { return name_; }
  /// Returns how many bytes of a regular file follow the position at which it was opened; nullopt
  /// for other inputs.
  std::optional<std::int64_t> file_size() const { return file_size_; }

  /// Returns the next bytes, up to `size` if there are so many. read() returns them again.
  codec::Bytes peek(std::size_t size);
  /// Fills `out` as far as the input reaches. Returns the number of bytes.
  std::size_t read(codec::MutableBytes out);

  int descriptor() const { return fd_.get(); }
  /// Returns the position of the next byte in a regular file.
  std::int64_t file_position() const { return file_offset_ + taken_; }
  /// Returns how many bytes are left, by the size of a regular file; 0 for other inputs.
  std::int64_t known_rest() const;
  /// Skips the next bytes of a regular file, for read_at().
  void skip(std::int64_t size);
  /// Lets the kernel fetch bytes of a regular file before read_at() reads them.
  void announce(std::int64_t position, std::int64_t size) const;
  /// Fills `out` from a position of a regular file. Throws if the file is too short. Any thread may
  /// call this.
  void read_at(std::int64_t position, codec::MutableBytes out) const;

 private:
  std::size_t read_some(codec::MutableBytes out);
  void wait_for_bytes() const;

  std::string name_;
  frame::UniqueFd fd_;
  std::function<std::size_t(codec::MutableBytes)> read_;  ///< empty if there is a file
  std::int64_t file_offset_ = 0;                          ///< position of the input's first byte
  std::optional<std::int64_t> file_size_;
  std::vector<std::uint8_t> peeked_;
  std::int64_t taken_ = 0;  ///< bytes that read() has returned or skip() has skipped
};

}  // namespace bloscfs::tools
