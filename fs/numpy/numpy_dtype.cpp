#include "fs/numpy/numpy_dtype.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "fs/numpy/numpy_scalar.hpp"

namespace bloscfs::fs {
namespace {

using frame::PythonKind;
using frame::PythonValue;

/// A type in the form of descr: scalars are a string, structures a list. Sub-arrays also have a
/// shape.
struct Type {
  std::int64_t itemsize = 0;
  std::int64_t alignment = 1;
  PythonValue descr;
  PythonValue stored;  ///< as np.dtype() takes it: structures with gaps are a dict
  std::optional<PythonValue> shape;
};

struct Field {
  PythonValue name;  ///< a string, or a tuple of title and name
  Type type;
  std::int64_t offset = 0;
};

/// How a type is read.
struct Reading {
  bool aligned = false;   ///< structures, and structures inside them, are laid out as in C
  bool is_descr = false;  ///< a descr of a NPY header, where nameless fields are gaps
};
std::optional<Type> type_of(const PythonValue& value, Reading how);

std::int64_t round_up(std::int64_t size, std::int64_t alignment) {
  return (size + alignment - 1) / alignment * alignment;
}

std::optional<Type> scalar_type(std::string_view text) {
  const std::optional<NumpyScalar> scalar = parse_numpy_scalar(text);
  if (!scalar) return std::nullopt;
  Type type;
  type.itemsize = scalar->itemsize;
  type.alignment = scalar->alignment;
  type.descr = type.stored = PythonValue::make_string(scalar->text);
  return type;
}

/// Returns the type of a sub-array of `base` items. With the shape () or 1, returns `base` itself.
std::optional<Type> with_shape(Type base, const PythonValue& shape) {
  // NumPy gives a shape of empty items another meaning: ('S', 5) is S5.
  if (base.itemsize == 0) return std::nullopt;
  PythonValue dims = shape;
  if (shape.is_integer()) {
    if (shape.integer == 1) return base;
    dims = PythonValue::make_sequence(PythonKind::tuple, {shape});
  }
  if (!dims.is_sequence() || dims.items.size() > kNumpyMaxDimensions) return std::nullopt;
  dims.kind = PythonKind::tuple;
  if (dims.items.empty()) return base;
  Type type;
  type.itemsize = base.itemsize;
  type.alignment = base.alignment;
  for (const PythonValue& extent : dims.items) {
    if (!extent.is_integer() || extent.integer < 0 || extent.integer > kNumpyMaxItemsize)
      return std::nullopt;
    type.itemsize *= extent.integer;
    if (type.itemsize > kNumpyMaxItemsize) return std::nullopt;
  }
  const auto shaped = [&](PythonValue& of) {
    if (!base.shape) return std::move(of);
    return PythonValue::make_sequence(PythonKind::tuple, {std::move(of), *base.shape});
  };
  type.descr = shaped(base.descr);
  type.stored = shaped(base.stored);
  type.shape = std::move(dims);
  return type;
}

/// Names and titles, which share one name space.
class NameSet {
 public:
  bool add(const std::string& name) { return names_.insert(name).second; }

