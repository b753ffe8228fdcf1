#pragma once
// Turns the directory of a store into a ZIP file and back (frame/formats/stores.md, "ZIP").

#include <cstdint>
#include <functional>
#include <string>

#include "frame/store/byte_source.hpp"
#include "frame/store/byte_store.hpp"

namespace bloscfs::frame::inline pystore {

/// Called with the number of bytes copied so far and the total.
using CopyProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Writes the files below `directory` to the new file `out`. All are uncompressed, from the largest
/// to the smallest, with embed.b2e last. Leaves out staging files and locks. Flushes nothing.
/// Throws Error (malformed) for symlinks and other special files, without an embed.b2e, and if a
/// file changes during the copy; std::system_error.
void pack_store(const UniqueFd& directory, StoreFile& out, const CopyProgress& progress);

/// Writes the members of the ZIP file `source` to the new, empty directory `out`. Flushes nothing.
/// Throws Error: malformed for members with invalid names or a wrong CRC-32, unsupported for
/// compressed or encrypted members; std::system_error.
void unpack_store(std::shared_ptr<const ByteSource> source,
                  const std::shared_ptr<StoreDirectory>& out, const CopyProgress& progress);

}  // namespace bloscfs::frame::inline pystore
