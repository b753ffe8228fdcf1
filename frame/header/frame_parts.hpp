#pragma once
// Reads a frame's header and trailer: all that opening a frame looks at.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "frame/container/snapshot.hpp"
#include "frame/header/frame_header.hpp"

namespace bloscfs::frame::inline header {

/// Header and trailer of a contiguous frame's file, or of a sparse frame's chunks.b2frame.
struct FrameParts {
  FrameHeader header;  ///< info is complete but for nchunks of variable-size frames
  std::vector<MetalayerEntry> metalayers;
  std::vector<MetalayerEntry> vlmetalayers;
  std::vector<std::uint8_t> header_bytes;  ///< the first 4 KiB of the header, at most
  std::vector<std::uint8_t> whole;         ///< all of the frame if that is small; else empty
  std::shared_ptr<const ByteSource> copy;  ///< the source with more in memory; mostly null
  std::size_t copied = 0;                  ///< bytes that it has there
  std::uint64_t index_at = 0;              ///< file position of the index chunk
  std::uint64_t index_limit = 0;           ///< most bytes that it may take; 0: no index
};

/// Bytes of the header that a snapshot remembers and compares.
inline constexpr std::size_t kHeaderBytesKept = 4096;

/// Frames of at most so many bytes are read whole, if that is no round trip: as many bytes cost
/// more in several reads.
inline constexpr std::size_t kSmallFrame = std::size_t{16} << 10;

/// How many bytes at a frame's two ends are read at once.
struct FirstReads {
  std::size_t start = kHeaderBytesKept, end = kHeaderBytesKept;
};

/// Reads the frame that a file of `file_size` bytes starts with. `frame_type` is what its header
/// must say (0 contiguous, 1 sparse). Throws Error unless header, metalayer maps and trailer are as
/// frame/formats/cframe.md has them, there is a place for the index, and any b2nd metalayer fits
/// the frame.
FrameParts read_frame_parts(const ByteSource& source, std::int64_t file_size,
                            std::uint8_t frame_type, const FirstReads& first = {});

/// What the header alone says, with the same checks of that; trailer_len is 0, and nchunks of
/// variable-size frames too. nullopt where a vlmetalayer may make the frame an array, and for a
/// frame with the metalayer of an EmbedStore.
std::optional<FrameInfo> read_frame_info(const ByteSource& source, std::int64_t file_size,
                                         std::uint8_t frame_type);

/// Reads the map of the trailer again: a file may have thousands of vlmetalayers, so that a
/// snapshot does not keep them. `info` and `early` are those of the frame's header. Throws Error.
std::vector<MetalayerEntry> read_vlmetalayers(const ByteSource& source, const FrameInfo& info,
                                              bool early);

}  // namespace bloscfs::frame::inline header
