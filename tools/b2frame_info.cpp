// b2frame info: prints header, index summary and metalayers of a container, or a chunk's header.

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codec/error.hpp"
#include "codec/loss.hpp"
#include "codec/names.hpp"
#include "frame/container/missing_decoder.hpp"
#include "frame/header/msgpack_json.hpp"
#include "frame/pystore/python_store.hpp"
#include "frame/remote/open_remote.hpp"
#include "frame/remote/url.hpp"
#include "fs/view/stored_contents.hpp"
#include "fs/view/thread_decoder.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/chunk_summary.hpp"
#include "tools/frame_tree.hpp"
#include "tools/input.hpp"
#include "tools/metalayer_json.hpp"
#include "tools/remote_files.hpp"
#include "tools/sliced_items.hpp"
#include "tools/statistics.hpp"
#include "tools/store_address.hpp"
#include "tools/tables/table.hpp"

namespace bloscfs::tools {
namespace {

using frame::metalayer_to_json;
using frame::to_line;
using json = nlohmann::ordered_json;

/// Maximum number of bytes of metalayers that are shown for one frame. If a metalayer exceeds the
/// rest of it, only the size of the metalayer is shown. One byte of a metalayer can become a
/// hundred bytes of JSON.
constexpr std::int64_t kMaxShownMetalayers = std::int64_t{1} << 20;

json filter_names(const frame::FrameInfo& info) {
  json names = json::array();
  for (const codec::FilterStep& step : info.filters) {
    if (step.id == codec::FilterId::none) continue;
    const std::string name = codec::filter_name(step.id);
    names.push_back(step.meta == 0 ? name : fmt::format("{}:{}", name, step.meta));
  }
  return names;
}

void add_array(const frame::ArrayInfo& array, json& out) {
  out["shape"] = array.shape;
  if (!array.chunkshape.empty()) out["chunkshape"] = array.chunkshape;
  if (!array.blockshape.empty()) out["blockshape"] = array.blockshape;
  if (array.dtype) out["dtype"] = *array.dtype;
  if (array.fortran_order) out["fortran_order"] = true;
}

void add_compression(const frame::FrameInfo& info, bool bare_chunk, json& out) {
  if (info.codec) {
    out["codec"] = codec::codec_name(*info.codec);
    if (info.codec_meta != 0) out["codec_meta"] = info.codec_meta;
    if (!bare_chunk) out["clevel"] = info.clevel;
    out["filters"] = filter_names(info);
    out["use_dict"] = info.use_dict;
    if (codec::loss_of(*info.codec, info.filters) != codec::Loss::none) out["lossy"] = true;
  }
  if (!info.checksum.empty()) out["checksum"] = info.checksum;
}

json header_fields(const std::string& file, const frame::FrameInfo& info, bool bare_chunk) {
  json out;
  out["file"] = file;
  out["kind"] = bare_chunk ? "chunk" : info.kind_name();
  if (!bare_chunk) out["format_version"] = info.format_version;
  out["nbytes"] = info.nbytes;
  out["cbytes"] = info.cbytes;
  if (!bare_chunk) out["nchunks"] = info.nchunks;
  out["typesize"] = info.typesize;
  out["chunksize"] = info.chunksize;
  out["blocksize"] = info.blocksize;
  out["variable_chunks"] = info.variable_chunks;
  out["vl_blocks"] = info.vl_blocks;
  add_compression(info, bare_chunk, out);
  if (!bare_chunk) {
    out["header_len"] = info.header_len;
    out["frame_len"] = info.frame_len;
    if (info.is_frame()) out["trailer_len"] = info.trailer_len;
  }
  if (info.array) add_array(*info.array, out);
  return out;
}

json summary_fields(const ChunkSummary& chunks, const std::optional<std::int64_t>& dead) {
  using codec::SpecialValue;
  json out;
  out["stored"] = chunks.stored;
  const auto count = [&](SpecialValue value) {
    return chunks.special.at(static_cast<std::size_t>(value));
  };
  out["special"] = {{"zero", count(SpecialValue::zero)},
                    {"nan", count(SpecialValue::nan)},
                    {"value", count(SpecialValue::value)},
                    {"uninit", count(SpecialValue::uninit)}};
  out["damaged"] = chunks.damaged;
  if (chunks.ratio)
    out["ratio"] = {
        {"min", chunks.ratio->min}, {"median", chunks.ratio->median}, {"max", chunks.ratio->max}};
  if (dead) out["dead_space"] = *dead;
  return out;
}

/// Takes `size` bytes from `room`. Returns false, and takes none, if they do not fit.
bool takes_room(std::int64_t size, std::int64_t& room) {
  if (size > room) return false;
  room -= size;
  return true;
}

json metalayer_fields(const Input& input, std::int64_t& room) {
  json out = json::object();
  for (const auto& entry : input.snapshot().metalayers()) {
    if (!takes_room(entry.stored_size, room))
      out[entry.name] = {{"nbytes", entry.stored_size}};
    else
      out[entry.name] = fixed_metalayer_to_json(entry.name, input.snapshot().read_metalayer(entry));
  }
  return out;
}

json vlmetalayer_fields(const frame::Snapshot& snapshot, std::int64_t& room) {
  json out = json::object();
  for (const auto& entry : snapshot.vlmetalayers()) {
    try {
      const std::int64_t size = snapshot.vlmetalayer_size(entry);
      if (!takes_room(size, room))
        out[entry.name] = {{"nbytes", size}};
      else
        out[entry.name] = metalayer_to_json(
            snapshot.read_vlmetalayer(entry, static_cast<std::size_t>(size), fs::thread_decoder()));
    } catch (const codec::Error& error) {
      out[entry.name] = {{"error", error.what()}};
    }
  }
  return out;
}

/// Formats a value for people: strings without quotes, floating-point numbers with two decimals,
/// and the entries of an array or object in one line.
std::string readable(const json& value) {
  if (value.is_number_float()) return fmt::format("{:.2f}", value.get<double>());
  if (value.is_string()) {
    const std::string quoted = to_line(value);
    return quoted.substr(1, quoted.size() - 2);
  }
  if (!value.is_array() && !value.is_object()) return to_line(value);
  std::vector<std::string> parts;
  for (const auto& [name, part] : value.items())
    parts.push_back(value.is_array() ? readable(part) : name + " " + readable(part));
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", "));
}

