#pragma once
// Parses the values of b2frame's options. All functions throw CLI::ValidationError, which says
// which form the value must have.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Error.hpp>
#include <fmt/core.h>

#include "fs/options/option_values.hpp"
#include "tools/b2frame_commands.hpp"

namespace bloscfs::tools {

/// Adds an option. `parse` turns its text into `value`, which must outlive `command`. `shown`
/// stands for the value in --help.
template <typename Value, typename Parse>
CLI::Option* add_parsed(CLI::App& command, const char* name, Value& value, Parse parse,
                        const char* shown, const std::string& help) {
  return command
      .add_option_function<std::string>(
          name,
          [&value, parse, name, shown](const std::string& text) {
            try {
              value = parse(text);
            } catch (const CLI::ValidationError& error) {
              const std::string_view names = name;
              throw CLI::ValidationError(fmt::format(
                  "{} {}: {}", names.substr(names.rfind(',') + 1), shown, error.what()));
            }
          },
          help)
      ->option_text(shown);
}

/// Parses a number from `least` to `most`.
std::int64_t parse_number(const std::string& text, std::int64_t least, std::int64_t most);
/// Parses a number of items or rows.
std::int64_t parse_count(const std::string& text);
/// Parses the number of an item, counted from 0, or from the end with a minus sign.
std::int64_t parse_position(const std::string& text);
/// Parses a number of bytes, with or without K, M, G or T.
std::int64_t parse_bytes(const std::string& text);
/// Parses the size of chunks, blocks or items: from 1 byte to the largest chunk.
std::int32_t parse_size(const std::string& text);
fs::CodecChoice parse_codec(const std::string& text);
/// Sets `options.goal` for "auto", with or without a goal behind it, else `options.codec`.
void parse_codec_or_goal(const std::string& text, StorageOptions& options);
fs::FilterSteps parse_filters(const std::string& text);
std::vector<std::int32_t> parse_shape(const std::string& text);
/// Parses NAME=FILE or NAME:=JSON. The name must not be in `known` yet.
NamedLayer parse_layer(const std::string& text, const std::vector<NamedLayer>& known);

}  // namespace bloscfs::tools
