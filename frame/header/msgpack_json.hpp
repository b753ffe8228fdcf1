#pragma once
// Shows what metalayers and lists of objects hold: msgpack as JSON, other bytes as text or
// hexadecimal digits.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "codec/bytes.hpp"

namespace bloscfs::frame::inline header {

/// Values that msgpack can nest; deeper ones are shown undecoded.
inline constexpr int kMaxMsgpackDepth = 64;
/// Values that one decoded tree may have in all.
inline constexpr int kMaxMsgpackValues = 1 << 20;

/// What stands in JSON for values that it does not have.
enum class Marks {
  hex,     ///< {"hex": ...} for bytes, {"ext": type, "hex": ...} for extensions
  base64,  ///< of Python's objects: frame/formats/metalayers.md, "Objects"
};

/// The JSON twin of `bytes` if they are exactly one msgpack value within the limits above, whose
/// maps have texts as keys; else nullopt.
std::optional<nlohmann::json> msgpack_to_json(codec::Bytes bytes, Marks marks = Marks::hex);

/// The value of a JSON text, within the same limits; nullopt for what is none.
std::optional<nlohmann::json> parse_json(codec::Bytes text);

/// msgpack_to_json, or a string if `bytes` are printable UTF-8 text, or {"hex": ...}.
nlohmann::json metalayer_to_json(codec::Bytes bytes);

/// The msgpack twin of a JSON text, with the keys of objects in their order. Throws
/// std::runtime_error for what is no JSON, or is nested deeper than kMaxMsgpackDepth, and for what
/// msgpack_to_json() gives for binary values and extensions, which would come back as maps.
std::vector<std::uint8_t> json_to_msgpack(codec::Bytes text);

/// One line of ASCII-safe JSON; what is no UTF-8 is replaced.
std::string to_line(const nlohmann::json& value);

}  // namespace bloscfs::frame::inline header
