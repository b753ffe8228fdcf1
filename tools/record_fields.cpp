#include "tools/record_fields.hpp"

#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/python/python_literal.hpp"
#include "fs/numpy/numpy_dtype.hpp"
#include "fs/numpy/numpy_scalar.hpp"

namespace bloscfs::tools {
namespace {

using frame::PythonKind;
using frame::PythonValue;

constexpr std::size_t kMostFields = 4096;
/// Limit for the bytes of all names together. The names of a sub-array's items repeat the name of
/// the field.
constexpr std::size_t kMostNameBytes = std::size_t{1} << 20;

/// Walks a type as NumPy writes it in NPY headers. There, gaps are fields without a name.
class FieldWalk {
 public:
  void add(const std::string& name, const PythonValue& type) {
    count();
    if (type.is_string()) return add_scalar(name, type.text);
    if (type.kind == PythonKind::tuple) return add_items(name, type.items[0], type.items[1], 0);
    for (const PythonValue& field : type.items) {
      // A field with a title has a pair (title, name) in place of its name.
      const PythonValue& titled = field.items[0];
      const std::string& own = titled.is_string() ? titled.text : titled.items[1].text;
      const std::string full = name.empty() || own.empty() ? own : name + "." + own;
      if (field.items.size() == 3)
        add_items(full, field.items[1], field.items[2], 0);
      else
        add(full, field.items[1]);
    }
  }
  std::vector<RecordField> take() { return std::move(fields_); }

 private:
  void add_scalar(const std::string& name, const std::string& type) {
    const auto size = static_cast<std::size_t>(fs::parse_numpy_scalar(type)->itemsize);
    if (!name.empty()) fields_.push_back({name, type, offset_, size});
    if ((name_bytes_ += name.size()) > kMostNameBytes)
      codec::throw_unsupported(fmt::format("records with names of {} bytes", name_bytes_));
    offset_ += size;
  }
  void add_items(const std::string& name, const PythonValue& type, const PythonValue& shape,
                 std::size_t axis) {
    count();
    if (axis == shape.items.size()) return add(name, type);
    for (std::int64_t i = 0; i < shape.items[axis].integer; i++)
      add_items(name.empty() ? name : fmt::format("{}[{}]", name, i), type, shape, axis + 1);
  }
  /// Counts steps that add no field, too, because a type can repeat gaps and empty sub-arrays
  /// often.
  void count() {
    if (++steps_ > 4 * kMostFields || fields_.size() > kMostFields)
      codec::throw_unsupported(fmt::format("records of more than {} fields", kMostFields));
  }

  std::vector<RecordField> fields_;
  std::size_t offset_ = 0, steps_ = 0, name_bytes_ = 0;
};

}  // namespace

std::optional<std::vector<RecordField>> record_fields(const std::string& dtype) {
  const auto parsed = fs::parse_numpy_dtype(dtype);
  if (!parsed || !parsed->descr.starts_with('[')) return std::nullopt;
  const auto descr = frame::parse_python_literal(parsed->descr);
  if (!descr) return std::nullopt;
  FieldWalk walk;
  walk.add("", *descr);
  return walk.take();
}

ItemText record_text(const std::vector<RecordField>& fields, TextStyle style) {
  return
      [fields, texts = field_texts(fields, style), style](codec::Bytes record, std::string& line) {
        for (std::size_t i = 0; i < fields.size(); i++) {
          if (i > 0) line += style == TextStyle::csv ? ',' : ' ';
          texts[i](fields[i].of(record), line);
        }
      };
}

std::vector<ItemText> field_texts(const std::vector<RecordField>& fields, TextStyle style) {
  std::vector<ItemText> texts;
  for (const RecordField& field : fields) {
    texts.push_back(item_text(field.dtype, style));
    if (!texts.back())
      codec::throw_unsupported(
          fmt::format("cannot print items of {} in field {}", field.dtype, field.name));
  }
  return texts;
}

}  // namespace bloscfs::tools
