#include "tools/table_writer.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "codec/error.hpp"
#include "frame/header/b2nd.hpp"
#include "frame/pystore/column_names.hpp"
#include "frame/python/utf8.hpp"
#include "fs/options/option_values.hpp"
#include "tools/create_plan.hpp"
#include "tools/date_text.hpp"
#include "tools/metalayer_file.hpp"
#include "tools/value_text.hpp"

namespace bloscfs::tools {
namespace {

using codec::throw_malformed;

/// Rows in the chunks and blocks of a table, as python-blosc2 chooses them if it does not know the
/// number of rows; the grids of the offsets and the bytes of utf8 columns.
constexpr std::int32_t kChunkRows = 524288, kBlockRows = 8192;
constexpr TableGrid kOffsetGrid{131072, 8192};
constexpr TableGrid kTextGrid{2097152, 65536};
constexpr std::int32_t kMetaChunkSize = std::int32_t{16} << 20;
/// Versions of the schema. Readers that do not know masks refuse version 3.
constexpr int kSchemaWithoutMasks = 1, kSchemaWithMasks = 3;
/// Maximum bytes of a chunk and of a block. They have fewer rows if the items are large.
constexpr std::int64_t kMaxChunkSize = std::int64_t{32} << 20;
constexpr std::int64_t kMaxBlockSize = std::int64_t{1} << 20;

constexpr std::uint8_t kCharacterSize = 4;
/// Shuffles with the size of a character, as python-blosc2 does, and not with the size of an item.
constexpr fs::FilterSteps kStringFilters{
    {{}, {}, {}, {}, {}, {codec::FilterId::shuffle, kCharacterSize}}};

/// Limits for the memory and the open files of a group of columns.
constexpr std::int64_t kGroupMemory = std::int64_t{64} << 20;
constexpr std::size_t kGroupLeaves = 100;

constexpr std::size_t kShownValue = 40;

bool is_text(ColumnKind kind) { return kind == ColumnKind::utf8 || kind == ColumnKind::string; }

[[noreturn]] void throw_changed() { throw_malformed("changed while it was read"); }

/// Returns the beginning of a value, in quotes.
std::string shown_value(std::string_view text) {
  if (text.size() <= kShownValue) return fmt::format("'{}'", text);
  std::size_t end = kShownValue;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return fmt::format("'{}...'", text.substr(0, end));
}

}  // namespace

/// Encodes the chunks of all leaves that have the same settings.
struct TableWriter::Pipeline {
  Pipeline(const codec::EncodeSettings& settings, unsigned threads);
  void add(Leaf& leaf, std::size_t chunksize, std::vector<std::uint8_t> values);

  ChunkPipeline chunks;
  std::deque<Leaf*> owners;  ///< of chunks that are not stored yet, in order
};

/// A one-dimensional array.
class TableWriter::Leaf {
 public:
  /// `expected` items will be added. The array can have more items, which are zero.
  Leaf(std::pair<fs::SourceDirectory, std::string> place, const std::string& shown_name,
       const CreatePlan& plan, std::int64_t expected, Pipeline& pipeline)
      : directory_(std::move(place.first)),
        out_(directory_, place.second, shown_name, false, plan.frame),
        pipeline_(pipeline),
        chunksize_(static_cast<std::size_t>(
            frame::array_sizes(*plan.frame.array, plan.frame.typesize).chunksize)),
        whole_(static_cast<std::size_t>(plan.frame.array->chunkshape[0]) *
               static_cast<std::size_t>(plan.frame.typesize)),
        remaining_(expected * plan.frame.typesize) {}

  /// Adds whole items.
  void add(codec::Bytes items) {
    remaining_ -= std::ssize(items);
    if (remaining_ < 0) throw_changed();
    while (!items.empty()) {
      if (values_.empty()) reserve(items.size());
      const std::size_t size = std::min(items.size(), whole_ - values_.size());
      values_.insert(values_.end(), items.begin(),
                     items.begin() + static_cast<std::ptrdiff_t>(size));
      items = items.subspan(size);
      if (values_.size() == whole_) hand_over();
    }
  }
  template <typename Value>
  void add_value(const Value& value) {
    add({reinterpret_cast<const std::uint8_t*>(&value), sizeof(value)});
  }

  void hand_over_rest() {
    if (remaining_ != 0) throw_changed();
    if (!values_.empty()) hand_over();
  }
  void store(const fs::RecodedChunk& chunk) { out_.add_chunk(0, chunk.special, chunk.stored); }
  /// Must be called after all chunks of the leaf are stored.
  void commit() { out_.commit(); }

