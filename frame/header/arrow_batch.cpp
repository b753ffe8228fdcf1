#include "frame/header/arrow_batch.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/header/msgpack_json.hpp"

namespace bloscfs::frame::inline header {
namespace {

using codec::Bytes;
using codec::throw_malformed;

[[noreturn]] void throw_bad_stream(const char* what) {
  throw_malformed(std::string("Arrow stream: ") + what);
}

/// The bytes of a little-endian buffer. Reads outside of it throw Error.
class ArrowBytes {
 public:
  explicit ArrowBytes(Bytes bytes) : bytes_(bytes) {}

  std::size_t size() const { return bytes_.size(); }
  template <typename Value>
  Value at(std::uint64_t position) const {
    Value value{};
    std::memcpy(&value, part(position, sizeof value).data(), sizeof value);
    return value;
  }
  Bytes part(std::uint64_t position, std::uint64_t size) const {
    if (position > bytes_.size() || size > bytes_.size() - position)
      throw_bad_stream("a part outside of it");
    return bytes_.subspan(static_cast<std::size_t>(position), static_cast<std::size_t>(size));
  }

 private:
  Bytes bytes_;
};

constexpr std::uint32_t kMaxName = 1 << 12;
constexpr std::size_t kMaxFields = 4096;
constexpr std::size_t kMaxArray = std::size_t{32} << 20;

/// A table of FlatBuffers.
class FlatTable {
 public:
  FlatTable(ArrowBytes bytes, std::uint64_t position) : bytes_(bytes), position_(position) {
    vtable_ = offset_from(position, -std::int64_t{bytes.at<std::int32_t>(position)});
    vtable_size_ = bytes.at<std::uint16_t>(vtable_);
  }
  static FlatTable root(Bytes bytes) {
    const ArrowBytes checked(bytes);
    return {checked, checked.at<std::uint32_t>(0)};
  }

  template <typename Value>
  Value number(unsigned field, Value otherwise) const {
    const auto position = find(field);
    return position ? bytes_.at<Value>(*position) : otherwise;
  }
  std::optional<FlatTable> table(unsigned field) const {
    const auto position = target(field);
    return position ? std::optional(FlatTable(bytes_, *position)) : std::nullopt;
  }
  std::string_view text(unsigned field) const {
    const auto position = target(field);
    if (!position) return {};
    const auto size = bytes_.at<std::uint32_t>(*position);
    if (size > kMaxName) throw_bad_stream("a name that is too long");
    const Bytes text = bytes_.part(*position + 4, size);
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }
  std::uint32_t count(unsigned field) const {
    const auto position = target(field);
    return position ? bytes_.at<std::uint32_t>(*position) : 0;
  }
  /// Returns an item of a vector of tables.
  FlatTable table_at(unsigned field, std::uint32_t index) const {
    const std::uint64_t item = item_of(field, index, 4);
    return {bytes_, item + bytes_.at<std::uint32_t>(item)};
  }
  /// Returns an item of a vector of pairs of 64-bit numbers.
  std::pair<std::int64_t, std::int64_t> pair_at(unsigned field, std::uint32_t index) const {
    const std::uint64_t item = item_of(field, index, 16);
    return {bytes_.at<std::int64_t>(item), bytes_.at<std::int64_t>(item + 8)};
  }

 private:
  /// Returns `position` + `step`. Throws Error if the sum is negative.
  static std::uint64_t offset_from(std::uint64_t position, std::int64_t step) {
    const std::int64_t moved = static_cast<std::int64_t>(position) + step;
    if (moved < 0) throw_bad_stream("an offset before its start");
    return static_cast<std::uint64_t>(moved);
  }
  /// Returns the position of a field, from the vtable; nullopt if the table does not have the
  /// field.
  std::optional<std::uint64_t> find(unsigned field) const {
    const unsigned slot = 4 + 2 * field;
    if (slot + 2 > vtable_size_) return std::nullopt;
    const auto offset = bytes_.at<std::uint16_t>(vtable_ + slot);
    return offset == 0 ? std::nullopt : std::optional(position_ + offset);
  }
  /// Returns the position that the offset in a field points to.
  std::optional<std::uint64_t> target(unsigned field) const {
    const auto position = find(field);
    return position ? std::optional(*position + bytes_.at<std::uint32_t>(*position)) : std::nullopt;
  }
  std::uint64_t item_of(unsigned field, std::uint32_t index, std::uint64_t size) const {
    const auto position = target(field);
    if (!position || index >= bytes_.at<std::uint32_t>(*position))
      throw_bad_stream("a vector that ends early");
    return *position + 4 + index * size;
  }

