#include "fs/options/option_values.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <limits>

#include "codec/compressor/codec_table.hpp"
#include "codec/filter/filter_table.hpp"

namespace bloscfs::fs {
namespace {

constexpr std::int64_t kMinMeta = -128, kMaxMeta = 255;

/// Parses a byte, signed or unsigned.
std::optional<std::uint8_t> parse_meta(std::string_view text) {
  const auto meta = parse_integer(text);
  if (!meta || *meta < kMinMeta || *meta > kMaxMeta) return std::nullopt;
  return static_cast<std::uint8_t>(*meta);
}

std::optional<codec::FilterStep> parse_filter(std::string_view step) {
  const std::size_t colon = step.find(':');
  const auto meta = colon == std::string_view::npos ? 0 : parse_meta(step.substr(colon + 1));
  if (!meta) return std::nullopt;
  for (const codec::FilterRow& row : codec::filter_rows())
    if (row.apply != nullptr && row.name == step.substr(0, colon))
      return codec::FilterStep{row.id, *meta};
  return std::nullopt;
}

/// Returns the codec with the parameter `text`, or with its usual one if there is no text. Returns
/// nullopt if a codec without a parameter gets a text, or one without a usual parameter gets none.
std::optional<CodecChoice> with_parameter(const codec::CodecRow& codec,
                                          std::optional<std::string_view> text) {
  if (*codec.parameter == '\0')
    return text ? std::nullopt : std::optional(CodecChoice{codec.id, 0});
  if (!text && codec.usual_parameter == codec::kNoParameter) return std::nullopt;
  const auto meta =
      text ? parse_meta(*text) : std::optional(static_cast<std::uint8_t>(codec.usual_parameter));
  return meta ? std::optional(CodecChoice{codec.id, *meta}) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

std::optional<std::int64_t> parse_number(std::string_view text) {
  return text.starts_with('-') ? std::nullopt : parse_integer(text);
}

std::optional<std::int64_t> parse_size(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const std::size_t unit = std::string_view("KMGT").find(text.back());
  const bool has_unit = unit != std::string_view::npos;
  const auto number = parse_number(has_unit ? text.substr(0, text.size() - 1) : text);
  const std::size_t shift = has_unit ? 10 * (unit + 1) : 0;
  if (!number || *number > std::numeric_limits<std::int64_t>::max() >> shift) return std::nullopt;
  return *number << shift;
}

std::optional<std::int64_t> parse_seconds(std::string_view text) {
  constexpr std::string_view kUnits = "smhd";
  constexpr std::array<std::int64_t, kUnits.size()> kSeconds = {1, 60, 3600, 86400};
  if (text.empty()) return std::nullopt;
  const std::size_t unit = kUnits.find(text.back());
  const bool has_unit = unit != std::string_view::npos;
  const auto number = parse_number(has_unit ? text.substr(0, text.size() - 1) : text);
  const std::int64_t factor = has_unit ? kSeconds[unit] : 1;
  if (!number || *number > std::numeric_limits<std::int64_t>::max() / factor) return std::nullopt;
  return *number * factor;
}

std::optional<CodecChoice> parse_codec(std::string_view text) {
  const std::size_t colon = text.find(':');
  for (const codec::CodecRow& row : codec::codec_rows()) {
    if (row.make_compressor == nullptr || row.name != text.substr(0, colon)) continue;
    return with_parameter(row, colon == std::string_view::npos
                                   ? std::nullopt
                                   : std::optional(text.substr(colon + 1)));
  }
  return std::nullopt;
}

std::optional<frame::Goal> parse_goal(std::string_view text) {
  constexpr std::string_view kAuto = "auto";
  if (text == kAuto) return frame::Goal::balanced;
  for (const frame::Goal goal : frame::kGoals)
    if (text == std::string(kAuto) + ":" + frame::goal_name(goal)) return goal;
  return std::nullopt;
}

std::optional<FilterSteps> parse_filters(std::string_view text) {
  FilterSteps filters{};
  if (text == "none") return filters;
  std::size_t count = 0;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find_first_of("+,", at), text.size());
    const auto step = parse_filter(text.substr(at, end - at));
    if (!step || count == filters.size()) return std::nullopt;
    filters[count++] = *step;
    at = end + 1;
  }
  // Filters fill the slots from the end; the unused slots come first.
  std::rotate(filters.begin(), filters.begin() + static_cast<std::ptrdiff_t>(count), filters.end());
  return filters;
}

}  // namespace bloscfs::fs
