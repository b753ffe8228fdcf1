#include "frame/pystore/zip_records.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/pystore/zip_format.hpp"

namespace bloscfs::frame::inline pystore {
namespace {

using codec::throw_malformed;

/// Most bytes of the end record of the directory, with its comment.
constexpr std::uint64_t kMaxEnd = sizeof(RawZipEnd) + 0xffff;
constexpr std::size_t kExtraHead = 4;

template <typename Raw>
Raw copy_of(Bytes bytes) {
  Raw raw;
  std::memcpy(&raw, bytes.data(), sizeof raw);
  return raw;
}

std::uint64_t size_of(const ByteSource& source) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(source.stamp().size, 0));
}

/// Returns the position of the last end record whose comment ends inside the file.
std::uint64_t find_end(const ByteSource& source, RawZipEnd& end) {
  const std::uint64_t size = size_of(source);
  std::vector<std::uint8_t> tail(static_cast<std::size_t>(std::min(size, kMaxEnd)));
  source.read_exactly_at(size - tail.size(), tail, "end of ZIP file");
  for (std::size_t left = tail.size(); left >= sizeof end; --left) {
    const std::size_t at = left - sizeof end;
    end = copy_of<RawZipEnd>(Bytes(tail).subspan(at));
    if (end.magic.value() == kZipEndMagic && end.comment_size.value() <= tail.size() - left)
      return size - tail.size() + at;
  }
  throw_malformed(
      "no end of a central directory: the file is not a ZIP file, or its end was cut off; restore "
      "it "
      "from a copy");
}

/// Reads the end record of ZIP64, if the file has one before `end_at`.
bool read_zip64_end(const ByteSource& source, std::uint64_t end_at, ZipDirectoryPlace& place) {
  std::vector<std::uint8_t> bytes(sizeof(RawZip64Locator));
  if (end_at < bytes.size()) return false;
  source.read_exactly_at(end_at - bytes.size(), bytes, "ZIP64 locator");
  const auto locator = copy_of<RawZip64Locator>(bytes);
  if (locator.magic.value() != kZip64LocatorMagic) return false;
  bytes.resize(sizeof(RawZip64End));
  source.read_exactly_at(locator.end_at.value(), bytes, "end of ZIP64 directory");
  const auto end = copy_of<RawZip64End>(bytes);
  if (end.magic.value() != kZip64EndMagic)
    throw_malformed(fmt::format("ZIP64: no end of a directory at {}", locator.end_at.value()));
  place = {end.directory_at.value(), end.directory_size.value(), end.entries.value()};
  return true;
}

/// Replaces the numbers that do not fit into 32 bits by 64-bit numbers from the extra field, in
/// order. Throws Error(malformed) if the field has too few.
void take_zip64(Bytes extra, std::initializer_list<std::uint64_t*> numbers) {
  Bytes values;
  while (extra.size() >= kExtraHead && values.empty()) {
    const auto id = copy_of<little_uint16_buf_t>(extra).value();
    const std::size_t size = copy_of<little_uint16_buf_t>(extra.subspan(2)).value();
    if (size > extra.size() - kExtraHead) break;
    if (id == kZip64ExtraId) values = extra.subspan(kExtraHead, size);
    extra = extra.subspan(kExtraHead + size);
  }
  for (std::uint64_t* number : numbers) {
    if (*number != kZip32Bits) continue;
    if (values.size() < sizeof(std::uint64_t))
      throw_malformed("a size or position of ZIP64 is missing");
    *number = copy_of<little_uint64_buf_t>(values).value();
    values = values.subspan(sizeof(std::uint64_t));
  }
}

bool is_same(Bytes bytes, std::string_view text) {
  return bytes.size() == text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

void check_sizes(const RawZipLocal& local, Bytes extra, const ZipMember& member) {
  std::uint64_t full_size = local.full_size.value(), size = local.stored_size.value();
  take_zip64(extra, {&full_size, &size});
  if (local.crc.value() != member.crc || size != member.size || full_size != member.full_size)
    throw_malformed("its local header has another size or CRC-32");
}

}  // namespace

ZipDirectoryPlace find_zip_directory(const ByteSource& source) {
  RawZipEnd end{};
  const std::uint64_t end_at = find_end(source, end);
  ZipDirectoryPlace place{end.directory_at.value(), end.directory_size.value(),
                          end.entries.value()};
  read_zip64_end(source, end_at, place);
  if (end.disk.value() != end.directory_disk.value())
    throw_malformed("ZIP file: one of several parts");
  if (place.at > end_at || place.size > end_at - place.at)
    throw_malformed(fmt::format("ZIP file: {} bytes of directory at {}, which ends at {}",
                                place.size, place.at, end_at));
  return place;
}

ZipMember read_zip_entry(WindowReader& reader, std::uint64_t& position) {
  const auto raw = copy_of<RawZipEntry>(reader.at(position, sizeof(RawZipEntry), "ZIP entry"));
  if (raw.magic.value() != kZipEntryMagic)
    throw_malformed(fmt::format("no entry of a ZIP directory at {}", position));
  const std::size_t name_size = raw.name_size.value(), extra_size = raw.extra_size.value();
  const std::size_t rest = name_size + extra_size + raw.comment_size.value();
  const Bytes bytes = reader.at(position + sizeof raw, rest, "name of a ZIP entry");
  position += sizeof raw + rest;
  ZipMember member;
  member.name.assign(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(name_size));
  member.size = raw.stored_size.value();
  member.full_size = raw.full_size.value();
  member.local_at = raw.local_at.value();
  member.crc = raw.crc.value();
  member.method = raw.method.value();
  member.is_stored = member.method == kZipStored && (raw.flags.value() & kZipEncrypted) == 0;
  take_zip64(bytes.subspan(name_size, extra_size),
             {&member.full_size, &member.size, &member.local_at});
  return member;
}

std::uint64_t find_next_zip_entry(WindowReader& reader, std::uint64_t from) {
  constexpr std::array<std::uint8_t, 4> kMagic{'P', 'K', 1, 2};
  constexpr std::uint64_t kSearched = 64 << 10;
  while (from + kMagic.size() <= reader.size()) {
    const Bytes bytes = reader.at(from, std::min(kSearched, reader.size() - from), "ZIP entry");
    const auto found = std::search(bytes.begin(), bytes.end(), kMagic.begin(), kMagic.end());
    if (found != bytes.end()) return from + static_cast<std::uint64_t>(found - bytes.begin());
    from += bytes.size() - (kMagic.size() - 1);
  }
  return reader.size();
}

std::uint64_t find_zip_data(const ByteSource& source, const ZipMember& member) {
  WindowReader reader(source, size_of(source));
  const auto raw =
      copy_of<RawZipLocal>(reader.at(member.local_at, sizeof(RawZipLocal), "local header"));
  if (raw.magic.value() != kZipLocalMagic) throw_malformed("it has no local header");
  const std::size_t name_size = raw.name_size.value(), extra_size = raw.extra_size.value();
  const Bytes bytes =
      reader.at(member.local_at + sizeof raw, name_size + extra_size, "local header");
  if (!is_same(bytes.first(name_size), member.name))
    throw_malformed("its local header has another name");
  if (raw.method.value() != member.method || (raw.flags.value() & kZipEncrypted) != 0)
    throw_malformed("its local header has another method");
  if ((raw.flags.value() & kZipSizesBehind) == 0)
    check_sizes(raw, bytes.subspan(name_size), member);
  return member.local_at + sizeof raw + name_size + extra_size;
}

}  // namespace bloscfs::frame::inline pystore