 private:
  std::set<std::string> names_;
};

PythonValue titled(const PythonValue& title, std::string name) {
  PythonValue text = PythonValue::make_string(std::move(name));
  return PythonValue::make_sequence(PythonKind::tuple, {title, std::move(text)});
}

/// Returns the name of a field in a list. If the name is empty, makes the name that NumPy would
/// make.
std::optional<PythonValue> listed_name(const PythonValue& value, std::size_t number,
                                       NameSet& names) {
  const bool has_title = value.kind == PythonKind::tuple && value.items.size() == 2;
  const PythonValue& stored = has_title ? value.items[1] : value;
  if (!stored.is_string()) return std::nullopt;
  std::string name = stored.text;
  if (name.empty()) {
    // NumPy would take the title as the name, and then refuse it as a duplicate.
    if (has_title) return std::nullopt;
    name = "f" + std::to_string(number);
  }
  if (!names.add(name)) return std::nullopt;
  if (!has_title) return PythonValue::make_string(std::move(name));
  const PythonValue& title = value.items[0];
  if (!title.is_string() || !names.add(title.text)) return std::nullopt;
  return titled(title, std::move(name));
}

PythonValue list_of(std::vector<PythonValue> items) {
  return PythonValue::make_sequence(PythonKind::list, std::move(items));
}

/// Returns a field in the form of an item of a list of fields.
PythonValue listed(const Field& field, const PythonValue& type) {
  std::vector<PythonValue> parts = {field.name, type};
  if (field.type.shape) parts.push_back(*field.type.shape);
  return PythonValue::make_sequence(PythonKind::tuple, std::move(parts));
}

/// Returns a structure with gaps as str(np.dtype) writes it: a dict of lists. DictReader reads that
/// form.
PythonValue stored_with_gaps(const std::vector<Field>& fields, std::int64_t itemsize) {
  std::vector<PythonValue> names, formats, offsets, titles;
  bool has_titles = false;
  for (const Field& field : fields) {
    const bool is_titled = !field.name.is_string();
    has_titles = has_titles || is_titled;
    names.push_back(is_titled ? field.name.items[1] : field.name);
    titles.push_back(is_titled ? field.name.items[0] : PythonValue());
    formats.push_back(
        field.type.shape
            ? PythonValue::make_sequence(PythonKind::tuple, {field.type.stored, *field.type.shape})
            : field.type.stored);
    offsets.push_back(PythonValue::make_integer(field.offset));
  }
  PythonValue dict;
  dict.kind = PythonKind::dict;
  const auto add = [&](const char* key, PythonValue value) {
    dict.items.push_back(PythonValue::make_string(key));
    dict.items.push_back(std::move(value));
  };
  add("names", list_of(std::move(names)));
  add("formats", list_of(std::move(formats)));
  add("offsets", list_of(std::move(offsets)));
  if (has_titles) add("titles", list_of(std::move(titles)));
  add("itemsize", PythonValue::make_integer(itemsize));
  return dict;
}

/// Returns the type of a structure. As NumPy does, writes gaps as nameless fields in descr, and
/// refuses overlapping fields.
std::optional<Type> structure(const std::vector<Field>& fields, std::int64_t itemsize,
                              std::int64_t alignment) {
  const auto gap = [](std::int64_t size) {
    return PythonValue::make_sequence(PythonKind::tuple,
                                      {PythonValue::make_string(std::string()),
                                       PythonValue::make_string("|V" + std::to_string(size))});
  };
  Type type;
  std::vector<PythonValue> descr, stored;
  std::int64_t end = 0;
  for (const Field& field : fields) {
    if (field.offset < end) return std::nullopt;
    if (field.offset > end) descr.push_back(gap(field.offset - end));
    end = field.offset + field.type.itemsize;
    if (end > kNumpyMaxItemsize) return std::nullopt;
    descr.push_back(listed(field, field.type.descr));
    stored.push_back(listed(field, field.type.stored));
  }
  if (itemsize < end || itemsize > kNumpyMaxItemsize) return std::nullopt;
  if (itemsize > end) descr.push_back(gap(itemsize - end));
  type.itemsize = itemsize;
  type.alignment = alignment;
  type.stored = descr.size() > fields.size() ? stored_with_gaps(fields, itemsize)
                                             : list_of(std::move(stored));
  type.descr = list_of(std::move(descr));
  return type;
}

/// Places fields one behind the other.
class Layout {
 public:
  explicit Layout(bool aligned) : aligned_(aligned) {}

  /// Returns the offset of the next field, which has this type. `given` overrides the offset.
  /// Returns nullopt if that is misaligned or too large.
  std::optional<std::int64_t> place(const Type& type, std::optional<std::int64_t> given) {
    const std::int64_t alignment = aligned_ ? type.alignment : 1;
    const std::int64_t offset = given ? *given : round_up(end_, alignment);
    if (offset % alignment != 0 || offset > kNumpyMaxItemsize) return std::nullopt;
    alignment_ = std::max(alignment_, alignment);
    end_ = offset + type.itemsize;
    return offset;
  }
  std::int64_t itemsize() const { return round_up(end_, alignment_); }
  std::int64_t alignment() const { return alignment_; }

 private:
  bool aligned_;
  std::int64_t end_ = 0;
  std::int64_t alignment_ = 1;
};

/// As in NumPy, a sub-array of plain bytes is a gap as well.
bool is_gap(const PythonValue& name, const Type& type) {
  return name.is_string() && name.text.empty() && type.descr.is_string() &&
         type.descr.text.starts_with("|V");
}

std::optional<Type> list_type(const PythonValue& list, Reading how) {
  NameSet names;
  Layout layout(how.aligned);
  std::vector<Field> fields;
  for (const PythonValue& item : list.items) {
    if (item.kind != PythonKind::tuple || item.items.size() < 2 || item.items.size() > 3)
      return std::nullopt;
    std::optional<Type> type = type_of(item.items[1], how);
    if (type && item.items.size() == 3) type = with_shape(std::move(*type), item.items[2]);
    const auto offset = type ? layout.place(*type, std::nullopt) : std::nullopt;
    if (!offset) return std::nullopt;
    // A gap takes room in the layout, but is no field.
    if (how.is_descr && is_gap(item.items[0], *type)) continue;
    std::optional<PythonValue> name = listed_name(item.items[0], fields.size(), names);
    if (!name) return std::nullopt;
    fields.push_back({std::move(*name), std::move(*type), *offset});
  }
  return structure(fields, layout.itemsize(), layout.alignment());
}

/// Reads a structure with gaps in the form of str(np.dtype): a dict with lists of names, formats,
/// offsets and titles.
class DictReader {
 public:
  DictReader(const PythonValue& dict, Reading how)
      : names_(dict.find("names")),
        formats_(dict.find("formats")),
        offsets_(dict.find("offsets")),
        titles_(dict.find("titles")),
        itemsize_(dict.find("itemsize")),
        how_{how.aligned || is_true(dict.find("aligned")), how.is_descr},
        layout_(how_.aligned) {}

