#pragma once
// An input in memory: its rest, for reading it out of order, or pieces, to spare copying them.

#include <cstdint>
#include <string>

#include "codec/bytes.hpp"
#include "frame/store/byte_source.hpp"
#include "tools/raw_input.hpp"

namespace bloscfs::tools {

class MappedInput {
 public:
  /// Maps what is left of a file, which are `size` bytes. What comes through a pipe is first copied
  /// to a file without a name beside `beside`. Throws FileError; Error where there are more or
  /// fewer bytes.
  MappedInput(RawInput& input, std::int64_t size, const std::string& beside);
  ~MappedInput();
  MappedInput(const MappedInput&) = delete;
  MappedInput& operator=(const MappedInput&) = delete;

  /// Bytes [begin, end), valid as long as this object.
  codec::Bytes bytes(std::int64_t begin, std::int64_t end) const {
    return {start_ + begin, static_cast<std::size_t>(end - begin)};
  }

 private:
  void map(int fd, std::int64_t position, std::int64_t size, const std::string& name);

  void* mapping_ = nullptr;
  std::size_t mapped_size_ = 0;
  const std::uint8_t* start_ = nullptr;
};

/// A piece of a regular file; one at a time in each thread.
class MappedPiece {
 public:
  /// All its bytes are read at once; where that fails, there is none, and RawInput::read_at() tells
  /// why.
  MappedPiece(const RawInput& input, std::int64_t position, std::size_t size);
  ~MappedPiece();
  MappedPiece(const MappedPiece&) = delete;
  MappedPiece& operator=(const MappedPiece&) = delete;

  bool is_there() const { return mapping_ != nullptr; }
  codec::Bytes bytes() const { return {mapping_ + skipped_, mapped_size_ - skipped_}; }

 private:
  std::uint8_t* mapping_ = nullptr;
  std::size_t skipped_ = 0;  ///< of the first page
  std::size_t mapped_size_ = 0;
};

/// Copies the rest of an input to a file without a name beside `beside`. Throws FileError.
frame::UniqueFd copy_to_nameless_file(RawInput& input, const std::string& beside);

/// Throws FileError if a mapped file was cut short, so that zeros were read in its place.
void require_mapped_input(const std::string& name);

}  // namespace bloscfs::tools
