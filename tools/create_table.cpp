#include "tools/create_table.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "codec/error.hpp"
#include "frame/container/checksum.hpp"
#include "frame/pystore/column_names.hpp"
#include "frame/store/throw_errno.hpp"
#include "tools/chosen_columns.hpp"
#include "tools/column_inference.hpp"
#include "tools/csv_parser.hpp"
#include "tools/input.hpp"
#include "tools/interrupt.hpp"
#include "tools/mapped_input.hpp"
#include "tools/progress.hpp"
#include "tools/promised_format.hpp"
#include "tools/raw_input.hpp"
#include "tools/store_output.hpp"
#include "tools/table_writer.hpp"
#include "tools/value_text.hpp"

namespace bloscfs::tools {
namespace {

using codec::throw_malformed;

constexpr std::size_t kMaxSchema = std::size_t{16} << 20;

char delimiter_of(const CreateOptions& options) {
  const std::string& given = options.table.delimiter;
  if (given.empty()) return promised_suffix(options.input) == ".tsv" ? '\t' : ',';
  if (given == "tab") return '\t';
  require(given.size() == 1 && given[0] > ' ' && given[0] < 0x7F && given[0] != '"',
          "--delimiter is a visible character other than a quote, or tab");
  return given[0];
}

/// The records of a file. They can be read any number of times.
class TableSource {
 public:
  explicit TableSource(const CreateOptions& options)
      : options_(options), delimiter_(delimiter_of(options)), input_(open(options)) {}

  std::int64_t size() const { return *input_.file_size(); }
  const std::vector<std::string>& names() const { return names_; }

  /// Calls `begin` once the names are known, then `visit` for each row. Throws Error(malformed) if
  /// the bytes differ from those of the first call.
  template <typename Begin, typename Visit>
  void read(const char* label, const Begin& begin, const Visit& visit) {
    Progress progress(label, size());
    std::int64_t taken = 0;
    frame::Checksum sum;
    CsvParser parser(
        [&](codec::MutableBytes out) {
          throw_if_interrupted();
          const auto piece = out.first(
              static_cast<std::size_t>(std::min<std::int64_t>(std::ssize(out), size() - taken)));
          input_.read_at(start_ + taken, piece);
          sum.update(piece);
          taken += std::ssize(piece);
          progress.update(taken);
          return piece.size();
        },
        delimiter_);
    if (!parser.next()) throw_malformed("is empty, a table needs a line with names");
    mark_removed(parser.fields());
    parser.require_fields(names_.size());
    begin();
    if (options_.table.no_header) visit(parser);
    while (parser.next()) visit(parser);
    if (!sum_) sum_ = sum.digest();
    if (sum_ != sum.digest()) throw_malformed("changed while it was read");
  }

 private:
  /// Copies input that is not a regular file, such as a pipe, so that it can be read several times.
  static RawInput open(const CreateOptions& options) {
    RawInput input(options.input);
    if (input.file_size()) return input;
    frame::UniqueFd copy = copy_to_nameless_file(input, options.output);
    if (::lseek(copy.get(), 0, SEEK_SET) < 0) throw FileError(options.output, errno);
    return RawInput(std::move(copy), input.name());
  }

  void mark_removed(const std::vector<CsvField>& fields) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < fields.size(); ++i)
      names.push_back(options_.table.no_header ? fmt::format("c{}", i)
                                               : std::string(fields[i].text));
    if (names_.empty())
      names_ = std::move(names);
    else if (names_ != names)
      throw_malformed("changed while it was read");
  }

  const CreateOptions& options_;
  const char delimiter_;
  const RawInput input_;
  const std::int64_t start_ = input_.file_position();
  std::vector<std::string> names_;
  std::optional<std::uint64_t> sum_;
};

std::string without_points(std::string name) {
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

constexpr const char* kRename = "; rename it in the first line";

/// Throws Error(malformed) for a name that a column cannot have, and for two columns whose keys
/// collide.
void check_names(const std::vector<std::string>& names) {
  std::set<std::string> paths;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (const auto problem = frame::column_name_problem(names[i]))
      throw_malformed(names[i].empty()
                          ? fmt::format("column {}: {}{}", i + 1, *problem, kRename)
                          : fmt::format("column {}: {}{}", names[i], *problem, kRename));
    if (!paths.insert(frame::column_path(names[i])).second)
      throw_malformed(fmt::format(
          "column {}: there are two of that name; rename one in the first line", names[i]));
  }
  for (const std::string& name : names) {
    const std::string path = frame::column_path(name);
    for (std::size_t slash = path.find('/'); slash != std::string::npos;
         slash = path.find('/', slash + 1))
      if (paths.contains(path.substr(0, slash)))
        throw_malformed(
            fmt::format("column {}: column {} has the key of the group that it is in; rename one "
                        "in the first line, such as {}",
                        name, name.substr(0, slash), without_points(name)));
  }
}

