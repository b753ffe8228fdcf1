#include "frame/bloscpack/bloscpack_array.hpp"

#include <limits>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "codec/error.hpp"
#include "frame/python/python_literal.hpp"

namespace bloscfs::frame::inline bloscpack {
namespace {

using codec::throw_malformed;
using Json = nlohmann::json;

constexpr std::size_t kMaxJsonDepth = 64;
constexpr std::size_t kMaxArrayDimensions = 64;

/// Collects the description of an array from the events of a JSON parser. Builds no tree for the
/// rest of the text.
class ArrayTextReader final : public Json::json_sax_t {
 public:
  std::optional<ArrayInfo> take();

  bool null() override { return other_value(); }
  bool boolean(bool /*value*/) override { return other_value(); }
  bool number_integer(number_integer_t value) override { return integer(value); }
  bool number_unsigned(number_unsigned_t value) override;
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override {
    return other_value();
  }
  bool string(string_t& value) override;
  bool binary(binary_t& /*value*/) override { return other_value(); }
  bool start_object(std::size_t size) override;
  bool key(string_t& name) override;
  bool end_object() override { return leave(); }
  bool start_array(std::size_t size) override;
  bool end_array() override;
  bool parse_error(std::size_t position, const std::string& token,
                   const Json::exception& error) override;

 private:
  /// The keys of the outermost object that matter.
  enum class Field { none, container, order, shape, dtype };

  bool enter();
  bool leave() {
    depth_--;
    return true;
  }
  bool integer(std::int64_t value);
  bool other_value();
  bool add_to_dtype(PythonValue value);
  bool in_field(Field field) const { return field_ == field && depth_ > 0; }

  std::size_t depth_ = 0;
  bool is_object_ = false;
  Field field_ = Field::none;
  std::string container_, order_;
  std::optional<std::vector<std::int64_t>> shape_;
  std::string bad_shape_;  ///< why shape_ is wrong
  std::optional<PythonValue> dtype_;
  bool bad_dtype_ = false;
  std::size_t dtype_values_ = 0;
  std::vector<PythonValue> open_;  ///< the lists of the dtype that are not complete
};

bool ArrayTextReader::enter() {
  if (++depth_ > kMaxJsonDepth)
    throw_malformed(fmt::format("Bloscpack metadata: JSON nested deeper than {}", kMaxJsonDepth));
  return true;
}

bool ArrayTextReader::key(string_t& name) {
  if (depth_ != 1) return true;
  field_ = Field::none;
  if (name == "container") field_ = Field::container;
  if (name == "order") field_ = Field::order;
  if (name == "shape") field_ = Field::shape;
  if (name == "dtype") field_ = Field::dtype;
  // If a key occurs several times, the last one counts.
  if (field_ == Field::container) container_.clear();
  if (field_ == Field::order) order_.clear();
  if (field_ == Field::shape) {
    shape_.reset();
    bad_shape_.clear();
  }
  if (field_ == Field::dtype) {
    dtype_.reset();
    bad_dtype_ = false;
  }
  return true;
}

bool ArrayTextReader::start_object(std::size_t /*size*/) {
  if (depth_ == 0) is_object_ = true;
  other_value();
  return enter();
}

bool ArrayTextReader::start_array(std::size_t /*size*/) {
  if (depth_ == 1 && field_ == Field::shape) {
    shape_.emplace();
  } else if (in_field(Field::dtype)) {
    // Old writers stored structured dtypes as nested JSON lists. In Python's notation only the
    // lists of all fields are lists. Fields, names with titles, and shapes are tuples.
    const bool of_fields =
        open_.empty() || (open_.back().kind == PythonKind::tuple && open_.back().items.size() == 1);
    open_.push_back(
        PythonValue::make_sequence(of_fields ? PythonKind::list : PythonKind::tuple, {}));
  } else {
    other_value();
  }
  return enter();
}

bool ArrayTextReader::end_array() {
  leave();
  if (!in_field(Field::dtype)) return true;
  PythonValue list = std::move(open_.back());
  open_.pop_back();
  return add_to_dtype(std::move(list));
}

bool ArrayTextReader::string(string_t& value) {
  if (depth_ == 1 && field_ == Field::container) container_ = value;
  if (depth_ == 1 && field_ == Field::order) order_ = value;
  if (in_field(Field::shape)) bad_shape_ = "a string";
  if (in_field(Field::dtype)) add_to_dtype(PythonValue::make_string(std::move(value)));
  return true;
}

bool ArrayTextReader::number_unsigned(number_unsigned_t value) {
  if (value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    return integer(static_cast<std::int64_t>(value));
  if (in_field(Field::shape)) bad_shape_ = std::to_string(value);
  return other_value();
}

bool ArrayTextReader::integer(std::int64_t value) {
  if (in_field(Field::dtype)) return add_to_dtype(PythonValue::make_integer(value));
  if (!in_field(Field::shape)) return true;
  if (!shape_ || depth_ != 2 || value < 0)
    bad_shape_ = std::to_string(value);
  else if (shape_->size() == kMaxArrayDimensions)
    bad_shape_ = fmt::format("more than {} dimensions", kMaxArrayDimensions);
  else
    shape_->push_back(value);
  return true;
}

bool ArrayTextReader::other_value() {
  if (in_field(Field::shape)) bad_shape_ = "a value that is not a number";
  if (in_field(Field::dtype)) bad_dtype_ = true;
  return true;
}

bool ArrayTextReader::add_to_dtype(PythonValue value) {
  if (++dtype_values_ > kMaxPythonValues)
    throw_malformed(
        fmt::format("Bloscpack metadata: dtype of more than {} values", kMaxPythonValues));
  if (open_.empty())
    dtype_ = std::move(value);
  else
    open_.back().items.push_back(std::move(value));
  return true;
}

bool ArrayTextReader::parse_error(std::size_t /*position*/, const std::string& /*token*/,
                                  const Json::exception& error) {
  throw_malformed(fmt::format("Bloscpack metadata: {}", error.what()));
}

std::string dtype_text(const PythonValue& dtype) {
  if (dtype.is_sequence()) return python_repr(dtype);
  if (!dtype.is_string()) throw_malformed("Bloscpack metadata: dtype is not a string");
  const std::optional<PythonValue> literal = parse_python_literal(dtype.text);
  return literal && literal->is_string() ? literal->text : dtype.text;
}

std::optional<ArrayInfo> ArrayTextReader::take() {
  if (!is_object_ || container_ != "numpy") return std::nullopt;
  if (!dtype_ || bad_dtype_) throw_malformed("Bloscpack metadata: dtype is not a list of fields");
  if (!bad_shape_.empty())
    throw_malformed(fmt::format("Bloscpack metadata: shape has {}", bad_shape_));
  if (!shape_) throw_malformed("Bloscpack metadata: shape is not a list");
  if (order_ != "C" && order_ != "F")
    throw_malformed("Bloscpack metadata: order is neither C nor F");
  ArrayInfo array;
  array.in_order = true;
  array.dtype = dtype_text(*dtype_);
  array.shape = std::move(*shape_);
  array.fortran_order = order_ == "F";
  return array;
}

}  // namespace

std::optional<ArrayInfo> parse_array_text(const std::string& text) {
  ArrayTextReader reader;
  Json::sax_parse(text, &reader);
  return reader.take();
}

}  // namespace bloscfs::frame::inline bloscpack
