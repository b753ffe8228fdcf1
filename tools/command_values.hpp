#pragma once
// Values of b2frame's options, from their texts. All throw CLI::ValidationError with what was
// wanted.

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "fs/options/option_values.hpp"
#include "tools/b2frame_commands.hpp"

namespace bloscfs::tools {

/// Adds an option whose text `parse` turns into `value`, which outlives `command`.
template <typename Value, typename Parse>
CLI::Option* add_parsed(CLI::App& command, const char* name, Value& value, Parse parse,
                        const char* shown, const std::string& help) {
  return command
      .add_option_function<std::string>(
          name, [&value, parse](const std::string& text) { value = parse(text); }, help)
      ->option_text(shown);
}

/// A number from `least` to `most`.
std::int64_t parse_number(const std::string& text, std::int64_t least, std::int64_t most);
/// A number of items or rows.
std::int64_t parse_count(const std::string& text);
/// An item, counted from 0, or with a minus sign from the end.
std::int64_t parse_position(const std::string& text);
/// A number of bytes, with K, M, G or T or without.
std::int64_t parse_bytes(const std::string& text);
/// The same for chunks, blocks and items: 1 to what a chunk can hold.
std::int32_t parse_size(const std::string& text);
fs::CodecChoice parse_codec(const std::string& text);
/// A codec to `options.codec`, or "auto", which may have a goal behind it, to `options.goal`.
void parse_codec_or_goal(const std::string& text, StorageOptions& options);
fs::FilterSteps parse_filters(const std::string& text);
std::vector<std::int32_t> parse_shape(const std::string& text);
/// NAME=FILE or NAME:=JSON, for a list that has no layer of that name yet.
NamedLayer parse_layer(const std::string& text, const std::vector<NamedLayer>& known);

}  // namespace bloscfs::tools
