#include "tools/command_values.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>

#include <CLI/Error.hpp>
#include <fmt/core.h>

#include "codec/names.hpp"
#include "tools/metalayer_file.hpp"

namespace bloscfs::tools {
namespace {

[[noreturn]] void refuse(const std::string& text, const std::string& what) {
  throw CLI::ValidationError("'" + text + "' is not " + what);
}

std::vector<std::uint8_t> parse_json(const std::string& name, const std::string& text) {
  try {
    return msgpack_of(text);
  } catch (const std::runtime_error&) {
    std::string hint;
    // A shell takes the quotes from units:="K".
    if (text.find_first_of("{[\"\\") == std::string::npos)
      hint = fmt::format("; '{}:=\"{}\"' stores the text itself", name, text);
    refuse(text, "JSON that a metalayer can hold" + hint);
  }
}

}  // namespace

std::int64_t parse_number(const std::string& text, std::int64_t least, std::int64_t most) {
  const auto number = fs::parse_number(text);
  if (!number || *number < least || *number > most)
    refuse(text, fmt::format("a number from {} to {}", least, most));
  return *number;
}

std::int64_t parse_count(const std::string& text) {
  const auto count = fs::parse_number(text);
  if (!count) refuse(text, "a number of items or rows, such as 10");
  return *count;
}

std::int64_t parse_position(const std::string& text) {
  const auto position = fs::parse_integer(text);
  if (!position) refuse(text, "the number of an item, such as 10 or -10");
  return *position;
}

std::int64_t parse_bytes(const std::string& text) {
  const auto value = fs::parse_size(text);
  if (!value) refuse(text, "a number of bytes, such as 1000 or 64K");
  return *value;
}

std::int32_t parse_size(const std::string& text) {
  const auto size = fs::parse_size(text);
  if (!size || *size < 1 || *size > codec::kMaxChunkNbytes)
    refuse(text, "a size from 1 to below 2G, such as 512K or 4M");
  return static_cast<std::int32_t>(*size);
}

fs::CodecChoice parse_codec(const std::string& text) {
  const auto codec = fs::parse_codec(text);
  if (text.starts_with("auto"))
    refuse(text, "for frames; b2frame advise --apply chooses the settings of a frame");
  if (!codec) refuse(text, "one of " + codec::list_written_codecs("and"));
  return *codec;
}

void parse_codec_or_goal(const std::string& text, StorageOptions& options) {
  options.goal = fs::parse_goal(text);
  if (options.goal) return;
  if (text.starts_with("auto")) refuse(text, "auto, auto:ratio, auto:balanced or auto:speed");
  const auto codec = fs::parse_codec(text);
  if (!codec) refuse(text, "auto or one of " + codec::list_written_codecs("and"));
  options.codec = *codec;
}

fs::FilterSteps parse_filters(const std::string& text) {
  const auto filters = fs::parse_filters(text);
  if (!filters)
    throw CLI::ValidationError(
        fmt::format("'{}': invalid filters; give none, or up to six of {} joined by +", text,
                    codec::list_written_filters("and")));
  return *filters;
}

std::vector<std::int32_t> parse_shape(const std::string& text) {
  std::vector<std::int32_t> shape;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const auto extent = fs::parse_number(text.substr(at, end - at));
    if (!extent || *extent < 1 || *extent > std::numeric_limits<std::int32_t>::max())
      refuse(text, "a shape, such as 100,200");
    shape.push_back(static_cast<std::int32_t>(*extent));
    at = end + 1;
  }
  return shape;
}

NamedLayer parse_layer(const std::string& text, const std::vector<NamedLayer>& known) {
  // frame/formats/metalayers.md: a name has at most 31 bytes.
  constexpr std::size_t kMaxName = 31;
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) refuse(text, "of the form NAME=FILE or NAME:=JSON");
  const bool is_json = equals > 0 && text[equals - 1] == ':';
  NamedLayer layer{text.substr(0, equals - (is_json ? 1 : 0)), {}, std::nullopt};
  if (is_json)
    layer.content = parse_json(layer.name, text.substr(equals + 1));
  else
    layer.file = text.substr(equals + 1);
  if (layer.name.empty() || layer.name.size() > kMaxName)
    refuse(layer.name, "a name of 1 to 31 bytes");
  if (layer.name == "b2nd" || layer.name == "caterva" || layer.name == "bloscfs.xxh3")
    throw CLI::ValidationError(
        fmt::format("metalayer {}: the name is reserved; choose another", layer.name));
  for (const NamedLayer& other : known)
    if (other.name == layer.name)
      throw CLI::ValidationError(
          fmt::format("metalayer {}: given twice; give it once", layer.name));
  return layer;
}

}  // namespace bloscfs::tools
