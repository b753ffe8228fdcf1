#include "tools/slice_output.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "fs/numpy/npy.hpp"
#include "tools/progress.hpp"
#include "tools/promised_format.hpp"
#include "tools/sliced_items.hpp"
#include "tools/text_output.hpp"
#include "tools/view_output.hpp"

namespace bloscfs::tools {
namespace {

/// Bytes in which line ends are searched at a time.
constexpr std::int64_t kLinesAtOnce = std::int64_t{64} << 10;

void write_header(const SlicedItems& items, OutputFile& out) {
  const auto& stored = items.elements().dtype();
  const auto dtype = stored ? fs::parse_numpy_dtype(*stored) : std::nullopt;
  const auto header =
      dtype ? fs::build_npy_header(dtype->descr, false, items.shape()) : std::nullopt;
  if (!header) throw UsageError("is not an array that a .npy file can have");
  out.write(*header);
}

void write_items(SlicedItems& items, OutputFile& out) {
  Progress progress("extract", items.nbytes());
  std::int64_t done = 0;
  items.read([&](codec::Bytes bytes) {
    out.write(bytes);
    progress.update(done += std::ssize(bytes));
  });
}

std::vector<std::uint8_t> bytes_at(Elements& elements, std::int64_t offset, std::int64_t most) {
  std::vector<std::uint8_t> bytes(
      static_cast<std::size_t>(std::min(most, elements.nbytes() - offset)));
  elements.read(offset, bytes);
  return bytes;
}

/// Writes the first `count` lines of contents that are text.
void write_lines(Elements& elements, std::int64_t count, OutputFile& out) {
  for (std::int64_t at = 0; at < elements.nbytes() && count > 0;) {
    const auto bytes = bytes_at(elements, at, kLinesAtOnce);
    auto end = bytes.begin();
    for (; end != bytes.end() && count > 0; count--) {
      end = std::find(end, bytes.end(), '\n');
      if (end == bytes.end()) break;
      ++end;
    }
    const auto size = end - bytes.begin();
    out.write(codec::Bytes(bytes).first(static_cast<std::size_t>(size)));
    at += size;
  }
}

Slice wanted_slice(const ExtractOptions& options, const Shape& shape) {
  Slice slice = options.slice ? parse_slice(*options.slice, shape) : whole_slice(shape);
  if (options.start != 0 || options.count) {
    require(!options.slice && shape.size() == 1,
            "-s and -n go without a slice, and with one dimension: 'FILE[10:20]' says which rows");
    const ItemRange range = wanted_items(options, shape.front());
    slice = {{range.first, 1, range.end - range.first}};
  }
  if (options.rows) keep_first_rows(slice, *options.rows);
  return slice;
}

/// True if the options also ask for the incomplete item at the end of a flat frame. The item has
/// no index, so the slice is read again as if the item were complete.
bool wants_incomplete_item(const ExtractOptions& options, const Elements& elements) {
  if (elements.shape() || elements.nbytes() % elements.itemsize() == 0) return false;
  const AxisSlice axis = wanted_slice(options, {elements.count() + 1}).front();
  const std::int64_t distance = elements.count() - axis.start;
  return distance % axis.step == 0 && distance / axis.step >= 0 &&
         distance / axis.step < axis.count;
}

void write_sliced_items(const ExtractOptions& options, SlicedItems& items, OutputFile& out) {
  const auto& columns = options.columns;
  if (options.rows) return write_rows(items, columns, out);
  if (options.json) return write_json(items, columns, out);
  if (options.text || !options.dtype.empty()) return write_text(items, columns, out);
  if (becomes_csv(options, items.elements().input())) return write_csv(items, columns, out);
  require(columns.empty(), "--columns goes with CSV, --text and --json of records");
  if (options.npy) write_header(items, out);
  write_items(items, out);
}

}  // namespace

ItemRange wanted_items(const ExtractOptions& options, std::int64_t count) {
  if (options.start > count)
    throw UsageError(fmt::format("item {} is behind the end at {}", options.start, count));
  const std::int64_t first =
      options.start < 0 ? std::max<std::int64_t>(0, count + options.start) : options.start;
  const std::int64_t rest = count - first;
  return {first, first + std::min(options.count.value_or(rest), rest)};
}

bool becomes_csv(const ExtractOptions& options, const Input& input) {
  return promised_suffix(options.output) == ".csv" && !options.raw && !options.text &&
         input.info().array.has_value();
}

void write_slice(const ExtractOptions& options, Elements& elements, OutputFile& out) {
  // The rows of a flat frame that holds text are its lines.
  const bool is_plain = !options.slice && options.dtype.empty() && !elements.shape();
  if (options.rows && is_plain && is_text(bytes_at(elements, 0, kTextStart)))
    return write_lines(elements, *options.rows, out);
  SlicedItems items(elements, wanted_slice(options, shape_of(elements)));
  write_sliced_items(options, items, out);
  if (wants_incomplete_item(options, elements)) refuse_incomplete_item(elements);
}

}  // namespace bloscfs::tools
