#pragma once
// Mount options for writing.

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
  /// Codec and filters must lose nothing, or lose only at the first encoding (codec/loss.hpp). A
  /// codec or filter that depends on an array's shape is used only for arrays that it fits.
  codec::CodecId codec = codec::CodecId::zstd;
  std::uint8_t codec_meta = 0;
  int clevel = 1;
  /// Absent: shuffle, for items of more than one byte.
  std::optional<std::array<codec::FilterStep, codec::kFilterSlots>> filters;
  /// If set, bloscfs chooses codec, level and filters for each new file, and ignores those above.
  std::optional<frame::Goal> goal;
  std::int32_t chunk_size = 0;  ///< bytes; 0: chosen for cheap small changes
  std::int32_t block_size = 0;
  std::string suffix = ".b2frame";       ///< of new files with flat contents
  bool writeback = false;                ///< use the kernel's writeback cache
  bool strict = false;                   ///< commit at every close
  std::chrono::seconds longest_wait{5};  ///< how long a closed file may wait for its commit
  bool checksum = false;                 ///< keep checksums (bloscfs.xxh3) in new files
  bool locking = false;                  ///< create lock sidecars
};

}  // namespace bloscfs::fs
