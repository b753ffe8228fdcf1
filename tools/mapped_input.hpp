#pragma once
// The rest of an input in memory, for reading it out of order.

#include <cstdint>
#include <string>

#include "codec/bytes.hpp"
#include "frame/byte_source.hpp"
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

}  // namespace bloscfs::tools
