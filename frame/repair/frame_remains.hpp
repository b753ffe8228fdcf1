#pragma once
// What is left of a frame's header and trailer when they do not pass for a frame's any more.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frame/container/frame_info.hpp"
#include "frame/container/metalayer.hpp"
#include "frame/container/snapshot.hpp"
#include "frame/header/frame_header.hpp"

namespace bloscfs::frame::inline repair {

/// Fields that have their marker and a possible value. Of a sound header all.
struct HeaderRemains {
  bool is_sound = false;
  bool is_early = false;
  int offset_width = 8;
  std::optional<std::int64_t> header_len, frame_len, nbytes, cbytes;
  std::optional<std::int32_t> typesize, blocksize, chunksize;
  bool vl_blocks = false;
  bool variable_chunks = false;    ///< by the flags
  FrameInfo defaults;              ///< codec, level, filters, split mode, where they are known
  bool has_all_metalayers = true;  ///< or those that are lost have names
  std::vector<Metalayer> metalayers;
  std::vector<std::string> lost_metalayers;  ///< names
};

struct TrailerRemains {
  bool is_sound = false;  ///< it is whole, and ends where the header says, or with the file
  bool is_whole = false;  ///< its layers are, though it may be of an earlier state
  std::uint64_t at = 0;   ///< its first byte; 0: there is none
  std::uint64_t end = 0;  ///< behind its last byte, as far as that is known
  std::vector<MetalayerEntry> layers;
  std::vector<std::string> lost_layers;
};

/// Of the file of a contiguous frame, or the index file of a sparse one, of `file_size` bytes.
/// Throws std::system_error of the source.
HeaderRemains read_header_remains(const ByteSource& source, std::uint64_t file_size);

/// Looks where the header says and at the end of the file, and then for the last one in the file.
TrailerRemains read_trailer_remains(const ByteSource& source, std::uint64_t file_size,
                                    const HeaderRemains& header);

/// Where a trailer ends that starts at `at`; `at` itself where there is none that ends by `limit`.
std::uint64_t find_trailer_end(const ByteSource& source, std::uint64_t at, std::uint64_t limit);

}  // namespace bloscfs::frame::inline repair