void print_line(int indent, const std::string& name, const std::string& text) {
  fmt::print("{:{}}{:<{}} {}\n", "", indent, name, 18 - indent, text);
}

/// Formats numbers in full. With only two decimals, small values would become zeros.
std::string statistics_text(const json& value) {
  if (!value.is_object()) return value.is_string() ? value.get<std::string>() : to_line(value);
  std::vector<std::string> parts;
  for (const auto& [name, part] : value.items())
    parts.push_back(name + " " + statistics_text(part));
  return fmt::format("{}", fmt::join(parts, ", "));
}

void print_for_people(const json& fields) {
  for (const auto& [name, value] : fields.items()) {
    if (!value.is_object()) {
      print_line(name == "file" ? 0 : 2, name, readable(value));
      continue;
    }
    if (value.empty()) continue;
    fmt::print("  {}\n", name);
    // `ours` is false for metalayers. They can contain anything, so they are printed as escaped
    // ASCII.
    const bool ours = name == "chunks" || name == "column" || name == "columns",
               is_statistics = name == "stats";
    for (const auto& [inner_name, inner] : value.items())
      print_line(4, readable(json(inner_name)),
                 ours            ? readable(inner)
                 : is_statistics ? statistics_text(inner)
                                 : inner.dump(-1, ' ', true, json::error_handler_t::replace));
  }
}

void print_fields(const json& fields, bool as_json) {
  if (as_json)
    fmt::print("{}\n", to_line(fields));
  else
    print_for_people(fields);
}

/// Returns the kind of each stored column, and its unit and null value if it has them.
json column_fields(const TableSchema& schema) {
  json columns = json::object();
  for (const ColumnSchema& column : schema.columns) {
    json& fields = columns[column.name];
    fields["kind"] = column.kind;
    if (column.kind == "timestamp") fields["unit"] = unit_of_time(column);
    if (column.is_nullable()) fields["nullable"] = true;
    if (column.nulls == Nulls::sentinel) fields["null_value"] = column.sentinel;
  }
  return columns;
}

