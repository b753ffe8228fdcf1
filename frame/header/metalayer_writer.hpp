#pragma once
// Writes the msgpack maps that name metalayers, and the trailer around the second of them
// (frame/formats/metalayers.md, "The map"): the counterpart of metalayers.

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

/// What a section's map depends on.
struct MapRules {
  std::uint64_t map_at = 0;  ///< from where the offsets in the map count
  int max_entries = 0;
  int uncounted = 0;  ///< of its first bytes, those that the size in front of the map leaves out
};

/// A map, with contents following it in order, each behind its content_head().
struct MetalayerLayout {
  std::vector<std::uint8_t> map;
  std::uint64_t end = 0;  ///< of the last content, counted like the offsets
};

/// Throws std::system_error: EINVAL for a name that is empty, longer than 31 bytes or has a NUL;
/// ENOSPC when there are more layers or bytes than the format can hold.
MetalayerLayout lay_out_metalayers(const std::vector<LayerSize>& layers, const MapRules& rules);

/// What layers of one section are together.
struct SectionSize {
  std::size_t layers = 0;
  std::size_t map_entries = 0;  ///< bytes of the map's entries
  std::uint64_t contents = 0;   ///< bytes, with their heads

  void add(const std::string& name, std::uint64_t stored_size);
};

/// Of a frame's fixed metalayers: its header ends where the last one does.
MetalayerLayout lay_out_header(const std::vector<LayerSize>& metalayers);

/// Marker and length that a content starts with.
std::array<std::uint8_t, 5> content_head(std::uint64_t size);

/// The parts of a trailer: start, contents, end.
struct TrailerLayout {
  std::vector<std::uint8_t> start;
  std::vector<std::uint8_t> end;
  std::uint64_t trailer_len = 0;
};
TrailerLayout lay_out_trailer(const std::vector<LayerSize>& vlmetalayers);
/// Throws as that does when there are more layers or bytes than a trailer can hold.
void check_trailer(const SectionSize& vlmetalayers);

/// Throws as lay_out_metalayers does for names.
void check_layer_name(const std::string& name);

}  // namespace bloscfs::frame::inline header