 private:
  void reserve(std::size_t at_hand) {
    const auto coming = static_cast<std::size_t>(remaining_) + at_hand;
    values_.reserve(std::min(whole_, coming));
  }
  void hand_over() { pipeline_.add(*this, chunksize_, std::exchange(values_, {})); }

  const fs::SourceDirectory directory_;
  FrameOutput out_;
  Pipeline& pipeline_;
  const std::size_t chunksize_;  ///< bytes, with the padding of the last block
  const std::size_t whole_;      ///< bytes of the items of a chunk
  std::int64_t remaining_;       ///< bytes that are still to be added
  std::vector<std::uint8_t> values_;
};

TableWriter::Pipeline::Pipeline(const codec::EncodeSettings& settings, unsigned threads)
    : chunks(settings, threads, [this](const fs::RecodedChunk& chunk) {
        Leaf* const owner = owners.front();
        owners.pop_front();
        owner->store(chunk);
      }) {}

void TableWriter::Pipeline::add(Leaf& leaf, std::size_t chunksize,
                                std::vector<std::uint8_t> values) {
  owners.push_back(&leaf);
  // Lends the values, so that the workers make no copy.
  chunks.add_lent(chunksize,
                  [chunksize, values = std::move(values)](const ChunkPipeline::Use& use) mutable {
                    values.resize(chunksize);
                    use(values);
                  });
}

/// A column and its leaves: the values or offsets, the bytes of texts, and the mask of absent
/// values.
class TableWriter::Column {
 public:
  Column(const WrittenColumn& column, std::unique_ptr<Leaf> values, std::unique_ptr<Leaf> text,
         std::unique_ptr<Leaf> not_null)
      : name_(column.name),
        type_(column.type),
        values_(std::move(values)),
        text_(std::move(text)),
        not_null_(std::move(not_null)) {
    if (text_) values_->add_value(text_end_);
    item_.resize(static_cast<std::size_t>(type_.itemsize()));
  }

  void add(const CsvField& field, std::int64_t line) {
    const auto text = type_.nullable ? field.unmarked() : field.text;
    const bool absent = !text || (text->empty() && !is_text(type_.kind));
    if (absent && !type_.nullable && !is_text(type_.kind))
      throw_malformed(fmt::format("line {}: column {}: is empty; the type {}? allows that", line,
                                  name_, type_.text()));
    if (not_null_) not_null_->add_value(static_cast<std::uint8_t>(absent ? 0 : 1));
    // The first reading found no absent value in this column, so the file was changed since then.
    if (absent && type_.nullable && !not_null_)
      throw_malformed(fmt::format("line {}: column {}: has changed meanwhile", line, name_));
    if (absent && !is_text(type_.kind))
      add_absent();
    else if (!add_text(text.value_or("")))
      throw_malformed(fmt::format("line {}: column {}: {} is not of the type {}", line, name_,
                                  shown_value(field.text), type_.text()));
  }

  template <typename Work>
  void for_each_leaf(const Work& work) {
    for (const auto* leaf : {&values_, &text_, &not_null_})
      if (*leaf) work(**leaf);
  }

 private:
  /// Adds the value that python-blosc2 stores in place of an absent one.
  void add_absent() {
    if (type_.kind == ColumnKind::timestamp) return values_->add_value(std::int64_t{kNoTime});
    if (type_.kind == ColumnKind::float64)
      return values_->add_value(std::numeric_limits<double>::quiet_NaN());
    if (type_.kind == ColumnKind::float32)
      return values_->add_value(std::numeric_limits<float>::quiet_NaN());
    std::fill(item_.begin(), item_.end(), std::uint8_t{0});
    values_->add(item_);
  }

