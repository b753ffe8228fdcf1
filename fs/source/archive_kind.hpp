#pragma once
// Kinds of files whose contents are shown as a directory.

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "frame/container/snapshot.hpp"
#include "frame/store/byte_source.hpp"
#include "fs/view/memory_budget.hpp"

namespace bloscfs::fs {

class Archive;

/// How an archive's file is opened: as bytes, or as a frame, null if it is none.
struct ArchiveFile {
  std::function<std::shared_ptr<const frame::ByteSource>()> bytes;
  std::function<std::shared_ptr<const frame::Snapshot>()> frame;
};

struct ArchiveKind {
  std::string_view suffix;      ///< of names: no others are looked at
  std::uint64_t most_read = 0;  ///< bytes that is_one() may read
  /// Throws codec::Error for damage.
  bool (*is_one)(const std::shared_ptr<const frame::ByteSource>& bytes) = nullptr;
  /// Null if it is none. `charge` is left with what the archive keeps. `raw`: arrays are shown
  /// without a NPY header.
  std::unique_ptr<const Archive> (*open)(const ArchiveFile& file, bool raw,
                                         std::shared_ptr<MemoryBudget::Listing> charge) = nullptr;
};

}  // namespace bloscfs::fs
