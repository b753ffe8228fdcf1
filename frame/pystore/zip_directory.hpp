#pragma once
// The central directory of a ZIP file (frame/formats/stores.md, "ZIP"), and its members in place.

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

/// True where a file's last or first bytes may be those of a ZIP file: a look at its first four.
bool has_zip_magic(Bytes first_bytes);

/// Immutable.
class ZipDirectory {
 public:
  /// Reads the directory, ZIP64 too, and no member. Entries that cannot be read are passed over.
  /// If `only` is not empty, keeps the member of that name alone. Charges memory() bytes to
  /// `charge`, whose exceptions pass through. Throws Error: malformed where there is no directory,
  /// too_large with more than 2^20 entries or 128 MiB of them.
  explicit ZipDirectory(std::shared_ptr<const ByteSource> source, std::string_view only = {},
                        MemoryCharge& charge = *uncharged());

  /// Files, by name in the order of bytes.
  const std::vector<ZipMember>& members() const { return members_; }
  /// Null if there is none.
  const ZipMember* find(std::string_view name) const;
  /// Position of the first member whose name is not less.
  std::size_t lower_bound(std::string_view name) const;
  /// False where there may be, or have been, members that were not found.
  bool is_whole() const { return is_whole_; }
  /// Names with `..`, absolute ones, duplicates, entries that cannot be read.
  const LeftOut& left_out() const { return left_out_; }
  /// Bytes that the members take.
  std::size_t memory() const;
  /// Where the members are.
  const std::shared_ptr<const ByteSource>& source() const { return source_; }

  /// The member's bytes where they are. Throws Error: malformed unless its local header agrees with
  /// the directory, unsupported where it is not stored.
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
