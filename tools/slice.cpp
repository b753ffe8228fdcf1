#include "tools/slice.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>

#include <fmt/core.h>

#include "fs/options/option_values.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/store_address.hpp"

namespace bloscfs::tools {
namespace {

/// True if the whole text names a file or a leaf. Returns false on errors, because opening the file
/// reports them.
bool is_name(const std::string& argument) {
  std::error_code ignored;
  if (std::filesystem::exists(argument, ignored)) return true;
  try {
    const auto address = parse_store_address(argument);
    return address && open_store(address->store)->find(address->key);
  } catch (const std::exception&) {
    return false;
  }
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    parts.push_back(trimmed(text.substr(at, end - at)));
    at = end + 1;
  }
  return parts;
}

std::int64_t parse_number(std::string_view text) {
  const auto number = fs::parse_integer(text.substr(text.starts_with('+') ? 1 : 0));
  if (!number)
    throw UsageError(
        fmt::format("[{}] is not an index; wanted a number, start:stop:step or ...", text));
  return *number;
}

AxisSlice parse_index(std::string_view text, std::int64_t size, std::size_t axis) {
  const std::int64_t index = parse_number(text);
  if (index >= size || index < -size)
    throw UsageError(
        fmt::format("index {} is out of bounds for axis {} with size {}", index, axis, size));
  return {index < 0 ? index + size : index, 1, 1, true};
}

/// Follows Python's slice.indices(): clamps indexes that are out of bounds.
AxisSlice parse_range(const std::vector<std::string_view>& parts, std::int64_t size,
                      std::size_t axis) {
  const auto number = [&](std::size_t part) -> std::optional<std::int64_t> {
    if (part >= parts.size() || parts[part].empty()) return std::nullopt;
    return parse_number(parts[part]);
  };
  const std::int64_t step = number(2).value_or(1);
  if (parts.size() > 3 || step == 0)
    throw UsageError(fmt::format(
        "axis {} with size {}: {}", axis, size,
        step == 0 ? "the step of a slice is not 0" : "a slice has at most start:stop:step"));
  const std::int64_t lowest = step < 0 ? -1 : 0;
  const std::int64_t highest = step < 0 ? size - 1 : size;
  const auto bound = [&](std::size_t part, std::int64_t usual) {
    const auto given = number(part);
    if (!given) return usual;
    return std::clamp(*given < 0 ? *given + size : *given, lowest, highest);
  };
  const std::int64_t start = bound(0, step < 0 ? highest : lowest);
  const std::int64_t stop = bound(1, step < 0 ? lowest : highest);
  AxisSlice slice{start, step, 0, false};
  const std::int64_t distance = step < 0 ? start - stop : stop - start;
  // Unsigned, because -step overflows for the smallest number.
  const std::uint64_t stride =
      step < 0 ? -static_cast<std::uint64_t>(step) : static_cast<std::uint64_t>(step);
  if (distance > 0)
    slice.count =
        static_cast<std::int64_t>((static_cast<std::uint64_t>(distance) - 1) / stride) + 1;
  return slice;
}

AxisSlice whole_axis(std::int64_t size) { return {0, 1, size, false}; }

}  // namespace

std::optional<NamedSlice> split_slice(const std::string& argument) {
  const std::size_t bracket = argument.rfind('[');
  if (!argument.ends_with(']') || bracket == std::string::npos || bracket == 0) return std::nullopt;
  if (is_name(argument)) return std::nullopt;
  return NamedSlice{argument.substr(0, bracket),
                    argument.substr(bracket + 1, argument.size() - bracket - 2)};
}

Slice whole_slice(const Shape& shape) {
  Slice slice;
  for (const std::int64_t size : shape) slice.push_back(whole_axis(size));
  return slice;
}

Slice parse_slice(std::string_view text, const Shape& shape) {
  std::vector<std::string_view> parts = split(text, ',');
  if (parts.size() > 1 && parts.back().empty()) parts.pop_back();
  const auto dots = std::find(parts.begin(), parts.end(), "...");
  const bool has_dots = dots != parts.end();
  const std::size_t given = parts.size() - (has_dots ? 1 : 0);
  if (given > shape.size())
    throw UsageError(fmt::format("[{}] has {} indexes, but the array has {} dimensions", text,
                                 given, shape.size()));
  if (has_dots && std::find(dots + 1, parts.end(), "...") != parts.end())
    throw UsageError(fmt::format("[{}] has ... twice", text));
  // Axes [before, before + left_out) are taken whole: those of `...`, or those behind the last
  // index.
  const auto before = has_dots ? static_cast<std::size_t>(dots - parts.begin()) : given;
  const std::size_t left_out = shape.size() - given;
  Slice slice;
  for (std::size_t axis = 0; axis < shape.size(); axis++) {
    if (axis >= before && axis < before + left_out) {
      slice.push_back(whole_axis(shape[axis]));
      continue;
    }
    const std::string_view part =
        parts[axis < before ? axis : axis - left_out + (has_dots ? 1 : 0)];
    const auto bounds = split(part, ':');
    slice.push_back(bounds.size() == 1 ? parse_index(part, shape[axis], axis)
                                       : parse_range(bounds, shape[axis], axis));
  }
  return slice;
}

void keep_first_rows(Slice& slice, std::int64_t count) {
  const auto rows = std::find_if(slice.begin(), slice.end(),
                                 [](const AxisSlice& axis) { return !axis.is_index; });
  if (rows != slice.end()) rows->count = std::min(rows->count, count);
}

Shape shape_of(const Slice& slice) {
  Shape shape;
  for (const AxisSlice& axis : slice)
    if (!axis.is_index) shape.push_back(axis.count);
  return shape;
}

}  // namespace bloscfs::tools
