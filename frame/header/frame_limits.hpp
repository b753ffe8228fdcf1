#pragma once
// The largest frames that can be written.
//
// The rule of all who take changes now and commit them later: what cannot be committed is refused
// when it is asked for. A commit that fails for good would keep, and at last lose, all that was
// written with it. So these limits hold whatever is put into the frame later: they leave room for
// an index, and for checksums, that do not compress.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "frame/container/frame_info.hpp"
#include "frame/container/snapshot.hpp"

namespace bloscfs::frame::inline header {

/// Most chunks of a frame: the tables of all chunks are single Blosc chunks, with 32-bit sizes, and
/// that of the checksums shares a trailer of that size with other vlmetalayers.
std::int64_t max_chunk_count(bool checksums);

/// True if the frame keeps checksums. Reads the trailer. Errors: as Snapshot::vlmetalayers().
bool keeps_checksums(const Snapshot& snapshot);

/// Chunks of an array; nullopt where its shapes make it larger than any frame can be.
std::optional<std::int64_t> array_chunk_count(const ArrayInfo& array, std::int32_t typesize);

/// By name, bytes that a vlmetalayer is to hold; none: it is to be removed.
using VlmetalayerSizes = std::map<std::string, std::optional<std::size_t>>;

/// Throws, as Transaction::set_vlmetalayer(), unless the frame can have these beside those that it
/// has. `base` is null for a new one. Errors: also as Snapshot::vlmetalayers().
void check_vlmetalayers(const Snapshot* base, const VlmetalayerSizes& changes);

}  // namespace bloscfs::frame::inline header
