#pragma once
// Chunks of arrays: settings for codecs and filters that use the shape of blocks, and contents of
// such chunks.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "codec/encode_settings.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

using Extents = std::vector<std::int32_t>;

/// Decodes a chunk whose blocks have that shape. Throws codec::Error.
ByteVector decode_array(const ByteVector& chunk, std::int32_t typesize, const Extents& shape);
/// Returns the message of the Error that decode_array() throws; an empty string if it throws none.
std::string array_refusal(const ByteVector& chunk, std::int32_t typesize, const Extents& shape);

/// Returns settings for chunks whose blocks have that shape.
codec::EncodeSettings array_settings(codec::CodecId id, std::uint8_t meta, std::int32_t typesize,
                                     const Extents& shape,
                                     std::initializer_list<codec::FilterStep> filters = {});
/// Returns the message of the Error that check_settings() throws; an empty string if it throws
/// none.
std::string problem_of(const codec::EncodeSettings& settings);

/// Returns the bytes 0, 1, 2...
ByteVector ascending(std::size_t size);

}  // namespace bloscfs::test
