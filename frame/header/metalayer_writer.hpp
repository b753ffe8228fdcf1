#pragma once
// Writes the msgpack maps that name metalayers, and the trailer around the second map
// (frame/formats/metalayers.md, "The map"). metalayers.hpp reads them.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "codec/bytes.hpp"

namespace bloscfs::frame::inline header {

struct LayerSize {
  std::string name;
  std::uint64_t size = 0;  ///< of the stored content
};

/// Properties of a section that its map depends on.
struct MapRules {
  std::uint64_t map_at = 0;  ///< position that the offsets in the map count from
  int max_entries = 0;
  int uncounted = 0;  ///< bytes at the start of the map that its size field leaves out
};

/// A map. The contents follow it in order, each behind its content_head().
struct MetalayerLayout {
  std::vector<std::uint8_t> map;
  std::uint64_t end = 0;  ///< end of the last content, counted like the offsets
};

/// Throws std::system_error: EINVAL for a name that is empty, longer than 31 bytes or has a NUL;
/// ENOSPC for more layers or bytes than the format can hold.
MetalayerLayout lay_out_metalayers(const std::vector<LayerSize>& layers, const MapRules& rules);

/// The total size of the layers of one section.
struct SectionSize {
  std::size_t layers = 0;
  std::size_t map_entries = 0;  ///< bytes of the map's entries
  std::uint64_t contents = 0;   ///< bytes, including their heads

  void add(const std::string& name, std::uint64_t stored_size);
};

/// Lays out a frame's fixed metalayers. The header ends where the last one ends.
MetalayerLayout lay_out_header(const std::vector<LayerSize>& metalayers);

/// Returns the marker and length that a content starts with.
std::array<std::uint8_t, 5> content_head(std::uint64_t size);

/// The parts of a trailer: start, contents, end.
struct TrailerLayout {
  std::vector<std::uint8_t> start;
  std::vector<std::uint8_t> end;
  std::uint64_t trailer_len = 0;
};
TrailerLayout lay_out_trailer(const std::vector<LayerSize>& vlmetalayers);
/// Throws like lay_out_trailer() for more layers or bytes than a trailer can hold.
void check_trailer(const SectionSize& vlmetalayers);

/// Throws like lay_out_metalayers() for a bad name.
void check_layer_name(const std::string& name);

}  // namespace bloscfs::frame::inline header
