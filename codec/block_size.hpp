#pragma once
// Sizes of blocks, and which are split into streams.

#include <cstdint>

#include "codec/encode_settings.hpp"

namespace bloscfs::codec {

/// Bytes of a block in chunks of `nbytes`: what the settings ask for, or by codec and level
/// (codec/formats/codecs.md, "Block sizes"); 1..nbytes and whole items where that is possible, 1
/// when nbytes is 0.
std::int32_t choose_blocksize(const EncodeSettings& settings, std::int32_t nbytes);

/// Whether full blocks of that size are split (codec/formats/chunk.md, "Blocks and streams").
bool splits_blocks(const EncodeSettings& settings, std::int32_t blocksize);

}  // namespace bloscfs::codec
