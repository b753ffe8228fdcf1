#pragma once
// Decodes a whole chunk in memory.

#include <cstdint>
#include <string>
#include <vector>

#include "codec/block_decoder.hpp"
#include "codec/error.hpp"

namespace bloscfs::test {

/// Returns the chunk's contents. Throws codec::Error if the chunk is damaged, or if its contents
/// have more than `max_nbytes`.
inline std::vector<std::uint8_t> decode_chunk(codec::Bytes chunk, std::int32_t full_typesize,
                                              std::size_t max_nbytes,
                                              codec::BlockDecoder& decoder) {
  const codec::Chunk opened = codec::open_chunk(chunk, full_typesize);
  const std::size_t nbytes = static_cast<std::size_t>(opened.nbytes());
  if (nbytes > max_nbytes)
    throw codec::Error(codec::FormatErrc::too_large, "chunk of " + std::to_string(nbytes) +
                                                         " bytes, at most " +
                                                         std::to_string(max_nbytes) + " allowed");
  std::vector<std::uint8_t> contents(nbytes);
  decoder.decode_all(opened, chunk, contents);
  return contents;
}

}  // namespace bloscfs::test