  ArrowBytes bytes_;
  std::uint64_t position_;
  std::uint64_t vtable_ = 0;
  std::uint16_t vtable_size_ = 0;
};

// These numbers, and the numbers of the fields below, come from Arrow's Schema.fbs and Message.fbs.
enum class ArrowType : std::uint8_t {
  null = 1,
  integer = 2,
  floating = 3,
  binary = 4,
  text = 5,
  boolean = 6,
  list = 12,
  structure = 13,
  large_binary = 19,
  large_text = 20,
  large_list = 21,
};
enum class MessageType : std::uint8_t { schema = 1, record_batch = 3 };

struct ArrowField {
  std::string name;
  ArrowType type = ArrowType::null;
  unsigned width = 0;       ///< bytes of a number
  std::uint8_t marker = 0;  ///< msgpack marker of such a number
  std::vector<ArrowField> children;
};

void set_number(const FlatTable& type, ArrowField& field) {
  if (field.type == ArrowType::floating) {
    const auto precision = type.number<std::uint16_t>(0, 0);
    if (precision != 1 && precision != 2)
      codec::throw_unsupported("Arrow stream: floating-point numbers of 16 bits");
    field.width = 2U << precision;
    field.marker = precision == 1 ? 0xca : 0xcb;
    return;
  }
  const auto bits = type.number<std::int32_t>(0, 0);
  if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
    throw_bad_stream("integers of an odd size");
  const bool is_signed = type.number<std::uint8_t>(1, 0) != 0;
  field.width = static_cast<unsigned>(bits) / 8;
  field.marker =
      static_cast<std::uint8_t>((is_signed ? 0xd0 : 0xcc) + std::countr_zero(field.width));
}

/// Reads a table Field. Its fields are 0 name, 2 kind of the type, 3 type, 4 dictionary, and 5
/// children.
ArrowField read_field(const FlatTable& table, int depth, std::size_t& fields) {
  if (depth > kMaxMsgpackDepth / 2 || ++fields > kMaxFields)
    throw_bad_stream("fields that nest too deeply, or too many");
  ArrowField field;
  field.name = table.text(0);
  field.type = static_cast<ArrowType>(table.number<std::uint8_t>(2, 0));
  if (table.table(4)) codec::throw_unsupported("Arrow stream: a dictionary");
  if (field.type == ArrowType::integer || field.type == ArrowType::floating) {
    const auto type = table.table(3);
    if (!type) throw_bad_stream("numbers without a type");
    set_number(*type, field);
  }
  for (std::uint32_t i = 0; i < table.count(5); i++)
    field.children.push_back(read_field(table.table_at(5, i), depth + 1, fields));
  return field;
}

/// The array of a field in a record batch, with the arrays of its children.
struct ArrowArray {
  const ArrowField* field = nullptr;
  std::int64_t length = 0;
  ArrowBytes validity{Bytes()};  ///< empty: no value is null
  ArrowBytes offsets{Bytes()};
  ArrowBytes data{Bytes()};
  std::vector<ArrowArray> children;
};

/// Takes the arrays of a record batch in the order of its fields.
class BatchArrays {
 public:
  BatchArrays(const FlatTable& batch, Bytes body) : batch_(batch), body_(body) {}

