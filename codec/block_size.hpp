#pragma once
// Chooses the sizes of blocks, and whether blocks are split into streams.

#include <cstdint>

#include "codec/encode_settings.hpp"

namespace bloscfs::codec {

/// Returns the bytes of a block in chunks of `nbytes`: the size in the settings, or a size that
/// depends on codec and level (codec/formats/codecs.md, "Block sizes"). The result is from 1 to
/// nbytes, and a whole number of items where possible. It is 1 if nbytes is 0.
std::int32_t choose_blocksize(const EncodeSettings& settings, std::int32_t nbytes);

/// True if full blocks of that size are split (codec/formats/chunk.md, "Blocks and streams").
bool splits_blocks(const EncodeSettings& settings, std::int32_t blocksize);

}  // namespace bloscfs::codec