std::vector<NamedType> read_schema(const std::string& given) {
  if (given.empty()) return {};
  std::error_code error;
  if (!std::filesystem::exists(given, error)) return parse_named_types(given);
  RawInput file(given);
  const codec::Bytes bytes = file.peek(kMaxSchema + 1);
  if (bytes.size() > kMaxSchema)
    throw UsageError(fmt::format("--schema: {} has more than {} MiB", given, kMaxSchema >> 20));
  return parse_named_types({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

class TableCreation {
 public:
  explicit TableCreation(const CreateOptions& options)
      : options_(options), schema_(read_schema(options.table.schema)), source_(options) {}

  void run() {
    Progress total("create", 0);
    infer();
    warn_of_rounding();
    require_replaceable(options_.output, OutputKind::table);
    StoreOutput output(options_.output, true);
    TableWriter writer(output, columns(), rows_, options_);
    write(writer);
    output.commit(mode_of_input(options_.input));
    std::error_code ignored;  // for a directory, whose size is not printed
    const auto stored = std::filesystem::file_size(options_.output, ignored);
    total.finish({1, source_.size(), static_cast<std::int64_t>(stored)});
  }

 private:
  void hint_at_names() const {
    const std::vector<std::string>& names = source_.names();
    const std::string& first = names.front();
    for (const char* other : {";", "|", "\t"})
      if (names.size() == 1 && options_.table.delimiter.empty() &&
          first.find(other) != std::string::npos)
        complain(options_.input,
                 fmt::format("has one column, '{}'; --delimiter {} would split it", first,
                             *other == '\t' ? "tab" : fmt::format("'{}'", other)));
    for (const std::string& name : names)
      if (name.starts_with(' ') || name.ends_with(' '))
        complain(
            options_.input,
            fmt::format("column '{}': blanks beside the delimiter belong to the fields", name));
  }

  /// Reads the whole source, to find the column names, infer the types, and count the rows.
  void infer() {
    source_.read(
        "infer",
        [&] {
          hint_at_names();
          check_names(source_.names());
          for (const NamedType& column : schema_)
            if (std::find(source_.names().begin(), source_.names().end(), column.name) ==
                source_.names().end())
              refuse_column(column.name, source_.names());
          inferences_.resize(source_.names().size());
        },
        [&](const CsvParser& row) {
          for (std::size_t i = 0; i < inferences_.size(); ++i) inferences_[i].add(row.fields()[i]);
          ++rows_;
        });
  }

  /// Returns null for a column whose type is inferred.
  const ColumnType* given_type(std::size_t i) const {
    for (const NamedType& column : schema_)
      if (column.name == source_.names()[i]) return &column.type;
    return nullptr;
  }

  ColumnType type_of(std::size_t i) const {
    const ColumnType* const given = given_type(i);
    return given != nullptr ? *given : inferences_[i].type();
  }

  void warn_of_rounding() const {
    for (std::size_t i = 0; i < inferences_.size(); ++i) {
      const std::string& rounded = inferences_[i].rounded();
      if (given_type(i) != nullptr || rounded.empty() ||
          inferences_[i].type().kind != ColumnKind::float64)
        continue;
      const std::string& name = source_.names()[i];
      complain(options_.input,
               fmt::format("column {}: {} becomes {:.0f}, since float64 holds no more digits; "
                           "--schema {}:utf8 keeps all numbers as texts",
                           name, rounded, parse_double(rounded).value_or(0), name));
    }
  }

  std::vector<WrittenColumn> columns() const {
    std::vector<WrittenColumn> columns;
    for (std::size_t i = 0; i < inferences_.size(); ++i) {
      WrittenColumn column{source_.names()[i], type_of(i)};
      column.text_bytes = inferences_[i].text_bytes(column.type.nullable);
      // An empty field is a value of a text column, but an absent value of other columns.
      const bool is_text =
          column.type.kind == ColumnKind::utf8 || column.type.kind == ColumnKind::string;
      column.has_nulls = column.type.nullable &&
                         (is_text ? inferences_[i].has_nulls() : inferences_[i].has_empty());
      columns.push_back(std::move(column));
    }
    return columns;
  }

  /// Reads the source once for each group of columns.
  void write(TableWriter& writer) {
    const std::int64_t groups = writer.group_count();
    std::size_t first = 0;
    for (std::int64_t group = 1; group <= groups; ++group) {
      const std::string label =
          groups == 1 ? "create" : fmt::format("create {} of {}", group, groups);
      source_.read(
          label.c_str(), [&] { writer.begin_group(first); },
          [&](const CsvParser& row) { writer.add_row(row.fields(), row.line()); });
      first = writer.end_group();
    }
    writer.finish();
  }

  const CreateOptions& options_;
  const std::vector<NamedType> schema_;
  TableSource source_;
  std::vector<ColumnInference> inferences_;
  std::int64_t rows_ = 0;
};

}  // namespace

bool makes_table(const CreateOptions& options) {
  const std::string suffix = promised_suffix(options.input);
  const bool reads_table =
      options.input == "-" || suffix == ".csv" || suffix == ".tsv" || options.table.is_given();
  return !options.flat && reads_table && has_store_suffix(options.output);
}

int create_table(const CreateOptions& options) {
  require(options.metalayers.empty() && options.vlmetalayers.empty(),
          "--meta and --vlmeta are not for tables");
  TableWriter::check_options(options);
  TableCreation(options).run();
  return 0;
}

}  // namespace bloscfs::tools
