#pragma once
// Reads what is left of a damaged frame's header and trailer.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frame/container/frame_info.hpp"
#include "frame/container/metalayer.hpp"
#include "frame/container/snapshot.hpp"
#include "frame/header/frame_header.hpp"

namespace bloscfs::frame::inline repair {

/// The fields of the header that have the right msgpack marker and a possible value. A sound header
/// has all of them.
struct HeaderRemains {
  bool is_sound = false;
  bool is_early = false;
  int offset_width = 8;
  std::optional<std::int64_t> header_len, frame_len, nbytes, cbytes;
  std::optional<std::int32_t> typesize, blocksize, chunksize;
  bool vl_blocks = false;
  bool variable_chunks = false;    ///< according to the flags
  FrameInfo defaults;              ///< codec, level, filters and split mode, if they are known
  bool has_all_metalayers = true;  ///< all metalayers are either read or named in lost_metalayers
  std::vector<Metalayer> metalayers;
  std::vector<std::string> lost_metalayers;  ///< names
};

struct TrailerRemains {
  bool is_sound = false;  ///< whole, and ends where the header says, or at the end of the file
  bool is_whole = false;  ///< all layers are readable; the trailer may be of an earlier state
  std::uint64_t at = 0;   ///< its first byte; 0: there is none
  std::uint64_t end = 0;  ///< behind its last byte, as far as known
  std::vector<MetalayerEntry> layers;
  std::vector<std::string> lost_layers;
};

/// Reads the header of a contiguous frame's file, or of a sparse frame's index file, of `file_size`
/// bytes. Throws std::system_error of the source.
HeaderRemains read_header_remains(const ByteSource& source, std::uint64_t file_size);

/// Looks for the trailer where the header says, then at the end of the file, then for the last one
/// in the file.
TrailerRemains read_trailer_remains(const ByteSource& source, std::uint64_t file_size,
                                    const HeaderRemains& header);

/// Returns the end of the trailer that starts at `at`; `at` itself if no trailer there ends by
/// `limit`.
std::uint64_t find_trailer_end(const ByteSource& source, std::uint64_t at, std::uint64_t limit);

}  // namespace bloscfs::frame::inline repair
