#pragma once
// What a Bloscpack file whose header can be read still says of its chunks, in a frame's terms.

#include <cstdint>
#include <optional>

#include "frame/bloscpack/digest.hpp"
#include "frame/repair/frame_remains.hpp"
#include "frame/repair/index_remains.hpp"

namespace bloscfs::frame::inline repair {

/// The metalayer of a frame in which a Bloscpack file's metadata are kept, as msgpack.
inline constexpr char kMetadataLayerName[] = "bloscpack";

struct BloscpackRemains {
  /// header_len is where chunks begin; of metalayers it has the metadata, as kMetadataLayerName.
  HeaderRemains header;
  IndexRemains index;  ///< file positions, from the table or by walking over the chunks
  DigestKind digest = DigestKind::none;
};

/// Nothing for other files, and where the header cannot be read. Throws std::system_error of the
/// source.
std::optional<BloscpackRemains> read_bloscpack_remains(const ByteSource& source,
                                                       std::uint64_t file_size);

/// Whether the digest behind a chunk is its own; nothing where there is none.
std::optional<bool> digest_agrees(const ByteSource& source, DigestKind kind, std::uint64_t at,
                                  std::int32_t cbytes);

}  // namespace bloscfs::frame::inline repair
