#include "frame/header/metalayers.hpp"

#include <boost/endian/conversion.hpp>
#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/header/cframe_format.hpp"

namespace bloscfs::frame::inline header {
namespace {

using boost::endian::load_big_s32;
using boost::endian::load_big_u16;
using boost::endian::load_big_u32;
using codec::throw_malformed;

constexpr std::size_t kContentHead = 5;

/// Reads the section from the map on.
class Cursor {
 public:
  Cursor(WindowReader& reader, const MetalayerSection& section)
      : reader_(reader), section_(section), position_(section.map_at) {}

  Bytes take(std::size_t size) {
    if (position_ > section_.size || section_.size - position_ < size)
      throw_malformed(fmt::format("{} at {}: map needs {} bytes, {} are left", section_.what,
                                  section_.start + position_, size,
                                  section_.size - std::min(position_, section_.size)));
    const Bytes bytes = reader_.at(section_.start + position_, size, section_.what);
    position_ += size;
    return bytes;
  }

 private:
  WindowReader& reader_;
  const MetalayerSection& section_;
  std::uint64_t position_;
};

int read_map_head(Cursor& cursor, const MetalayerSection& section) {
  const Bytes head = cursor.take(kMapHead);
  if (head[0] != kMsgpackArray3 || head[1] != kMsgpackUint16 || head[4] != kMsgpackMap16)
    throw_malformed(
        fmt::format("{}: no metalayer map at {}", section.what, section.start + section.map_at));
  const int count = load_big_u16(head.data() + 5);
  if (count > section.max_entries)
    throw_malformed(
        fmt::format("{}: {} metalayers > {}", section.what, count, section.max_entries));
  return count;
}

/// Reads name and offset of an entry. Until locate_content() replaces it, stored_offset counts from
/// the section's start.
MetalayerEntry read_map_entry(Cursor& cursor, const MetalayerSection& section) {
  const std::uint8_t marker = cursor.take(1)[0];
  if ((marker & kMsgpackFixstrMask) != kMsgpackFixstr)
    throw_malformed(fmt::format("{}: metalayer name has marker {:#04x}", section.what, marker));
  const Bytes name = cursor.take(marker & 0x1fu);
  MetalayerEntry entry;
  entry.name.assign(name.begin(), name.end());
  if (entry.name.find('\0') != std::string::npos)
    throw_malformed(fmt::format("{}: NUL in a metalayer's name", section.what));
  const Bytes offset = cursor.take(5);
  const std::int32_t value = load_big_s32(offset.data() + 1);
  if (offset[0] != kMsgpackInt32 || value < 0)
    throw_malformed(fmt::format("{}: metalayer {} has offset {}", section.what, entry.name, value));
  entry.stored_offset = static_cast<std::uint64_t>(value);
  return entry;
}

/// Replaces the offset in `entry` by the content's position in the source, and reads its size.
void locate_content(WindowReader& reader, const MetalayerSection& section, MetalayerEntry& entry) {
  const std::uint64_t offset = entry.stored_offset;
  if (offset > section.size || section.size - offset < kContentHead)
    throw_malformed(fmt::format("{}: metalayer {} at {} is outside of {} bytes", section.what,
                                entry.name, offset, section.size));
  const Bytes head = reader.at(section.start + offset, kContentHead, section.what);
  entry.stored_size = load_big_u32(head.data() + 1);
  if (head[0] != kMsgpackBin32)
    throw_malformed(fmt::format("{}: metalayer {} at {} has marker {:#04x}", section.what,
                                entry.name, offset, head[0]));
  if (entry.stored_size > section.size - offset - kContentHead)
    throw_malformed(fmt::format("{}: metalayer {} at {} has {} bytes, section ends at {}",
                                section.what, entry.name, offset, entry.stored_size, section.size));
  entry.stored_offset = section.start + offset + kContentHead;
}

}  // namespace

std::vector<MetalayerEntry> read_metalayer_map(WindowReader& reader,
                                               const MetalayerSection& section) {
  Cursor cursor(reader, section);
  const int count = read_map_head(cursor, section);
  std::vector<MetalayerEntry> entries;
  entries.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) entries.push_back(read_map_entry(cursor, section));
  for (MetalayerEntry& entry : entries) locate_content(reader, section, entry);
  return entries;
}

}  // namespace bloscfs::frame::inline header
