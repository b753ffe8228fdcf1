#pragma once
// Shows what metalayers hold: msgpack as JSON, other bytes as text or hexadecimal digits.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "codec/bytes.hpp"

namespace bloscfs::frame {

/// Values that msgpack can nest; deeper ones are shown undecoded.
inline constexpr int kMaxMsgpackDepth = 64;
/// Values that one decoded tree may have in all.
inline constexpr int kMaxMsgpackValues = 1 << 20;

/// The JSON twin of `bytes` if they are exactly one msgpack value within the limits above, else
/// nullopt. Binary values become {"hex": ...}, extensions {"ext": type, "hex": ...}.
std::optional<nlohmann::json> msgpack_to_json(codec::Bytes bytes);

/// msgpack_to_json, or a string if `bytes` are printable UTF-8 text, or {"hex": ...}.
nlohmann::json metalayer_to_json(codec::Bytes bytes);

/// The msgpack twin of a JSON text, with the keys of objects in their order. Throws
/// std::runtime_error for what is no JSON, or is nested deeper than kMaxMsgpackDepth, and for what
/// msgpack_to_json() gives for binary values and extensions, which would come back as maps.
std::vector<std::uint8_t> json_to_msgpack(codec::Bytes text);

/// One line of ASCII-safe JSON; what is no UTF-8 is replaced.
std::string to_line(const nlohmann::json& value);

}  // namespace bloscfs::frame
