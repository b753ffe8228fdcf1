#include "frame/header/metalayer_writer.hpp"

#include <cerrno>
#include <cstring>
#include <limits>

#include <boost/endian/conversion.hpp>
#include <fmt/core.h>

#include "frame/header/cframe_format.hpp"
#include "frame/header/metalayers.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::frame::inline header {
namespace {

// Bytes of a map entry in addition to the name: the name's marker, and an int32.
constexpr std::size_t kEntryRest = 6;
constexpr std::size_t kContentsHead = 3;  // array16
constexpr std::uint8_t kTrailerVersion = 1;

void put_u16(std::vector<std::uint8_t>& out, std::uint8_t marker, std::size_t value) {
  out.push_back(marker);
  out.resize(out.size() + 2);
  boost::endian::store_big_u16(&out[out.size() - 2], static_cast<std::uint16_t>(value));
}

void put_entry(std::vector<std::uint8_t>& out, const std::string& name, std::uint64_t offset) {
  out.push_back(static_cast<std::uint8_t>(kMsgpackFixstr + name.size()));
  out.insert(out.end(), name.begin(), name.end());
  out.push_back(kMsgpackInt32);
  out.resize(out.size() + 4);
  boost::endian::store_big_s32(&out[out.size() - 4], static_cast<std::int32_t>(offset));
}

void check_section(const SectionSize& size, const MapRules& rules) {
  const std::size_t map_size = kMapHead + size.map_entries;
  if (size.layers > static_cast<std::size_t>(rules.max_entries) ||
      map_size > std::numeric_limits<std::uint16_t>::max())
    throw_errno(ENOSPC, fmt::format("{} metalayers", size.layers));
  const std::uint64_t end = rules.map_at + map_size + kContentsHead + size.contents;
  if (end > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max()))
    throw_errno(ENOSPC, fmt::format("metalayers of {} bytes", end));
}

/// The map of a trailer follows the trailer's array marker and version. Its size field is one less
/// than the map's size (frame/formats/metalayers.md).
constexpr MapRules kTrailerRules{2, kMaxVlmetalayers, 1};

}  // namespace

void check_layer_name(const std::string& name) {
  if (name.empty() || name.size() > kMaxMetalayerName || name.find('\0') != std::string::npos)
    throw_errno(EINVAL, "name of a metalayer");
}

std::array<std::uint8_t, 5> content_head(std::uint64_t size) {
  std::array<std::uint8_t, 5> head{kMsgpackBin32};
  boost::endian::store_big_u32(&head[1], static_cast<std::uint32_t>(size));
  return head;
}

void SectionSize::add(const std::string& name, std::uint64_t stored_size) {
  layers++;
  map_entries += kEntryRest + name.size();
  contents += content_head(0).size() + stored_size;
}

MetalayerLayout lay_out_metalayers(const std::vector<LayerSize>& layers, const MapRules& rules) {
  SectionSize size;
  for (const LayerSize& layer : layers) {
    check_layer_name(layer.name);
    size.add(layer.name, layer.size);
  }
  check_section(size, rules);
  const std::size_t map_size = kMapHead + size.map_entries;
  MetalayerLayout layout;
  layout.map.push_back(kMsgpackArray3);
  put_u16(layout.map, kMsgpackUint16, map_size - static_cast<std::size_t>(rules.uncounted));
  put_u16(layout.map, kMsgpackMap16, layers.size());
  layout.end = rules.map_at + map_size + kContentsHead;
  for (const LayerSize& layer : layers) {
    put_entry(layout.map, layer.name, layout.end);
    layout.end += content_head(0).size() + layer.size;
  }
  put_u16(layout.map, kMsgpackArray16, layers.size());
  return layout;
}

MetalayerLayout lay_out_header(const std::vector<LayerSize>& metalayers) {
  return lay_out_metalayers(metalayers, {sizeof(RawFrameHeader), kMaxMetalayers, 0});
}

void check_trailer(const SectionSize& vlmetalayers) { check_section(vlmetalayers, kTrailerRules); }

TrailerLayout lay_out_trailer(const std::vector<LayerSize>& vlmetalayers) {
  TrailerLayout layout;
  layout.start = {kMsgpackArray4, kTrailerVersion};
  const MetalayerLayout section = lay_out_metalayers(vlmetalayers, kTrailerRules);
  layout.start.insert(layout.start.end(), section.map.begin(), section.map.end());
  RawTrailerEnd end{};
  layout.trailer_len = section.end + sizeof(end);
  end.length_marker = kMsgpackUint32;
  end.trailer_len = static_cast<std::uint32_t>(layout.trailer_len);
  end.fingerprint_marker = kMsgpackFixext16;
  layout.end.resize(sizeof(end));
  std::memcpy(layout.end.data(), &end, sizeof(end));
  return layout;
}

}  // namespace bloscfs::frame::inline header
