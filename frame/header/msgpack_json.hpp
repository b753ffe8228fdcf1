#pragma once
// Converts metalayers and lists of objects for display: msgpack to JSON, other bytes to text or
// hexadecimal digits.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "codec/bytes.hpp"

namespace bloscfs::frame::inline header {

/// Most levels of nesting. Deeper values are shown undecoded.
inline constexpr int kMaxMsgpackDepth = 64;
/// Most values that one decoded tree may have.
inline constexpr int kMaxMsgpackValues = 1 << 20;

/// How JSON shows values that it has no form for.
enum class Marks {
  hex,     ///< {"hex": ...} for bytes, {"ext": type, "hex": ...} for extensions
  base64,  ///< for Python objects: frame/formats/metalayers.md, "Objects"
};

/// Converts `bytes` to JSON. Returns nullopt unless they are exactly one msgpack value within the
/// limits above, and all keys of maps are texts.
std::optional<nlohmann::json> msgpack_to_json(codec::Bytes bytes, Marks marks = Marks::hex);

/// Parses a JSON text within the same limits. Returns nullopt for anything else.
std::optional<nlohmann::json> parse_json(codec::Bytes text);

/// Returns msgpack_to_json(), or a string if `bytes` are printable UTF-8 text, or {"hex": ...}.
nlohmann::json metalayer_to_json(codec::Bytes bytes);

/// Converts a JSON text to msgpack, with the keys of objects in their order. Throws
/// std::runtime_error for bad JSON, for integers of more than 64 bits, and for nesting deeper than
/// kMaxMsgpackDepth. Also refuses the
/// objects that msgpack_to_json() returns for binary values and extensions, because they would come
/// back as maps.
std::vector<std::uint8_t> json_to_msgpack(codec::Bytes text);

/// Returns one line of ASCII JSON. Replaces bytes that are not UTF-8.
std::string to_line(const nlohmann::json& value);

}  // namespace bloscfs::frame::inline header
