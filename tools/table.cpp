#include "tools/table.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "codec/error.hpp"
#include "frame/pystore/column_names.hpp"
#include "frame/pystore/msgpack_cursor.hpp"
#include "frame/store/throw_errno.hpp"
#include "fs/view/thread_decoder.hpp"
#include "tools/store_address.hpp"

namespace bloscfs::tools {
namespace {

using codec::throw_malformed;
using codec::throw_unsupported;

constexpr std::size_t kMaxSchema = std::size_t{4} << 20;
constexpr std::size_t kRowsAtOnce = std::size_t{1} << 20;
constexpr std::size_t kMaxRow = std::size_t{64} << 20;

/// Kinds of columns whose array is all that there is of them.
constexpr std::array<std::string_view, 13> kKinds{
    "bool",   "int8",   "int16",   "int32",   "int64",  "uint8", "uint16",
    "uint32", "uint64", "float32", "float64", "string", "bytes"};

std::string below(const std::string& group, const std::string& name) {
  return (group == "/" ? std::string() : group) + "/" + name;
}

std::shared_ptr<const frame::Snapshot> open_part(const frame::PythonStore& store,
                                                 const std::string& key) {
  const frame::StoreEntry entry = find_entry(store, key);
  if (!entry.leaf) throw_malformed(key + ": is no leaf");
  std::shared_ptr<const frame::Snapshot> snapshot = store.open(*entry.leaf);
  if (!snapshot) throw_malformed(key + ": no Blosc2 frame");
  return snapshot;
}

nlohmann::json read_schema(const frame::Snapshot& meta) {
  for (const frame::MetalayerEntry& layer : meta.vlmetalayers()) {
    if (layer.name != "schema") continue;
    const auto content = meta.read_vlmetalayer(layer, kMaxSchema, fs::thread_decoder());
    const std::string_view text = frame::MsgpackCursor(content).read_text();
    auto schema = nlohmann::json::parse(text, nullptr, false);
    if (!schema.is_object()) throw_malformed("schema: no JSON object");
    return schema;
  }
  throw_malformed("table without a schema");
}

/// Throws unless the column has no more than its array: a column that may have nulls keeps those
/// beside it, in one of the fields that are called so.
void check_column(const nlohmann::json& column, const std::string& name) {
  const auto kind = column.find("kind");
  if (kind == column.end() || !kind->is_string())
    throw_malformed(fmt::format("column {}: has no kind", name));
  const auto& text = kind->get_ref<const std::string&>();
  if (std::find(kKinds.begin(), kKinds.end(), text) == kKinds.end())
    throw_unsupported(fmt::format("column {}: is of the kind {}", name, text));
  for (const auto& [field, value] : column.items())
    if (field.starts_with("null") && !value.is_null() && value != false)
      throw_unsupported(fmt::format("column {}: may have nulls", name));
}

std::vector<std::string> read_columns(const nlohmann::json& schema) {
  const auto columns = schema.find("columns");
  if (columns == schema.end() || !columns->is_array()) throw_malformed("schema: no columns");
  std::vector<std::string> names;
  for (const nlohmann::json& column : *columns) {
    const auto name = column.is_object() ? column.find("name") : column.end();
    if (name == column.end() || !name->is_string())
      throw_malformed(fmt::format("schema: column {} has no name", names.size()));
    names.push_back(name->get<std::string>());
    check_column(column, names.back());
  }
  return names;
}

}  // namespace

Column::Column(std::string name, std::shared_ptr<const frame::Snapshot> snapshot, RunLimits& limits)
    : name_(std::move(name)) {
  const frame::FrameInfo& info = snapshot->info();
  if (!info.array || info.array->shape.size() != 1 || !info.array->dtype)
    throw_malformed(fmt::format("column {}: no array of one dimension", name_));
  const auto dtype = fs::parse_numpy_dtype(*info.array->dtype);
  if (!dtype || dtype->itemsize != info.typesize)
    throw_unsupported(fmt::format("column {}: has items of {}", name_, *info.array->dtype));
  dtype_ = *dtype;
  rows_ = info.array->shape[0];
  input_ = std::make_unique<Input>(std::move(snapshot), limits);
  fs::Request request;
  view_ = std::make_unique<fs::FileView>(request, fs::view_shape(input_->info(), true),
                                         input_->reader());
  view_->require_contents(request);
}

void Column::read(std::int64_t row, codec::MutableBytes out) {
  fs::ReplyData reply(input_->reader().cache().pages());
  fs::Request request;
  view_->read(request, row * dtype_.itemsize, static_cast<std::int64_t>(out.size()), reply);
  if (reply.size() != out.size()) throw_malformed(fmt::format("column {}: ends early", name_));
  reply.copy_to(out);
}

Table::Table(const frame::PythonStore& store, const std::string& group, RunLimits& limits)
    : limits_(limits) {
  if (store.group_kind(group) != "ctable") frame::throw_errno(EISDIR, group);
  const auto names = read_columns(read_schema(*open_part(store, below(group, "_meta"))));
  valid_ = std::make_unique<Column>("_valid_rows", open_part(store, below(group, "_valid_rows")),
                                    limits);
  if (valid_->dtype().stored != "|b1") throw_malformed("_valid_rows: no array of booleans");
  for (const std::string& name : names) add_column(store, group, name);
}

void Table::add_column(const frame::PythonStore& store, const std::string& group,
                       const std::string& name) {
  columns_.emplace_back(name, open_part(store, below(group, "_cols/" + frame::column_path(name))),
                        limits_);
  const Column& column = columns_.back();
  if (column.rows() != rows())
    throw_malformed(
        fmt::format("column {}: {} rows, _valid_rows has {}", name, column.rows(), rows()));
  row_size_ += column.itemsize();
  if (row_size_ > kMaxRow)
    throw codec::Error(codec::FormatErrc::too_large,
                       fmt::format("rows of more than {} bytes", kMaxRow));
}

std::int64_t Table::count_valid() {
  std::int64_t count = 0;
  std::vector<std::uint8_t> valid;
  for (std::int64_t row = 0; row < rows(); row += std::ssize(valid)) {
    valid.resize(std::min<std::size_t>(kRowsAtOnce, static_cast<std::size_t>(rows() - row)));
    valid_->read(row, valid);
    count += std::ssize(valid) - std::count(valid.begin(), valid.end(), std::uint8_t{0});
  }
  return count;
}

TableRows Table::read(std::int64_t row) {
  const std::size_t at_once = std::max<std::size_t>(1, kRowsAtOnce / (row_size_ + 1));
  TableRows part;
  const auto count = std::min(at_once, static_cast<std::size_t>(rows() - row));
  part.count = static_cast<std::int64_t>(count);
  part.valid.resize(count);
  valid_->read(row, part.valid);
  for (Column& column : columns_) {
    part.columns.emplace_back(count * column.itemsize());
    column.read(row, part.columns.back());
  }
  return part;
}

}  // namespace bloscfs::tools
