#include "frame/pystore/zip_directory.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/pystore/embed_map.hpp"
#include "frame/pystore/window_source.hpp"
#include "frame/pystore/zip_format.hpp"
#include "frame/store/wait_context.hpp"

namespace bloscfs::frame::inline pystore {
namespace {

using codec::throw_malformed;

constexpr std::size_t kMaxEntries = std::size_t{1} << 20;
constexpr std::uint64_t kMaxDirectory = std::uint64_t{128} << 20;
constexpr std::size_t kMaxMemberPart = 255;
/// Number of entries between checks whether the request was interrupted.
constexpr std::uint64_t kCheckInterval = 4096;

/// Returns why a name cannot be a path below the root; null if it can.
const char* flaw(std::string_view name) {
  if (name.empty()) return "has no name";
  if (name.size() > kMaxKey) return "has too long a name";
  if (name.front() == '/') return "is absolute";
  if (name.find('\0') != std::string_view::npos) return "has a NUL in its name";
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('/', at), name.size());
    const std::string_view part = name.substr(at, end - at);
    if (part.empty() || part == "." || part == "..") return "leads out of the store, or nowhere";
    if (part.size() > kMaxMemberPart) return "has too long a name";
    at = end + 1;
  }
  return nullptr;
}

}  // namespace

bool has_zip_magic(Bytes first_bytes) {
  constexpr std::array<std::uint8_t, 4> kMember{'P', 'K', 3, 4}, kEmpty{'P', 'K', 5, 6};
  if (first_bytes.size() < kMember.size()) return false;
  return std::equal(kMember.begin(), kMember.end(), first_bytes.begin()) ||
         std::equal(kEmpty.begin(), kEmpty.end(), first_bytes.begin());
}

ZipDirectory::ZipDirectory(std::shared_ptr<const ByteSource> source, std::string_view only,
                           MemoryCharge& charge)
    : source_(std::move(source)) {
  read_entries(find_zip_directory(*source_), only, charge);
  sort_members();
}

/// Reserves memory once, for as many members as the file announces and its directory has room for.
/// A growing vector would take three times as much.
void ZipDirectory::make_room(std::size_t members, MemoryCharge& charge) {
  if (members <= members_.capacity()) return;
  charge.take(members * sizeof(ZipMember));
  const std::size_t before = members_.capacity() * sizeof(ZipMember);
  members_.reserve(members);
  charge.give_back(before);
}

void ZipDirectory::read_entries(const ZipDirectoryPlace& place, std::string_view only,
                                MemoryCharge& charge) {
  if (place.size > kMaxDirectory)
    throw codec::Error(codec::FormatErrc::too_large,
                       fmt::format("ZIP file with a directory of {} bytes", place.size));
  const std::uint64_t end = place.at + place.size;
  const std::uint64_t most = std::min<std::uint64_t>(place.size / sizeof(RawZipEntry), kMaxEntries);
  if (only.empty()) make_room(static_cast<std::size_t>(std::min(place.entries, most)), charge);
  WindowReader reader(*source_, end);
  std::uint64_t entry = 0;
  // As in Python, the size of the directory decides, not the number of entries.
  for (std::uint64_t position = place.at; position < end; ++entry) {
    if (entry == kMaxEntries)
      throw codec::Error(codec::FormatErrc::too_large,
                         fmt::format("ZIP file of more than {} members", kMaxEntries));
    if (entry % kCheckInterval == 0) Interruption::check();
    const std::uint64_t before = position;
    try {
      ZipMember member = read_zip_entry(reader, position);
      member.number = static_cast<std::uint32_t>(entry);
      if (!only.empty() && member.name != only) continue;
      if (!only.empty()) members_.clear();  // of two entries with this name the later wins
      add(std::move(member), charge);
    } catch (const codec::Error& error) {
      left_out_.add(fmt::format("entry {} of the ZIP directory: {}", entry, error.what()));
      is_whole_ = false;
      // The end of the bad entry is unknown.
      if (position == before) position = find_next_zip_entry(reader, before + 1);
    }
  }
  is_whole_ = is_whole_ && entry == place.entries;
  if (entry != place.entries)
    left_out_.add(fmt::format("ZIP directory: has {} entries, not {}", entry, place.entries));
}

void ZipDirectory::add(ZipMember member, MemoryCharge& charge) {
  const bool is_directory = member.name.ends_with('/');
  const char* wrong = is_directory ? nullptr : flaw(member.name);
  if (wrong != nullptr) left_out_.add(fmt::format("member {}: {}", member.name, wrong));
  if (wrong != nullptr || is_directory) return;
  if (members_.size() == members_.capacity()) make_room(2 * members_.size() + 1, charge);
  charge.take(heap_size(member.name.size()));
  members_.push_back(std::move(member));
}

void ZipDirectory::sort_members() {
  // Of two members with one name the later wins, as in Python. Sorts in place, because a stable
  // sort takes memory.
  std::sort(members_.begin(), members_.end(), [](const ZipMember& a, const ZipMember& b) {
    const int order = a.name.compare(b.name);
    return order != 0 ? order < 0 : a.number > b.number;
  });
  const auto repeats = [&](const ZipMember& a, const ZipMember& b) {
    if (a.name != b.name) return false;
    left_out_.add(fmt::format("member {}: another one has its name", b.name));
    return true;
  };
  members_.erase(std::unique(members_.begin(), members_.end(), repeats), members_.end());
}

std::size_t ZipDirectory::memory() const {
  std::size_t bytes = members_.capacity() * sizeof(ZipMember);
  for (const ZipMember& member : members_) bytes += heap_size(member.name.size());
  return bytes;
}

std::size_t ZipDirectory::lower_bound(std::string_view name) const {
  const auto less = [](const ZipMember& member, std::string_view wanted) {
    return member.name < wanted;
  };
  return static_cast<std::size_t>(std::lower_bound(members_.begin(), members_.end(), name, less) -
                                  members_.begin());
}

const ZipMember* ZipDirectory::find(std::string_view name) const {
  const std::size_t at = lower_bound(name);
  return at < members_.size() && members_[at].name == name ? &members_[at] : nullptr;
}

std::shared_ptr<const ByteSource> ZipDirectory::open(const ZipMember& member) const {
  if (!member.is_stored)
    codec::throw_unsupported(fmt::format("member {} is compressed or encrypted", member.name));
  if (member.size != member.full_size)
    throw_malformed(fmt::format("member {}: {} bytes are stored as {}", member.name,
                                member.full_size, member.size));
  try {
    return std::make_shared<WindowSource>(source_, find_zip_data(*source_, member), member.size);
  } catch (const codec::Error& error) {
    throw_malformed(fmt::format("member {}: {}", member.name, error.what()));
  }
}

}  // namespace bloscfs::frame::inline pystore
