#pragma once
// A table of 8-byte little-endian entries stored as one Blosc chunk (a frame's index, a checksum
// list), read and decoded one block ("page") at a time.

#include <cstdint>
#include <memory>
#include <vector>

#include "codec/block_decoder.hpp"
#include "frame/byte_source.hpp"

namespace bloscfs::frame {

struct TablePage {
  std::int64_t first = 0;              ///< number of its first entry
  std::vector<std::int64_t> entries;
  std::size_t memory() const { return sizeof(*this) + entries.capacity() * sizeof(std::int64_t); }
};

}  // namespace bloscfs::frame
