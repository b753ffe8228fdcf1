#pragma once
// Reads what a Bloscpack file still says of its chunks, if its header can be read. Presents it like
// the remains of a frame.

#include <cstdint>
#include <optional>

#include "frame/bloscpack/digest.hpp"
#include "frame/repair/frame_remains.hpp"
#include "frame/repair/index_remains.hpp"

namespace bloscfs::frame::inline repair {

/// The metalayer that holds a Bloscpack file's metadata in a frame, as msgpack.
inline constexpr char kMetadataLayerName[] = "bloscpack";

struct BloscpackRemains {
  /// header_len is where chunks begin. The only metalayer is the metadata, as kMetadataLayerName.
  HeaderRemains header;
  IndexRemains index;  ///< file positions, from the table or from a walk over the chunks
  DigestKind digest = DigestKind::none;
};

/// Returns nullopt for other files, and if the header cannot be read. Throws std::system_error of
/// the source.
std::optional<BloscpackRemains> read_bloscpack_remains(const ByteSource& source,
                                                       std::uint64_t file_size);

/// True if the digest behind a chunk matches it; nullopt if there is no digest, or if this program
/// cannot compute it.
std::optional<bool> digest_agrees(const ByteSource& source, DigestKind kind, std::uint64_t at,
                                  std::int32_t cbytes);

}  // namespace bloscfs::frame::inline repair
