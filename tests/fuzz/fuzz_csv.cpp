// Parses the input as comma-separated values. Records that are written again must read the same. An
// inferred type must be able to hold all values that it was inferred from.

#include <algorithm>
#include <string>
#include <vector>

#include "codec/error.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/column_inference.hpp"
#include "tools/csv_parser.hpp"
#include "tools/value_text.hpp"

using namespace bloscfs;

namespace {

struct Field {
  std::string text;
  bool quoted = false;
  bool operator==(const Field&) const = default;
};
using Record = std::vector<Field>;

void require(bool condition) {
  if (!condition) __builtin_trap();
}

std::vector<Record> parse(std::string_view text, std::size_t at_once) {
  std::size_t taken = 0;
  tools::CsvParser parser(
      [&](codec::MutableBytes out) {
        const std::size_t wanted = taken == 0 ? out.size() : std::min(out.size(), at_once);
        const std::size_t size = std::min(wanted, text.size() - taken);
        std::copy_n(text.begin() + static_cast<std::ptrdiff_t>(taken), size, out.begin());
        taken += size;
        return size;
      },
      ',');
  std::vector<Record> records;
  while (parser.next()) {
    Record& record = records.emplace_back();
    for (const tools::CsvField& field : parser.fields())
      record.push_back({std::string(field.text), field.quoted});
  }
  return records;
}

std::string written(const std::vector<Record>& records) {
  std::string text;
  for (const Record& record : records) {
    for (std::size_t i = 0; i < record.size(); ++i) {
      text += i > 0 ? ",\"" : "\"";
      for (const char c : record[i].text) text += c == '"' ? std::string("\"\"") : std::string{c};
      text += '"';
    }
    text += "\r\n";
  }
  return text;
}

bool holds(const tools::ColumnType& type, std::string_view text) {
  switch (type.kind) {
    case tools::ColumnKind::int64:
      return tools::parse_integer<std::int64_t>(text).has_value();
    case tools::ColumnKind::float64:
      return tools::parse_double(text).has_value();
    case tools::ColumnKind::boolean:
      return tools::parse_boolean(text).has_value();
    case tools::ColumnKind::timestamp: {
      const auto timestamp = tools::parse_timestamp(text);
      return timestamp && tools::timestamp_in(*timestamp, type.unit);
    }
    default:
      return type.kind == tools::ColumnKind::utf8;
  }
}

void check_inference(const std::vector<Record>& records) {
  tools::ColumnInference inference;
  for (const Record& record : records)
    for (const Field& field : record) inference.add({field.text, field.quoted});
  const tools::ColumnType type = inference.type();
  for (const Record& record : records)
    for (const Field& field : record) require(field.text.empty() || holds(type, field.text));
}

void check_schema(std::string_view text) {
  try {
    for (const tools::NamedType& column : tools::parse_named_types(text))
      require(tools::parse_column_type(column.type.text()).text() == column.type.text());
  } catch (const tools::UsageError&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_schema(text);
  try {
    std::vector<Record> records = parse(text, 4096);
    check_inference(records);
    for (Record& record : records)
      for (Field& field : record) field.quoted = true;
    require(parse(written(records), 1) == records);
  } catch (const codec::Error&) {
  }
  return 0;
}
