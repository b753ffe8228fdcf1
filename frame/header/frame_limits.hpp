#pragma once
// The largest frames that can be written.
//
// Code that accepts changes now and commits them later must refuse a change at once if the commit
// would fail. A commit that fails for good would block, and in the end lose, all other changes that
// were written with it. So these limits hold for any contents: they leave room for an index and
// checksums that do not compress.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "frame/container/frame_info.hpp"
#include "frame/container/snapshot.hpp"

namespace bloscfs::frame::inline header {

/// Returns the most chunks that a frame can have. Index and checksums are single Blosc chunks, with
/// 32-bit sizes. The checksums share a trailer of that size with other vlmetalayers.
std::int64_t max_chunk_count(bool checksums);

/// Returns the number of chunks of an array; nullopt if its shapes exceed the size of any frame.
std::optional<std::int64_t> array_chunk_count(const ArrayInfo& array, std::int32_t typesize);

/// Changes of vlmetalayers: name to new size in bytes, or to nullopt if the layer is removed.
using VlmetalayerSizes = std::map<std::string, std::optional<std::size_t>>;

/// Throws like Transaction::set_vlmetalayer() if the frame cannot hold these changes in addition to
/// its other vlmetalayers. `base` is null for a new frame. Also throws what
/// Snapshot::vlmetalayers() throws.
void check_vlmetalayers(const Snapshot* base, const VlmetalayerSizes& changes);

}  // namespace bloscfs::frame::inline header