/// Returns the table column that the leaf `key` belongs to, and the manual page that says what such
/// leaves hold. Returns null for other leaves, and if the schema cannot be read.
json column_of_leaf(const frame::PythonStore& store, std::string_view key) {
  try {
    for (const std::string_view suffix : {"", ".notnull", ".utf8", "_dict"}) {
      if (!key.ends_with(suffix)) continue;
      const auto column =
          find_column(store, std::string(key.substr(0, key.size() - suffix.size())));
      if (!column) continue;
      json fields{{"name", column->name}};
      fields.update(column_fields(table_schema(store, column->group)).at(column->name));
      fields["manual"] = "bloscfs-stores(7)";
      return fields;
    }
  } catch (const codec::Error&) {
    // The leaf itself can still be shown.
  }
  return nullptr;
}

void add_table(const frame::PythonStore& store, const std::string& group, RunLimits& limits,
               json& fields) {
  const TableSchema schema = table_schema(store, group);
  fields["rows"] = count_rows(store, group, {}, limits);
  fields["columns"] = column_fields(schema);
  if (!schema.computed.empty()) fields["computed_columns"] = schema.computed;
}

/// Prints the kind of the store, how many leaves of each sort the group has, and its attributes.
/// For a table, also prints its rows and columns.
int show_store(const std::string& file, const frame::PythonStore& store, const std::string& group,
               bool as_json, RunLimits& limits) {
  std::array<std::int64_t, std::variant_size_v<frame::Leaf>> counts{};
  store.for_each_leaf(
      group, [&](const std::string&, const frame::Leaf& leaf) { ++counts.at(leaf.index()); });
  json fields;
  fields["file"] = file;
  fields["kind"] = frame::store_kind_name(store.kind());
  if (const auto kind = store.group_kind(group)) fields["object"] = *kind;
  fields["external"] = counts[0];
  fields["embedded"] = counts[1];
  fields["references"] = counts[2];
  std::int64_t room = kMaxShownMetalayers;
  if (auto attributes = store.attributes(group))
    fields["attributes"] = vlmetalayer_fields(*attributes, room);
  if (is_table(store, group)) add_table(store, group, limits, fields);
  print_fields(fields, as_json);
  for (const std::string& message : store.messages()) complain(file, message);
  return store.has_map() ? 0 : kExitBadData;
}

json info_fields(const std::string& file, Input& input, bool is_chunk) {
  json fields = header_fields(file, input.info(), is_chunk);
  fs::Request request;
  if (!is_chunk)
    if (const auto missing = fs::missing_contents(request, input.reader()))
      fields["contents"] = *missing;
  if (const auto missing = frame::missing_decoder(input.snapshot()))
    fields["unsupported"] = *missing;
  // The summary reads the headers of all chunks. For a remote frame, that would transfer most of
  // its bytes.
  if (!input.snapshot().is_over_network()) {
    const ChunkSummary chunks = summarise_chunks(input);
    fields["chunks"] = summary_fields(
        chunks, is_chunk ? std::nullopt : dead_space(file, input.snapshot(), chunks));
  }
  if (!is_chunk) {
    std::int64_t room = kMaxShownMetalayers;
    fields["metalayers"] = metalayer_fields(input, room);
    fields["vlmetalayers"] = vlmetalayer_fields(input.snapshot(), room);
  }
  return fields;
}

/// Text for people says why there are no statistics.
json frame_statistics(Input& input, const std::optional<std::string>& slice, bool as_json) {
  Elements elements(input);
  const Shape shape = shape_of(elements);
  SlicedItems items(elements, slice ? parse_slice(*slice, shape) : whole_slice(shape));
  json stats = statistics_of(items);
  if (!stats.is_null() || as_json) return stats;
  return fmt::format("none: items of {} are no numbers",
                     elements.dtype() ? "the type " + *elements.dtype()
                                      : std::to_string(elements.itemsize()) + " bytes");
}

/// The store that a name on the command line refers to: run.b2z, or an address in it, run.b2z:/key.
struct NamedStore {
  std::unique_ptr<frame::PythonStore> store;  ///< null: the name means no store
  std::optional<StoreAddress> address;

  bool is_group() const {
    if (!store) return false;
    // An EmbedStore without a key is shown as a frame, because it is one.
    return address ? !find_entry(*store, *address).leaf : store->kind() != frame::StoreKind::embed;
  }
};