  std::optional<Type> read();

 private:
  static bool is_true(const PythonValue* value) { return value != nullptr && value->integer != 0; }
  bool is_list(const PythonValue* value, bool required) const {
    if (value == nullptr) return !required;
    return value->is_sequence() && value->items.size() == names_->items.size();
  }
  std::optional<PythonValue> read_name(std::size_t i);
  std::optional<Field> read_field(std::size_t i);

  const PythonValue *names_, *formats_, *offsets_, *titles_, *itemsize_;
  Reading how_;
  Layout layout_;
  NameSet seen_;
};

std::optional<PythonValue> DictReader::read_name(std::size_t i) {
  const PythonValue& name = names_->items[i];
  if (!name.is_string() || !seen_.add(name.text)) return std::nullopt;
  if (titles_ == nullptr || titles_->items[i].kind == PythonKind::none) return name;
  const PythonValue& title = titles_->items[i];
  if (!title.is_string() || !seen_.add(title.text)) return std::nullopt;
  return titled(title, name.text);
}

std::optional<Field> DictReader::read_field(std::size_t i) {
  std::optional<PythonValue> name = read_name(i);
  std::optional<Type> type = type_of(formats_->items[i], how_);
  if (!name || !type) return std::nullopt;
  std::optional<std::int64_t> given;
  if (offsets_ != nullptr) {
    if (!offsets_->items[i].is_integer() || offsets_->items[i].integer < 0) return std::nullopt;
    given = offsets_->items[i].integer;
  }
  const std::optional<std::int64_t> offset = layout_.place(*type, given);
  if (!offset) return std::nullopt;
  return Field{std::move(*name), std::move(*type), *offset};
}

std::optional<Type> DictReader::read() {
  if (!is_list(names_, true) || !is_list(formats_, true) || !is_list(offsets_, false) ||
      !is_list(titles_, false))
    return std::nullopt;
  std::vector<Field> fields;
  for (std::size_t i = 0; i < names_->items.size(); ++i) {
    std::optional<Field> field = read_field(i);
    if (!field) return std::nullopt;
    fields.push_back(std::move(*field));
  }
  std::int64_t itemsize = layout_.itemsize();
  if (itemsize_ != nullptr) {
    if (!itemsize_->is_integer() || itemsize_->integer % layout_.alignment() != 0)
      return std::nullopt;
    itemsize = itemsize_->integer;
  }
  return structure(fields, itemsize, layout_.alignment());
}

std::optional<Type> type_of(const PythonValue& value, Reading how) {
  switch (value.kind) {
    case PythonKind::string:
      return scalar_type(value.text);
    case PythonKind::list:
      return list_type(value, how);
    case PythonKind::dict:
      return value.find("names") != nullptr ? DictReader(value, how).read() : std::nullopt;
    // A sub-array: its item type, and its shape.
    case PythonKind::tuple: {
      if (value.items.size() != 2) return std::nullopt;
      std::optional<Type> base = type_of(value.items[0], how);
      return base ? with_shape(std::move(*base), value.items[1]) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

std::optional<NumpyDtype> dtype_of(const PythonValue& literal, Reading how) {
  const std::optional<Type> type = type_of(literal, how);
  // Array items are never sub-arrays: NumPy adds the dimensions of such items to those of the
  // array.
  if (!type || type->shape) return std::nullopt;
  NumpyDtype dtype;
  dtype.itemsize = type->itemsize;
  dtype.descr = frame::python_repr(type->descr);
  dtype.stored = type->stored.is_string() ? type->stored.text : frame::python_repr(type->stored);
  return dtype;
}

}  // namespace

std::optional<NumpyDtype> numpy_dtype_of_descr(const PythonValue& descr) {
  return dtype_of(descr, {.is_descr = true});
}

std::optional<NumpyDtype> parse_numpy_dtype(std::string_view stored) {
  if (stored.empty()) return std::nullopt;
  if (stored[0] != '[' && stored[0] != '{')
    return dtype_of(PythonValue::make_string(std::string(stored)), {});
  const std::optional<PythonValue> literal = frame::parse_python_literal(stored);
  return literal ? dtype_of(*literal, {}) : std::nullopt;
}

}  // namespace bloscfs::fs