  ArrowArray take(const ArrowField& field) {
    ArrowArray array;
    array.field = &field;
    array.length = batch_.pair_at(1, node_++).first;
    if (array.length < 0) throw_bad_stream("an array of a negative length");
    if (field.type == ArrowType::null) return array;
    array.validity = buffer();
    const bool is_list = has_type(field, {ArrowType::list, ArrowType::large_list});
    const bool is_text = has_type(field, {ArrowType::binary, ArrowType::text,
                                          ArrowType::large_binary, ArrowType::large_text});
    const bool is_number =
        has_type(field, {ArrowType::integer, ArrowType::floating, ArrowType::boolean});
    if (!is_list && !is_text && !is_number && field.type != ArrowType::structure)
      codec::throw_unsupported(
          fmt::format("Arrow stream: values of the type {}", static_cast<int>(field.type)));
    if (is_list && field.children.size() != 1)
      throw_bad_stream("a list without a type of its values");
    if (is_list || is_text) array.offsets = buffer();
    if (is_text || is_number) array.data = buffer();
    for (const ArrowField& child : field.children) array.children.push_back(take(child));
    return array;
  }

 private:
  static bool has_type(const ArrowField& field, std::initializer_list<ArrowType> types) {
    return std::find(types.begin(), types.end(), field.type) != types.end();
  }
  ArrowBytes buffer() {
    const auto [offset, size] = batch_.pair_at(2, buffer_++);
    if (offset < 0 || size < 0) throw_bad_stream("a buffer of a negative size");
    return ArrowBytes(
        body_.part(static_cast<std::uint64_t>(offset), static_cast<std::uint64_t>(size)));
  }

  const FlatTable& batch_;
  ArrowBytes body_;
  std::uint32_t node_ = 0;
  std::uint32_t buffer_ = 0;
};

/// Appends values as msgpack.
class MsgpackValues {
 public:
  const std::vector<std::uint8_t>& bytes() const { return bytes_; }

  void value(const ArrowArray& array, std::int64_t index) {
    if (bytes_.size() > kMaxArray)
      throw codec::Error(codec::FormatErrc::too_large,
                         fmt::format("objects of more than {} bytes", kMaxArray));
    if (index >= array.length) throw_bad_stream("an array that ends early");
    const auto at = static_cast<std::uint64_t>(index);
    if (array.field->type == ArrowType::null || !is_valid(array, at)) {
      bytes_.push_back(0xc0);
      return;
    }
    switch (array.field->type) {
      case ArrowType::integer:
      case ArrowType::floating:
        number(array, at);
        break;
      case ArrowType::boolean:
        bytes_.push_back(bit(array.data, at) ? 0xc3 : 0xc2);
        break;
      case ArrowType::text:
      case ArrowType::large_text:
        content(0xdb, array, at);
        break;
      case ArrowType::binary:
      case ArrowType::large_binary:
        content(0xc6, array, at);
        break;
      case ArrowType::structure:
        structure(array, index);
        break;
      default:
        list(array, at);
        break;
    }
  }

  /// Appends a marker and a size of 32 bits.
  void head(std::uint8_t marker, std::uint64_t size) {
    if (size > std::numeric_limits<std::uint32_t>::max())
      throw_bad_stream("a list that is too long");
    bytes_.push_back(marker);
    for (int shift = 24; shift >= 0; shift -= 8)
      bytes_.push_back(static_cast<std::uint8_t>(size >> shift));
  }

