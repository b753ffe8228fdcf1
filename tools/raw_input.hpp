#pragma once
// What b2frame create reads: the bytes of a file, or of whatever stdin is connected to. For one
// thread, but for read_at().

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codec/bytes.hpp"
#include "frame/store/byte_source.hpp"

namespace bloscfs::tools {

/// Errors are FileError, which names the input, and Interrupted.
class RawInput {
 public:
  /// "-" is stdin.
  explicit RawInput(const std::string& path);
  /// An open file that is called `name`.
  RawInput(frame::UniqueFd file, std::string name);
  /// What `read` gives: it fills a part of what it gets, and returns how much, 0 at the end.
  RawInput(std::function<std::size_t(codec::MutableBytes)> read, std::string name)
      : name_(std::move(name)), read_(std::move(read)) {}

  const std::string& name() const { return name_; }
  /// Bytes of a regular file behind the position that it was opened at.
  std::optional<std::int64_t> file_size() const { return file_size_; }

  /// The next bytes, as many as there are up to `size`; read() gives them again.
  codec::Bytes peek(std::size_t size);
  /// Fills `out`, but for what is behind the end of the input. Returns the bytes read.
  std::size_t read(codec::MutableBytes out);

  int descriptor() const { return fd_.get(); }
  /// Where in a regular file the next byte is.
  std::int64_t file_position() const { return file_offset_ + taken_; }
  /// Bytes that are still to come by the size of a regular file, 0 of anything else.
  std::int64_t known_rest() const;
  /// Leaves out the next bytes of a regular file, for read_at().
  void skip(std::int64_t size);
  /// Has the kernel fetch what read_at() will want of a regular file.
  void announce(std::int64_t position, std::int64_t size) const;
  /// Fills `out` from a position of a regular file, which must not end before. Any thread may.
  void read_at(std::int64_t position, codec::MutableBytes out) const;

 private:
  std::size_t read_some(codec::MutableBytes out);
  void wait_for_bytes() const;

  std::string name_;
  frame::UniqueFd fd_;
  std::function<std::size_t(codec::MutableBytes)> read_;  ///< empty where there is a file
  std::int64_t file_offset_ = 0;                          ///< of the input's first byte
  std::optional<std::int64_t> file_size_;
  std::vector<std::uint8_t> peeked_;
  std::int64_t taken_ = 0;  ///< bytes that read() has given
};

}  // namespace bloscfs::tools
