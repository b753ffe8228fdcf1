#pragma once
// Reads the central directory of a ZIP file (frame/formats/stores.md, "ZIP"), and opens members in
// place.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frame/pystore/left_out.hpp"
#include "frame/pystore/zip_records.hpp"
#include "frame/store/byte_source.hpp"
#include "frame/store/memory_charge.hpp"

namespace bloscfs::frame::inline pystore {

/// True if a file that starts with these bytes (at least 4 of them) may be a ZIP file.
bool has_zip_magic(Bytes first_bytes);

/// Immutable.
class ZipDirectory {
 public:
  /// Reads the directory, also of ZIP64, but no members. Skips entries that cannot be read. If
  /// `only` is not empty, keeps only the member of that name. Charges memory() bytes to `charge`,
  /// whose exceptions pass through. Throws Error: malformed if there is no directory, too_large for
  /// more than 2^20 entries or 128 MiB of them.
  explicit ZipDirectory(std::shared_ptr<const ByteSource> source, std::string_view only = {},
                        MemoryCharge& charge = *uncharged());

  /// Returns the files, sorted by the bytes of their names.
  const std::vector<ZipMember>& members() const { return members_; }
  /// Returns null if no member has that name.
  const ZipMember* find(std::string_view name) const;
  /// Returns the position of the first member whose name is not less than `name`.
  std::size_t lower_bound(std::string_view name) const;
  /// False if members may exist, or have existed, that were not found.
  bool is_whole() const { return is_whole_; }
  /// Returns what was left out: names with `..`, absolute names, duplicates, unreadable entries.
  const LeftOut& left_out() const { return left_out_; }
  /// Returns the bytes that the members take.
  std::size_t memory() const;
  /// Returns the source that holds the members.
  const std::shared_ptr<const ByteSource>& source() const { return source_; }

  /// Opens the member in place. Throws Error: malformed unless its local header agrees with the
  /// directory, unsupported if it is compressed or encrypted.
  std::shared_ptr<const ByteSource> open(const ZipMember& member) const;

 private:
  void read_entries(const ZipDirectoryPlace& place, std::string_view only, MemoryCharge& charge);
  void add(ZipMember member, MemoryCharge& charge);
  void make_room(std::size_t members, MemoryCharge& charge);
  void sort_members();

  std::shared_ptr<const ByteSource> source_;
  std::vector<ZipMember> members_;
  LeftOut left_out_;
  bool is_whole_ = true;
};

}  // namespace bloscfs::frame::inline pystore
