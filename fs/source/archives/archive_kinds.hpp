#pragma once
// Which files are archives.

#include <functional>
#include <memory>
#include <string_view>

#include "frame/container/snapshot.hpp"
#include "frame/store/byte_source.hpp"
#include "fs/source/archives/archive.hpp"
#include "fs/view/memory_budget.hpp"

namespace bloscfs::fs {

/// A file that may be an archive: it is opened as bytes or as a frame.
struct ArchiveFile {
  std::function<std::shared_ptr<const frame::ByteSource>()> bytes;
  std::function<std::shared_ptr<const frame::Snapshot>()> frame;  ///< null if it is none
};

struct ArchiveKind {
  std::string_view suffix;  ///< of names: no others are looked at
  /// Reads little. Throws codec::Error for damage.
  bool (*is_one)(const ArchiveFile& file);
  /// Null if it is none. `charge` is what the archive keeps. `raw`: arrays are shown without a NPY
  /// header.
  std::unique_ptr<const Archive> (*open)(const ArchiveFile& file, bool raw,
                                         std::shared_ptr<MemoryBudget::Listing> charge);
};

/// The kind that a name promises; null if it is that of no archive.
const ArchiveKind* archive_kind_of(std::string_view name);

}  // namespace bloscfs::fs
