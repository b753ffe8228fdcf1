#pragma once
// What fixed metalayers hold, as JSON.

#include <string_view>

#include <nlohmann/json.hpp>

#include "codec/bytes.hpp"

namespace bloscfs::tools {

/// frame::metalayer_to_json(); but the description of an array, `b2nd` or `caterva`, is an object
/// whose fields have names: shape, chunks, blocks, dtype and others.
nlohmann::ordered_json fixed_metalayer_to_json(std::string_view name, codec::Bytes content);

}  // namespace bloscfs::tools
