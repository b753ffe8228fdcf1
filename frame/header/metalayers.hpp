#pragma once
// Reads the msgpack maps that name metalayers, in the header and in the trailer
// (frame/formats/metalayers.md, "The map").

#include <cstdint>
#include <vector>

#include "frame/container/snapshot.hpp"
#include "frame/store/window_reader.hpp"

namespace bloscfs::frame::inline header {

/// Bytes in front of the first entry of a metalayer map: array(3), uint16, map16.
inline constexpr std::size_t kMapHead = 7;

/// A part of the frame that holds a metalayer map and the contents that it names.
struct MetalayerSection {
  std::uint64_t start = 0;   ///< position in the source; offsets in the map count from here
  std::uint64_t size = 0;    ///< contents end before start + size
  std::uint64_t map_at = 0;  ///< array marker in front of the map, from `start`
  int max_entries = 0;
  const char* what = "";  ///< for messages
};

/// Reads the map and the length of each content, but not the contents. Positions in the result
/// count from the start of the source. Throws Error(malformed) unless all of them are inside the
/// section.
std::vector<MetalayerEntry> read_metalayer_map(WindowReader& reader,
                                               const MetalayerSection& section);

}  // namespace bloscfs::frame::inline header
