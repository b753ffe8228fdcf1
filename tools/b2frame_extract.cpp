// b2frame extract: writes decompressed contents, whole or a range, and tables of stores.

#include <algorithm>

#include "codec/error.hpp"
#include "fs/view/file_view.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/input.hpp"
#include "tools/object_output.hpp"
#include "tools/output_file.hpp"
#include "tools/progress.hpp"
#include "tools/remote_files.hpp"
#include "tools/store_address.hpp"
#include "tools/table_output.hpp"

namespace bloscfs::tools {
namespace {

constexpr std::int64_t kPieceSize = std::int64_t{1} << 20;

fs::ViewShape wanted_shape(const Input& input, const ExtractOptions& options) {
  const bool npy = options.npy || options.output.ends_with(".npy");
  fs::ViewShape shape = fs::view_shape(input.info(), !npy);
  // Flat contents may well be a NPY file themselves, so the name of OUT alone is no error there.
  if (npy && !shape.is_array && (options.npy || input.info().array))
    throw UsageError("not an array that NumPy can express, so there is no .npy of it");
  return shape;
}

/// The byte range asked for, cut at the end of what there is.
struct Range {
  std::int64_t begin, end;
};

Range wanted_range(const ExtractOptions& options, std::int64_t size) {
  if (options.offset > size)
    throw UsageError("offset " + std::to_string(options.offset) + " is behind the end at " +
                     std::to_string(size));
  const std::int64_t rest = size - options.offset;
  return {options.offset, options.offset + std::min(options.length.value_or(rest), rest)};
}

void write_pieces(const fs::FileView& view, const Range& range, Input& input, OutputFile& out) {
  Progress progress("extract", range.end - range.begin);
  for (std::int64_t at = range.begin; at < range.end;) {
    const std::int64_t data = std::min(view.seek_data(at).value_or(range.end), range.end);
    out.write_zeros(data - at);
    const std::int64_t hole = data < range.end ? view.seek_hole(data).value_or(range.end) : data;
    at = std::min(hole, range.end);
    for (std::int64_t piece = data; piece < at; piece += kPieceSize) {
      fs::ReplyData reply(input.reader().cache().pages());
      view.read(piece, std::min(kPieceSize, at - piece), reply);
      for (const iovec& part : reply.pieces())
        out.write({static_cast<const std::uint8_t*>(part.iov_base), part.iov_len});
      input.trim();
      progress.update(piece - range.begin);
    }
  }
}

int extract_objects(const ExtractOptions& options, Input& input) {
  OutputFile out(options.output);
  write_objects(input, out);
  out.commit();
  return 0;
}

bool wants_all(const ExtractOptions& options) { return options.offset == 0 && !options.length; }

void extract_table(const StoreAddress& address, const frame::PythonStore& store,
                   const ExtractOptions& options) {
  Table table(store, address.key);
  const bool npy = options.npy || options.output.ends_with(".npy");
  if (!wants_all(options) || (!npy && !options.output.ends_with(".csv")))
    throw UsageError("a table is written whole, to a .csv or a .npy file");
  OutputFile out(options.output);
  if (npy)
    write_npy(table, out);
  else
    write_csv(table, out);
  out.commit();
}

/// True if the file was a table, and is written.
bool extract_if_table(const ExtractOptions& options) {
  const auto address = options.chunk ? std::nullopt : parse_store_address(options.file);
  if (!address) return false;
  const auto store = open_store(address->store);
  const frame::StoreEntry entry = find_entry(*store, address->key);
  if (entry.leaf) return false;
  extract_table(*address, *store, options);
  return true;
}

int extract(const ExtractOptions& options) {
  RemoteFiles remote(options.remote);
  if (same_file(options.file, options.output))
    throw UsageError("input and output are the same file");
  if (extract_if_table(options)) return 0;
  Input input(options.file, options.chunk, remote);
  if (options.json) return extract_objects(options, input);
  const fs::FileView view(wanted_shape(input, options), input.reader());
  view.require_contents();
  const Range range = wanted_range(options, view.size());
  OutputFile out(options.output);
  write_pieces(view, range, input, out);
  out.commit();
  return 0;
}

}  // namespace

int run_extract(const ExtractOptions& options) {
  if (options.json && (options.chunk || options.npy || options.offset != 0 || options.length))
    throw UsageError("--json writes a whole list of objects, and goes with none of the others");
  return guarded(options.file, [&] { return extract(options); });
}

}  // namespace bloscfs::tools
