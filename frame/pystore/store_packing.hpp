#pragma once
// Turns the directory of a store into a ZIP file and back (frame/formats/stores.md, "ZIP").

#include <cstdint>
#include <functional>
#include <string>

#include "frame/store/byte_source.hpp"
#include "frame/store/byte_store.hpp"

namespace bloscfs::frame::inline pystore {

/// Told how many bytes of how many have been copied.
using CopyProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Writes the files below `directory` to the new file `out`: all stored, by size from the largest
/// on, embed.b2e last; staging files and locks are left out. Flushes nothing. Throws Error
/// (malformed) for symlinks and the like, without an embed.b2e, and where a file changes meanwhile;
/// std::system_error.
void pack_store(const UniqueFd& directory, StoreFile& out, const CopyProgress& progress);

/// Writes the members of the ZIP file `source` to the new, empty directory `out`. Flushes nothing.
/// Throws Error: malformed for members that cannot have their names or have another CRC-32,
/// unsupported for those that are not stored; std::system_error.
void unpack_store(std::shared_ptr<const ByteSource> source,
                  const std::shared_ptr<StoreDirectory>& out, const CopyProgress& progress);

}  // namespace bloscfs::frame::inline pystore