  /// Returns false if the column cannot hold the value.
  bool add_text(std::string_view text) {
    switch (type_.kind) {
      case ColumnKind::int8:
        return add_number(parse_integer<std::int8_t>(text));
      case ColumnKind::int16:
        return add_number(parse_integer<std::int16_t>(text));
      case ColumnKind::int32:
        return add_number(parse_integer<std::int32_t>(text));
      case ColumnKind::int64:
        return add_number(parse_integer<std::int64_t>(text));
      case ColumnKind::uint8:
        return add_number(parse_integer<std::uint8_t>(text));
      case ColumnKind::uint16:
        return add_number(parse_integer<std::uint16_t>(text));
      case ColumnKind::uint32:
        return add_number(parse_integer<std::uint32_t>(text));
      case ColumnKind::uint64:
        return add_number(parse_integer<std::uint64_t>(text));
      case ColumnKind::float32:
        return add_number(parse_float(text));
      case ColumnKind::float64:
        return add_number(parse_double(text));
      case ColumnKind::boolean:
        return add_number(parse_boolean(text));
      case ColumnKind::timestamp:
        return add_timestamp(text);
      case ColumnKind::string:
        return add_string(text);
      default:
        break;
    }
    text_->add({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    text_end_ += std::ssize(text);
    values_->add_value(text_end_);
    return true;
  }

  template <typename Number>
  bool add_number(const std::optional<Number>& number) {
    if (number) values_->add_value(*number);
    return number.has_value();
  }

  bool add_timestamp(std::string_view text) {
    const auto timestamp = parse_timestamp(text);
    return timestamp && add_number(timestamp_in(*timestamp, type_.unit));
  }

  /// Stores code points of four bytes each.
  bool add_string(std::string_view text) {
    std::fill(item_.begin(), item_.end(), std::uint8_t{0});
    for (std::size_t at = 0; !text.empty(); at += 4) {
      const auto point = frame::take_code_point(text);
      if (!point || at == item_.size()) return false;
      for (unsigned i = 0; i < 4; ++i) item_[at + i] = static_cast<std::uint8_t>(*point >> (8 * i));
    }
    values_->add(item_);
    return true;
  }

  const std::string name_;
  const ColumnType type_;
  const std::unique_ptr<Leaf> values_, text_, not_null_;
  std::int64_t text_end_ = 0;
  std::vector<std::uint8_t> item_;
};

TableWriter::TableWriter(const StoreOutput& output, std::vector<WrittenColumn> columns,
                         std::int64_t rows, const StorageOptions& options)
    : output_(output), columns_(std::move(columns)), rows_(rows), options_(options) {
  check_options(options);
}

void TableWriter::check_options(const StorageOptions& options) {
  require(!options.typesize, "--typesize is not for tables, whose columns have types");
  require(!options.sparse, "--sparse is not for tables");
  require(!options.goal, "--codec auto is not for tables");
  require(!options.chunk_size && !options.block_size,
          "--chunk-size and --block-size are not for tables; --chunk-shape and --block-shape count "
          "rows");
  require((!options.chunk_shape || options.chunk_shape->size() == 1) &&
              (!options.block_shape || options.block_shape->size() == 1),
          "--chunk-shape and --block-shape of a table are numbers of rows");
}

TableWriter::~TableWriter() = default;

TableGrid TableWriter::row_grid(std::int32_t itemsize) const {
  TableGrid grid{kChunkRows, kBlockRows};
  while (std::int64_t{grid.chunk} * itemsize > kMaxChunkSize && grid.chunk > 1) grid.chunk /= 2;
  if (options_.chunk_shape) grid.chunk = options_.chunk_shape->front();
  grid.block = std::min(grid.block, grid.chunk);
  while (std::int64_t{grid.block} * itemsize > kMaxBlockSize && grid.block > 1) grid.block /= 2;
  if (options_.block_shape) grid.block = options_.block_shape->front();
  return grid;
}

/// Returns the bytes of values that a column keeps until a chunk of each leaf is full.
std::int64_t TableWriter::buffered_bytes(const WrittenColumn& column) const {
  const auto chunk_of = [](std::int64_t items, TableGrid grid) {
    return std::min<std::int64_t>(items, grid.chunk);
  };
  const std::int32_t itemsize = column.type.itemsize();
  std::int64_t bytes = column.has_nulls ? chunk_of(rows_, row_grid(1)) : 0;
  if (column.type.kind != ColumnKind::utf8)
    return bytes + chunk_of(rows_, row_grid(itemsize)) * itemsize;
  bytes += chunk_of(rows_ + 1, kOffsetGrid) * itemsize;
  return bytes + chunk_of(column.text_bytes, kTextGrid);
}

/// Returns the end of the group of columns that begins at `first`. A group has at least one column.
std::size_t TableWriter::group_end(std::size_t first) const {
  std::int64_t memory = 0;
  std::size_t leaves = 0, end = first;
  for (; end < columns_.size(); ++end) {
    const WrittenColumn& column = columns_[end];
    memory += buffered_bytes(column);
    leaves += 1U + (column.type.kind == ColumnKind::utf8 ? 1U : 0U) + (column.has_nulls ? 1U : 0U);
    if (end > first && (memory > kGroupMemory || leaves > kGroupLeaves)) break;
  }
  return end;
}

std::int64_t TableWriter::group_count() const {
  std::int64_t count = 0;
  for (std::size_t first = 0; first < columns_.size(); first = group_end(first)) ++count;
  return count;
}

std::unique_ptr<TableWriter::Leaf> TableWriter::make_leaf(const std::string& path,
                                                          const std::string& dtype,
                                                          std::int32_t itemsize, Items items,
                                                          TableGrid grid) {
  StorageOptions options = options_;
  options.chunk_shape = {grid.chunk};
  options.block_shape = {grid.block};
  if (!options.filters && dtype.starts_with("<U")) options.filters = kStringFilters;
  frame::ArrayInfo array;
  array.shape = {items.stored};
  array.dtype = dtype;
  const CreatePlan plan = make_plan(options, array, itemsize);
  auto& pipeline = pipelines_[{itemsize, grid.block, plan.encode.filters.back().meta}];
  if (!pipeline) pipeline = std::make_unique<Pipeline>(plan.encode, options_.threads);
  return std::make_unique<Leaf>(output_.place_of(path + ".b2nd"), output_.shown_name(), plan,
                                items.expected, *pipeline);
}

TableWriter::Items TableWriter::row_items() const {
  return {.stored = std::max<std::int64_t>(1, rows_), .expected = rows_};
}

std::unique_ptr<TableWriter::Column> TableWriter::make_column(const WrittenColumn& column) {
  const std::string path = "_cols/" + frame::column_path(column.name);
  const std::int32_t itemsize = column.type.itemsize();
  const bool is_utf8 = column.type.kind == ColumnKind::utf8;
  Items items = row_items();
  std::unique_ptr<Leaf> text, not_null;
  if (column.has_nulls) not_null = make_leaf(path + ".notnull", "|b1", 1, items, row_grid(1));
  if (is_utf8) {
    text = make_leaf(
        path + ".utf8", "|u1", 1,
        {.stored = std::max<std::int64_t>(1, column.text_bytes), .expected = column.text_bytes},
        kTextGrid);
    // There is one offset more than there are rows.
    ++items.stored;
    ++items.expected;
  }
  auto values = make_leaf(path, column.type.dtype(), itemsize, items,
                          is_utf8 ? kOffsetGrid : row_grid(itemsize));
  return std::make_unique<Column>(column, std::move(values), std::move(text), std::move(not_null));
}

void TableWriter::begin_group(std::size_t first) {
  first_ = first;
  const std::size_t end = group_end(first);
  for (std::size_t i = first; i < end; ++i) group_.push_back(make_column(columns_[i]));
}

void TableWriter::add_row(const std::vector<CsvField>& fields, std::int64_t line) {
  for (std::size_t i = 0; i < group_.size(); ++i) group_[i]->add(fields[first_ + i], line);
}

void TableWriter::finish_chunks() {
  for (const auto& [items, pipeline] : pipelines_) pipeline->chunks.finish();
}

std::size_t TableWriter::end_group() {
  const std::size_t end = first_ + group_.size();
  for (const auto& column : group_)
    column->for_each_leaf([](Leaf& leaf) { leaf.hand_over_rest(); });
  finish_chunks();
  for (const auto& column : group_) column->for_each_leaf([](Leaf& leaf) { leaf.commit(); });
  group_.clear();
  return end;
}

void TableWriter::finish() {
  write_valid_rows();
  write_meta();
  output_.add_marker();
}

void TableWriter::write_valid_rows() {
  const auto leaf = make_leaf("_valid_rows", "|b1", 1, row_items(), row_grid(1));
  const std::vector<std::uint8_t> valid(std::size_t{64} << 10, 1);
  for (std::int64_t row = 0; row < rows_; row += std::ssize(valid))
    leaf->add(codec::Bytes(valid).first(
        static_cast<std::size_t>(std::min<std::int64_t>(std::ssize(valid), rows_ - row))));
  leaf->hand_over_rest();
  finish_chunks();
  leaf->commit();
}

void TableWriter::write_meta() {
  nlohmann::ordered_json schema;
  const bool has_masks =
      std::any_of(columns_.begin(), columns_.end(),
                  [](const WrittenColumn& column) { return column.type.nullable; });
  schema["version"] = has_masks ? kSchemaWithMasks : kSchemaWithoutMasks;
  for (const WrittenColumn& column : columns_)
    schema["columns"].push_back(column.type.json(column.name));
  schema["n_rows"] = rows_;
  schema["summary_indexes_built"] = false;
  const fs::SourceDirectory top = output_.top();
  FrameOutput out(top, "_meta.b2f", output_.shown_name(), false, empty_frame(kMetaChunkSize));
  out.set_vlmetalayer("kind", msgpack_of("\"ctable\""));
  out.set_vlmetalayer("version", msgpack_of("1"));
  // Like json.dumps(), writes only ASCII.
  const std::string text = schema.dump(-1, ' ', true);
  out.set_vlmetalayer("schema", msgpack_of(nlohmann::json(text).dump()));
  out.commit();
}

}  // namespace bloscfs::tools
