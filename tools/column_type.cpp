#include "tools/column_type.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <optional>

#include <fmt/core.h>

#include "fs/options/option_values.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/csv_parser.hpp"

namespace bloscfs::tools {
namespace {

/// Maximum number of characters of a string. A chunk has at least one item, so longer items would
/// make large chunks.
constexpr std::int64_t kMaxLength = std::int64_t{1} << 16;

struct TimeUnitRow {
  TimeUnit unit;
  std::string_view name;
};
constexpr std::array<TimeUnitRow, 4> kUnits{
    {{TimeUnit::s, "s"}, {TimeUnit::ms, "ms"}, {TimeUnit::us, "us"}, {TimeUnit::ns, "ns"}}};

std::string_view name_of(TimeUnit unit) {
  return std::find_if(kUnits.begin(), kUnits.end(),
                      [&](const TimeUnitRow& row) { return row.unit == unit; })
      ->name;
}

[[noreturn]] void refuse_type(std::string_view text) {
  throw UsageError(
      fmt::format("unknown column type {}; there are {}", text, created_column_kinds()));
}

/// Sets the parameter that follows the name of a kind, in brackets. `text` is the whole type, for
/// messages.
void set_parameter(std::string_view parameter, std::string_view text, ColumnType& type) {
  if (type.kind == ColumnKind::timestamp) {
    const auto* const unit =
        std::find_if(kUnits.begin(), kUnits.end(),
                     [&](const TimeUnitRow& row) { return row.name == parameter; });
    if (unit == kUnits.end()) refuse_type(text);
    type.unit = unit->unit;
  } else if (type.kind == ColumnKind::string) {
    const auto length = fs::parse_number(parameter);
    if (!length || *length < 1 || *length > kMaxLength)
      throw UsageError(fmt::format("column type {}: a string has 1 to {} characters", text,
                                   std::int64_t{kMaxLength}));
    type.length = static_cast<std::int32_t>(*length);
  } else {
    refuse_type(text);
  }
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string_view::npos
             ? ""
             : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

NamedType parse_named_type(const CsvField& field) {
  const std::size_t colon = std::min(field.text.rfind(':'), field.text.size());
  // Blanks inside quotes belong to the name.
  const std::string_view name = field.text.substr(0, colon);
  NamedType column{std::string(field.quoted ? name : without_blanks(name)), {}};
  if (colon == field.text.size() || column.name.empty())
    throw UsageError(
        fmt::format("--schema {}: is neither a file nor of the form NAME:TYPE", field.text));
  column.type = parse_column_type(without_blanks(field.text.substr(colon + 1)));
  return column;
}

}  // namespace

std::int32_t ColumnType::itemsize() const {
  return kind == ColumnKind::string ? 4 * length : column_kind(kind).itemsize;
}

std::string ColumnType::dtype() const {
  return kind == ColumnKind::string ? fmt::format("<U{}", length)
                                    : std::string(column_kind(kind).dtype);
}

std::string ColumnType::text() const {
  std::string text(column_kind(kind).name);
  if (kind == ColumnKind::string) text += fmt::format("[{}]", length);
  if (kind == ColumnKind::timestamp && unit != TimeUnit::us)
    text += fmt::format("[{}]", name_of(unit));
  return nullable ? text + "?" : text;
}

nlohmann::ordered_json ColumnType::json(const std::string& name) const {
  nlohmann::ordered_json column{{"name", name}, {"kind", column_kind(kind).name}};
  if (kind == ColumnKind::timestamp) column["unit"] = name_of(unit);
  if (kind == ColumnKind::timestamp && in_utc) column["timezone"] = "UTC";
  if (kind == ColumnKind::string) column["max_length"] = length;
  if (nullable) {
    column["nullable"] = true;
    column["null_storage"] = "mask";
  }
  return column;
}

ColumnType parse_column_type(std::string_view text) {
  ColumnType type;
  std::string_view rest = text;
  if (rest.ends_with('?')) {
    type.nullable = true;
    rest.remove_suffix(1);
  }
  std::optional<std::string_view> parameter;
  const std::size_t bracket = rest.find('[');
  if (bracket != std::string_view::npos && rest.ends_with(']')) {
    parameter = rest.substr(bracket + 1, rest.size() - bracket - 2);
    rest = rest.substr(0, bracket);
  }
  const ColumnKindRow* const row = find_column_kind(rest);
  if (row == nullptr || !row->is_created) refuse_type(text);
  type.kind = row->kind;
  if (parameter)
    set_parameter(*parameter, text, type);
  else if (type.kind == ColumnKind::string)
    refuse_type(text);
  return type;
}

std::vector<NamedType> parse_named_types(std::string_view text) {
  std::size_t taken = 0;
  CsvParser parser(
      [&](codec::MutableBytes out) {
        const std::size_t size = std::min(out.size(), text.size() - taken);
        std::copy_n(text.begin() + static_cast<std::ptrdiff_t>(taken), size, out.begin());
        taken += size;
        return size;
      },
      ',');
  std::vector<NamedType> schema;
  try {
    while (parser.next()) {
      if (parser.fields().front().text.starts_with('#')) continue;
      for (const CsvField& field : parser.fields()) {
        NamedType column = parse_named_type(field);
        for (const NamedType& other : schema)
          if (other.name == column.name)
            throw UsageError(fmt::format("--schema: column {} is given twice", column.name));
        schema.push_back(std::move(column));
      }
    }
  } catch (const UsageError&) {
    throw;
  } catch (const std::exception& error) {
    throw UsageError(fmt::format("--schema: {}", error.what()));
  }
  if (schema.empty()) throw UsageError("--schema: is empty");
  return schema;
}

}  // namespace bloscfs::tools
