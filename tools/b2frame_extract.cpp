// b2frame extract: writes decompressed contents, as a whole or in part, and tables of stores.

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codec/error.hpp"
#include "fs/view/file_view.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/elements.hpp"
#include "tools/extract_tree.hpp"
#include "tools/input.hpp"
#include "tools/object_output.hpp"
#include "tools/output_file.hpp"
#include "tools/output_name.hpp"
#include "tools/progress.hpp"
#include "tools/promised_format.hpp"
#include "tools/remote_files.hpp"
#include "tools/slice.hpp"
#include "tools/slice_output.hpp"
#include "tools/tables/table_address.hpp"
#include "tools/tables/table_output.hpp"
#include "tools/text_output.hpp"
#include "tools/view_output.hpp"

namespace bloscfs::tools {
namespace {

constexpr std::int64_t kGatheredAtOnce = std::int64_t{1} << 20;

fs::ViewShape wanted_shape(const Input& input, const ExtractOptions& options) {
  fs::ViewShape shape = fs::view_shape(input.info(), !options.npy);
  if (options.npy && !shape.is_array) throw UsageError("is not an array that a .npy file can have");
  return shape;
}

/// Returns the byte range asked for, cut at the end of the contents. Throws UsageError if the range
/// begins behind the end.
FileRange wanted_range(const ExtractOptions& options, std::int64_t size) {
  if (options.offset > size)
    throw UsageError("offset " + std::to_string(options.offset) + " is behind the end at " +
                     std::to_string(size));
  const std::int64_t rest = size - options.offset;
  return {options.offset, options.offset + std::min(options.length.value_or(rest), rest)};
}

void write_range(const fs::FileView& view, const FileRange& range, Input& input, OutputFile& out) {
  Progress progress("extract", range.end - range.begin);
  write_view(view, range, input, out, [&](std::int64_t done) { progress.update(done); });
}

bool are_records(const frame::FrameInfo& info) {
  return info.array && info.array->dtype && info.array->dtype->find_first_of("[{") == 0;
}

/// Completes the output. Prints the summary, unless the output is stdout. `stored` is the input's
/// stored bytes if all were read.
void commit(OutputFile& out, const ExtractOptions& options, Progress& total,
            std::int64_t stored = 0) {
  out.commit();
  if (options.output != "-") total.finish({1, stored, out.size()});
}

int extract_objects(const ExtractOptions& options, Input& input, Progress& total) {
  OutputFile out(options.output, mode_of_input(options.file));
  write_objects(input, out);
  commit(out, options, total);
  return 0;
}

bool wants_slice(const ExtractOptions& options) { return options.slice || options.rows; }

bool wants_items(const ExtractOptions& options) {
  return wants_slice(options) || options.start != 0 || options.count || options.text ||
         !options.dtype.empty();
}

bool wants_all(const ExtractOptions& options) {
  return options.offset == 0 && !options.length && !wants_items(options);
}

void reinterpret(const std::string& text, Elements& elements) {
  if (elements.shape()) throw UsageError("--dtype goes with flat frames: an array has its own");
  const auto dtype = fs::parse_numpy_dtype(text);
  if (!dtype || dtype->itemsize == 0) throw UsageError(text + " is not a dtype, such as <f4");
  elements.reinterpret(*dtype);
}

/// Writes items in C order from an array that is stored in Fortran order, so they are not
/// contiguous.
void write_gathered(Elements& elements, const ItemRange& range, OutputFile& out) {
  Progress progress("cat", range.end - range.first, Progress::Unit::items);
  const std::int64_t at_once = std::max<std::int64_t>(1, kGatheredAtOnce / elements.itemsize());
  std::vector<std::uint8_t> items;
  for (std::int64_t first = range.first; first < range.end; first += at_once) {
    const std::int64_t count = std::min(at_once, range.end - first);
    items.resize(static_cast<std::size_t>(count * elements.itemsize()));
    elements.read(first * elements.itemsize(), items);
    out.write(items);
    progress.update(first - range.first);
  }
}

int extract_items(const ExtractOptions& options, Input& input, Progress& total) {
  Elements elements(input);
  if (!options.dtype.empty()) reinterpret(options.dtype, elements);
  if (wants_slice(options) || !options.columns.empty() || options.json ||
      becomes_csv(options, input) || options.npy) {
    require(options.offset == 0 && !options.length, "--offset and --length are of bytes");
    OutputFile out(options.output, mode_of_input(options.file));
    write_slice(options, elements, out);
    commit(out, options, total);
    return 0;
  }
  require(!options.text || (options.offset == 0 && !options.length),
          "--offset and --length are of bytes, not of text");
  require(!options.npy,
          "a range of items goes without NPY; a slice, FILE[0:3], becomes a NPY file");
  const ItemRange range = wanted_items(options, elements.count());
  OutputFile out(options.output, mode_of_input(options.file));
  if (options.text || !options.dtype.empty()) {
    write_text(elements, range, out);
  } else if (elements.is_fortran()) {
    write_gathered(elements, range, out);
  } else {
    // A range that ends with the last whole item of a flat frame includes the bytes behind that
    // item.
    const std::int64_t end =
        range.end == elements.count() ? elements.nbytes() : range.end * elements.itemsize();
    write_range(elements.view(), {range.first * elements.itemsize(), end}, input, out);
  }
  commit(out, options, total);
  return 0;
}

/// Returns the rows that a slice as in t.b2z:/[start:stop:step] asks for.
RowRange sliced_rows(const ExtractOptions& options, const TableAddress& table, RunLimits& limits) {
  require(options.start == 0 && !options.count && options.row_range.empty(),
          "a slice of a table goes without another choice of rows");
  Slice slice = parse_slice(*options.slice, {count_rows(*table.store, table.group, {}, limits)});
  if (options.rows) keep_first_rows(slice, *options.rows);
  return row_range(slice.front());
}

/// Returns the rows that --rows, the options -s and -n of cat, and head ask for.
RowRange wanted_rows(const ExtractOptions& options, const TableAddress& table, RunLimits& limits) {
  if (options.slice) return sliced_rows(options, table, limits);
  RowRange range = parse_row_range(options.row_range);
  if (options.start < 0)
    range.first = std::max<std::int64_t>(
        range.first,
        std::min(range.end, count_rows(*table.store, table.group, {}, limits)) + options.start);
  else if (__builtin_add_overflow(range.first, options.start, &range.first))
    range.first = range.end;
  for (const auto& most : {options.count, options.rows}) {
    std::int64_t end = range.end;
    if (most && !__builtin_add_overflow(range.first, *most, &end))
      range.end = std::min(range.end, end);
  }
  return range;
}

void extract_table(const TableAddress& address, TableFormat format, const ExtractOptions& options,
                   RunLimits& limits, Progress& total) {
  if (options.offset != 0 || options.length || !options.dtype.empty())
    throw UsageError("--offset, --length and --dtype do not go with tables; --rows does");
  const bool is_csv = format == TableFormat::csv || format == TableFormat::tsv;
  const CellStyle style = format == TableFormat::json ? CellStyle::json
                          : is_csv                    ? CellStyle::csv
                                                      : CellStyle::text;
  const char delimiter = format == TableFormat::tsv    ? '\t'
                         : format == TableFormat::text ? ' '
                                                       : ',';
  const TableSelection selection{options.columns, wanted_rows(options, address, limits)};
  Table table(*address.store, address.group, selection, style, limits);
  if (!table.computed().empty())
    complain(options.file,
             fmt::format("leaves out the computed columns {}", fmt::join(table.computed(), ", ")));
  OutputFile out(options.output, mode_of_input(options.file));
  if (format == TableFormat::npy)
    write_table_npy(table, out);
  else if (format == TableFormat::rows)
    write_table_rows(table, out);
  else
    write_table_text(table, style, delimiter, out);
  commit(out, options, total);
}

/// Writes OUT if FILE is a table. Returns false if FILE is not a table.
bool extract_if_table(const ExtractOptions& options, const RemoteFiles& remote, RunLimits& limits,
                      Progress& total) {
  const auto address =
      options.chunk || options.raw ? std::nullopt : find_table(options.file, remote);
  if (!address) return false;
  const auto format = table_format(options);
  if (!format)
    throw UsageError(
        "a table is written to -, to a .csv, .tsv, .json, .jsonl, .txt or .npy file, or with "
        "--json");
  extract_table(*address, *format, options, limits, total);
  return true;
}

/// Writes a table, a list of objects, items, or a range of bytes, as FILE and the options say.
int extract(ExtractOptions options) {
  if (auto sliced = options.chunk ? std::nullopt : split_slice(options.file)) {
    options.file = std::move(sliced->file);
    options.slice = std::move(sliced->text);
  }
  RemoteFiles remote(options.remote);
  if (same_file(options.file, options.output))
    throw UsageError("input and output are the same file");
  RunLimits limits;
  Progress total("extract", 0);
  if (extract_if_table(options, remote, limits, total)) return 0;
  require(options.row_range.empty(),
          "--rows goes with tables; of an array a slice says which rows: 'FILE[10:20]'");
  Input input(options.file, options.chunk, remote, limits);
  if (!options.chunk) apply_promised_format(options, input);
  const bool has_records = are_records(input.info());
  require(options.columns.empty() || has_records, "--columns goes with tables and records");
  if (options.json && !has_records) {
    require(!options.chunk && !options.npy && wants_all(options),
            "JSON is written of tables, of records, and of whole lists of objects");
    return extract_objects(options, input, total);
  }
  if (wants_items(options) || becomes_csv(options, input) || options.json ||
      !options.columns.empty())
    return extract_items(options, input, total);
  fs::Request request;
  const fs::FileView view(request, wanted_shape(input, options), input.reader());
  view.require_contents(request);
  const FileRange range = wanted_range(options, view.size());
  OutputFile out(options.output, mode_of_input(options.file));
  Progress progress("extract", range.end - range.begin);
  write_view(view, range, input, out, [&](std::int64_t done) { progress.update(done); });
  progress.clear();
  const bool is_whole = range.begin == 0 && range.end == view.size();
  commit(out, options, total, is_whole ? input.info().stored_bytes() : 0);
  return 0;
}

}  // namespace

int run_extract(const ExtractOptions& options) {
  if (options.recursive) return extract_tree(options);
  options.tree.require_none();
  return guarded(options.file, [&] { return extract(options); });
}

}  // namespace bloscfs::tools
