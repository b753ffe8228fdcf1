#pragma once
// Reads a frame's header and trailer: everything that opening a frame needs.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "frame/container/snapshot.hpp"
#include "frame/header/frame_header.hpp"

namespace bloscfs::frame::inline header {

/// Header and trailer of a contiguous frame's file, or of a sparse frame's chunks.b2frame.
struct FrameParts {
  FrameHeader header;  ///< info is complete, except for nchunks of variable-size frames
  std::vector<MetalayerEntry> metalayers;
  std::vector<MetalayerEntry> vlmetalayers;
  std::vector<std::uint8_t> header_bytes;  ///< at most the first 4 KiB of the header
  std::vector<std::uint8_t> whole;         ///< the whole frame if it is small; else empty
  std::shared_ptr<const ByteSource> copy;  ///< a source with more bytes in memory; usually null
  std::size_t copied = 0;                  ///< number of bytes that `copy` has in memory
  std::uint64_t index_at = 0;              ///< file position of the index chunk
  std::uint64_t index_limit = 0;           ///< most bytes that it may take; 0: no index
};

/// Bytes of the header that a snapshot stores and compares.
inline constexpr std::size_t kHeaderBytesKept = 4096;

/// Local frames of at most this size are read as a whole, which costs less than several reads.
inline constexpr std::size_t kSmallFrame = std::size_t{16} << 10;

/// How many bytes to read at once at both ends of a frame.
struct FirstReads {
  std::size_t start = kHeaderBytesKept, end = kHeaderBytesKept;
};

/// Reads the frame at the start of a file of `file_size` bytes. Its header must have the type
/// `frame_type` (0 contiguous, 1 sparse). Throws Error unless header, metalayer maps and trailer
/// follow frame/formats/cframe.md, the index has a place, and any b2nd metalayer fits the frame.
FrameParts read_frame_parts(const ByteSource& source, std::int64_t file_size,
                            std::uint8_t frame_type, const FirstReads& first = {});

/// Reads and checks the header alone. In the result trailer_len is 0, and so is nchunks of
/// variable-size frames. Returns nullopt if a vlmetalayer may make the frame an array, and for a
/// frame with the metalayer of an EmbedStore.
std::optional<FrameInfo> read_frame_info(const ByteSource& source, std::int64_t file_size,
                                         std::uint8_t frame_type);

/// Reads the map of the trailer again. A snapshot does not keep the map, because a file may have
/// thousands of vlmetalayers. `info` and `early` come from the frame's header. Throws Error.
std::vector<MetalayerEntry> read_vlmetalayers(const ByteSource& source, const FrameInfo& info,
                                              bool early);

}  // namespace bloscfs::frame::inline header
