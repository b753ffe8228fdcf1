#pragma once
// Converts the contents of fixed metalayers to JSON.

#include <string_view>

#include <nlohmann/json.hpp>

#include "codec/bytes.hpp"

namespace bloscfs::tools {

/// Converts msgpack to JSON as frame::metalayer_to_json() does, with one exception. The description
/// of an array (`b2nd` or `caterva`) becomes an object with named fields: shape, chunks, blocks,
/// dtype and others.
nlohmann::ordered_json fixed_metalayer_to_json(std::string_view name, codec::Bytes content);

}  // namespace bloscfs::tools
