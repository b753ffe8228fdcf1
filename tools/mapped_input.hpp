#pragma once
// An input that is mapped into memory: the rest of it, for access in any order, or pieces, to avoid
// copies.

#include <cstdint>
#include <string>

#include "codec/bytes.hpp"
#include "frame/store/byte_source.hpp"
#include "tools/raw_input.hpp"

namespace bloscfs::tools {

class MappedInput {
 public:
  /// Maps the rest of a file, which must have `size` bytes. Copies other inputs, such as a pipe, to
  /// a nameless file in the directory of `sibling_path` first. Throws FileError; Error if the size
  /// differs.
  MappedInput(RawInput& input, std::int64_t size, const std::string& sibling_path);
  ~MappedInput();
  MappedInput(const MappedInput&) = delete;
  MappedInput& operator=(const MappedInput&) = delete;

  /// Returns bytes [begin, end). They are valid as long as this object lives.
  codec::Bytes bytes(std::int64_t begin, std::int64_t end) const {
    return {start_ + begin, static_cast<std::size_t>(end - begin)};
  }

 private:
  void map(int fd, std::int64_t position, std::int64_t size, const std::string& name);

  void* mapping_ = nullptr;
  std::size_t mapped_size_ = 0;
  const std::uint8_t* start_ = nullptr;
};

/// A mapped piece of a regular file. Each thread may have one at a time.
class MappedPiece {
 public:
  /// Reads all pages at once. If that fails, there is no mapping; RawInput::read_at() then reports
  /// the reason.
  MappedPiece(const RawInput& input, std::int64_t position, std::size_t size);
  ~MappedPiece();
  MappedPiece(const MappedPiece&) = delete;
  MappedPiece& operator=(const MappedPiece&) = delete;

  bool is_mapped() const { return mapping_ != nullptr; }
  codec::Bytes bytes() const { return {mapping_ + skipped_, mapped_size_ - skipped_}; }

 private:
  std::uint8_t* mapping_ = nullptr;
  std::size_t skipped_ = 0;  ///< bytes of the first page in front of the piece
  std::size_t mapped_size_ = 0;
};

/// Copies the rest of an input to a nameless file in the directory of `sibling_path`. Throws
/// FileError.
frame::UniqueFd copy_to_nameless_file(RawInput& input, const std::string& sibling_path);

/// Throws FileError if a mapped file was truncated, because zeros were read in its place.
void require_mapped_input(const std::string& name);

}  // namespace bloscfs::tools