NamedStore find_named_store(const std::string& file, const RemoteFiles& remote) {
  const bool is_remote = frame::is_remote(file);
  if (auto address = parse_any_address(file)) {
    auto store = is_remote ? remote.open_store(address->store) : open_store(address->store);
    return {std::move(store), std::move(address)};
  }
  return {is_remote ? remote.find_zip_store(file) : find_any_store(file), std::nullopt};
}

/// Returns the statistics of the table column whose values the leaf `key` holds; nullopt for other
/// leaves.
std::optional<json> column_statistics(const frame::PythonStore& store, const std::string& key,
                                      const std::optional<std::string>& slice, RunLimits& limits) {
  const auto column = find_column(store, key);
  if (!column) return std::nullopt;
  TableSelection selection{{column->name}, {}};
  if (slice)
    selection.rows =
        row_range(parse_slice(*slice, {count_rows(store, column->group, {}, limits)}).front());
  Table table(store, column->group, selection, CellStyle::text, limits);
  return statistics_of(table);
}

Checksums checksums_for(const InfoOptions& options) {
  return options.stats ? Checksums::check : Checksums::ignore;
}

int show_named(const std::string& file, const std::optional<std::string>& slice,
               const InfoOptions& options, RemoteFiles& remote, RunLimits& limits) {
  const NamedStore named = options.chunk ? NamedStore{} : find_named_store(file, remote);
  const auto& [store, address] = named;
  if (named.is_group()) {
    require(!options.stats, "--stats goes with arrays; name a leaf of the store");
    return show_store(frame::shown_url(file), *store, address ? address->key : "/", options.json,
                      limits);
  }
  Input input(file, options.chunk, remote, limits, checksums_for(options));
  json fields = info_fields(frame::shown_url(file), input, options.chunk);
  if (store && !address && is_table(*store, "/")) {
    fields["object"] = *store->group_kind("/");
    add_table(*store, "/", limits, fields);
  }
  if (address)
    if (json column = column_of_leaf(*store, address->key); !column.is_null())
      fields["column"] = std::move(column);
  if (options.stats) {
    auto stats = address ? column_statistics(*store, address->key, slice, limits) : std::nullopt;
    fields["stats"] = stats ? *std::move(stats) : frame_statistics(input, slice, options.json);
  }
  print_fields(fields, options.json);
  return 0;
}

int show_found(const FileTree& tree, const TreeFile& file, const InfoOptions& options,
               RunLimits& limits) {
  if (auto snapshot = tree.open(file)) {
    Input input(std::move(snapshot), limits, checksums_for(options));
    json fields = info_fields(file.shown, input, options.chunk);
    if (options.stats) fields["stats"] = frame_statistics(input, std::nullopt, options.json);
    print_fields(fields, options.json);
  } else if (const auto store = tree.open_zip_store(file)) {
    return show_store(file.shown, *store, "/", options.json, limits);
  } else if (tree.still_exists(file)) {
    require_no_frame_suffix(file.path, file.stored_size());
  }
  return 0;
}

int show_tree(FileTree& tree, const InfoOptions& options, RunLimits& limits) {
  int status = 0;
  while (const auto file = tree.next())
    status = std::max(
        status, guarded(file->shown, [&] { return show_found(tree, *file, options, limits); }));
  return status;
}

int show_argument(const std::string& file, const InfoOptions& options, RemoteFiles& remote,
                  RunLimits& limits) {
  if (options.recursive && frame::is_remote(file)) {
    if (const auto tree = remote.files(file)) return show_tree(*tree, options, limits);
  } else if (options.recursive && is_tree(file)) {
    FrameTree tree(file);
    return show_tree(tree, options, limits);
  }
  const auto sliced = options.chunk ? std::nullopt : split_slice(file);
  if (!sliced) return show_named(file, std::nullopt, options, remote, limits);
  require(options.stats, "a slice goes with --stats");
  return show_named(sliced->file, sliced->text, options, remote, limits);
}

}  // namespace

int run_info(const InfoOptions& options) {
  RemoteFiles remote(options.remote);
  RunLimits limits;
  int status = 0;
  for (const std::string& file : options.files)
    status = std::max(status,
                      guarded(file, [&] { return show_argument(file, options, remote, limits); }));
  return status;
}

}  // namespace bloscfs::tools
