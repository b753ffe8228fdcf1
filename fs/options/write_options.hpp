#pragma once
// What mount options say about writing.

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "codec/chunk_format.hpp"
#include "frame/choosing/cost.hpp"

namespace bloscfs::fs {

struct WriteOptions {
  std::size_t dirty_limit = 0;  ///< bytes
  /// With filters that lose nothing, or what is lost by the first encoding alone. What goes by an
  /// array's shape is for arrays that it fits.
  codec::CodecId codec = codec::CodecId::zstd;
  std::uint8_t codec_meta = 0;
  int clevel = 1;
  /// Absent: shuffle, where items have more than one byte.
  std::optional<std::array<codec::FilterStep, codec::kFilterSlots>> filters;
  /// Codec, level and filters are chosen for each new file, those above are not looked at.
  std::optional<frame::Goal> goal;
  std::int32_t chunk_size = 0;  ///< bytes; 0: chosen for cheap small changes
  std::int32_t block_size = 0;
  std::string suffix = ".b2frame";       ///< of new flat files in SOURCE
  bool writeback = false;                ///< the kernel's writeback cache
  bool strict = false;                   ///< commit at every close
  std::chrono::seconds longest_wait{5};  ///< of a closed file for its commit
  bool checksum = false;                 ///< keep bloscfs.xxh3 in new files
  bool locking = false;                  ///< create lock sidecars
};

}  // namespace bloscfs::fs
