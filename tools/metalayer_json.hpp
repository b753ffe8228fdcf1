#pragma once
// Converts the contents of fixed metalayers to JSON.

#include <string_view>

#include <nlohmann/json.hpp>

#include "codec/bytes.hpp"

namespace bloscfs::tools {

/// Like frame::metalayer_to_json(), with one exception. The description of an array (`b2nd` or
/// `caterva`) becomes an object with named fields: shape, chunks, blocks, dtype and others.
nlohmann::ordered_json fixed_metalayer_to_json(std::string_view name, codec::Bytes content);

}  // namespace bloscfs::tools
