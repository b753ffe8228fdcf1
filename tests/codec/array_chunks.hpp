#pragma once
// Chunks of arrays: settings that go by the shape of blocks, and contents by that shape.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "codec/encode_settings.hpp"
#include "tests/support/temp_dir.hpp"

namespace bloscfs::test {

using Extents = std::vector<std::int32_t>;

/// Contents of a chunk of blocks of that shape. Throws codec::Error.
ByteVector decode_array(const ByteVector& chunk, std::int32_t typesize, const Extents& shape);
/// The Error that decode_array() throws, in words; empty: none.
std::string array_refusal(const ByteVector& chunk, std::int32_t typesize, const Extents& shape);

/// For chunks of blocks of that shape.
codec::EncodeSettings array_settings(codec::CodecId id, std::uint8_t meta, std::int32_t typesize,
                                     const Extents& shape,
                                     std::initializer_list<codec::FilterStep> filters = {});
/// What check_settings() says; empty: nothing.
std::string problem_of(const codec::EncodeSettings& settings);

/// 0, 1, 2...
ByteVector ascending(std::size_t size);

}  // namespace bloscfs::test