 private:
  static bool bit(const ArrowBytes& bits, std::uint64_t index) {
    return (bits.at<std::uint8_t>(index / 8) >> (index % 8) & 1U) != 0;
  }
  static bool is_valid(const ArrowArray& array, std::uint64_t index) {
    return array.validity.size() == 0 || bit(array.validity, index);
  }
  void number(const ArrowArray& array, std::uint64_t index) {
    const unsigned width = array.field->width;
    const Bytes value = array.data.part(index * width, width);
    // The bytes are little-endian. msgpack stores integers below 128 in one byte.
    const bool is_small =
        array.field->type == ArrowType::integer && value[0] < 0x80 &&
        std::all_of(value.begin() + 1, value.end(), [](std::uint8_t byte) { return byte == 0; });
    if (is_small) return bytes_.push_back(value[0]);
    bytes_.push_back(array.field->marker);
    bytes_.insert(bytes_.end(), value.rbegin(), value.rend());
  }
  /// Returns where a list or a text begins and ends.
  static std::pair<std::int64_t, std::int64_t> extent(const ArrowArray& array,
                                                      std::uint64_t index) {
    const bool is_large = array.field->type >= ArrowType::large_binary;
    const auto offset = [&](std::uint64_t at) {
      return is_large ? array.offsets.at<std::int64_t>(8 * at)
                      : std::int64_t{array.offsets.at<std::int32_t>(4 * at)};
    };
    const std::int64_t begin = offset(index), end = offset(index + 1);
    if (begin < 0 || end < begin) throw_bad_stream("offsets that decrease");
    return {begin, end};
  }
  void content(std::uint8_t marker, const ArrowArray& array, std::uint64_t index) {
    const auto [begin, end] = extent(array, index);
    const Bytes part =
        array.data.part(static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end - begin));
    head(marker, part.size());
    bytes_.insert(bytes_.end(), part.begin(), part.end());
  }
  void list(const ArrowArray& array, std::uint64_t index) {
    const auto [begin, end] = extent(array, index);
    head(0xdd, static_cast<std::uint64_t>(end - begin));
    for (std::int64_t i = begin; i < end; i++) value(array.children.front(), i);
  }
  void structure(const ArrowArray& array, std::int64_t index) {
    head(0xdf, array.children.size());
    for (const ArrowArray& child : array.children) {
      head(0xdb, child.field->name.size());
      bytes_.insert(bytes_.end(), child.field->name.begin(), child.field->name.end());
      value(child, index);
    }
  }

  std::vector<std::uint8_t> bytes_;
};

class StreamReader {
 public:
  explicit StreamReader(Bytes stream) : stream_(stream) {}

  std::vector<std::uint8_t> run() {
    values_.head(0xdd, 0);
    while (read_message()) {
    }
    // Stores the number of values, which is known only now, in the head of the array.
    std::vector<std::uint8_t> out = values_.bytes();
    for (std::size_t i = 0; i < 4; i++)
      out[1 + i] = static_cast<std::uint8_t>(count_ >> (24 - 8 * i));
    return out;
  }

 private:
  static constexpr std::uint32_t kContinuation = 0xffffffff;

  /// Reads one message. Returns false at the end of the stream.
  bool read_message() {
    if (position_ == stream_.size()) return false;
    auto size = stream_.at<std::uint32_t>(position_);
    position_ += 4;
    if (size == kContinuation) {
      size = stream_.at<std::uint32_t>(position_);
      position_ += 4;
    }
    if (size == 0) return false;
    const FlatTable message = FlatTable::root(stream_.part(position_, size));
    position_ += size;
    const auto body_size = message.number<std::int64_t>(3, 0);
    if (body_size < 0) throw_bad_stream("a body of a negative size");
    const Bytes body = stream_.part(position_, static_cast<std::uint64_t>(body_size));
    position_ += static_cast<std::uint64_t>(body_size);
    const auto header = message.table(2);
    if (!header) throw_bad_stream("a message without a header");
    read_header(static_cast<MessageType>(message.number<std::uint8_t>(1, 0)), *header, body);
    return true;
  }

  void read_header(MessageType type, const FlatTable& header, Bytes body) {
    if (type == MessageType::schema) {
      if (field_) throw_bad_stream("a second schema");
      std::size_t fields = 0;
      if (header.number<std::int16_t>(0, 0) != 0)
        codec::throw_unsupported("Arrow stream: big-endian numbers");
      field_ = read_field(header.table_at(1, 0), 0, fields);
      return;
    }
    if (type != MessageType::record_batch || !field_)
      codec::throw_unsupported("Arrow stream: no schema and record batches");
    if (header.table(3)) codec::throw_unsupported("Arrow stream: compressed buffers");
    const ArrowArray array = BatchArrays(header, body).take(*field_);
    for (std::int64_t row = 0; row < array.length; row++) values_.value(array, row);
    count_ += static_cast<std::uint64_t>(array.length);
  }

  ArrowBytes stream_;
  std::uint64_t position_ = 0;
  std::optional<ArrowField> field_;
  MsgpackValues values_;
  std::uint64_t count_ = 0;
};

}  // namespace

std::vector<std::uint8_t> arrow_to_msgpack(Bytes stream) { return StreamReader(stream).run(); }

}  // namespace bloscfs::frame::inline header
