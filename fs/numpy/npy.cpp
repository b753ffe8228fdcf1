#include "fs/numpy/npy.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <boost/endian/conversion.hpp>
#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/python/utf8.hpp"
#include "fs/numpy/numpy_scalar.hpp"

namespace bloscfs::fs {
namespace {

using codec::throw_malformed;
using frame::PythonKind;
using frame::PythonValue;

constexpr std::uint8_t kMagic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
constexpr std::size_t kVersion1Prefix = 10;  ///< magic, version, length of 2 bytes
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kMaxVersion1Text = 65535;
/// NumPy pads the dimension that may grow to this many digits. So the header keeps its size when
/// rows are appended.
constexpr std::size_t kGrowthDigits = 21;

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::vector<PythonValue> items;
  items.reserve(shape.size());
  for (const std::int64_t extent : shape) items.push_back(PythonValue::make_integer(extent));
  return frame::python_repr(PythonValue::make_sequence(PythonKind::tuple, std::move(items)));
}

std::optional<std::string> latin1_from_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::optional<char32_t> code_point = frame::take_code_point(text);
    if (!code_point || *code_point > 0xFF) return std::nullopt;
    out.push_back(static_cast<char>(*code_point));
  }
  return out;
}

std::string utf8_from_latin1(codec::Bytes bytes) {
  std::string out;
  for (const std::uint8_t byte : bytes) frame::append_utf8(out, byte);
  return out;
}

bool parse_fortran_order(const PythonValue* value) {
  if (value == nullptr || value->kind != PythonKind::boolean)
    throw_malformed("NPY header: fortran_order is not True or False");
  return value->integer != 0;
}

std::vector<std::int64_t> parse_shape(const PythonValue* value) {
  if (value == nullptr || value->kind != PythonKind::tuple)
    throw_malformed("NPY header: shape is not a tuple");
  if (value->items.size() > kNumpyMaxDimensions)
    throw_malformed(fmt::format("NPY header: shape has {} dimensions", value->items.size()));
  std::vector<std::int64_t> shape;
  for (const PythonValue& extent : value->items) {
    if (!extent.is_integer() || extent.integer < 0)
      throw_malformed("NPY header: shape has " + frame::python_repr(extent));
    shape.push_back(extent.integer);
  }
  return shape;
}

NumpyDtype parse_descr(const PythonValue* value) {
  if (value == nullptr) throw_malformed("NPY header: has no descr");
  std::optional<NumpyDtype> dtype = numpy_dtype_of_descr(*value);
  if (!dtype && value->is_string() && value->text == "|O")
    codec::throw_unsupported(
        "NPY file of Python objects (dtype object, |O), which an array cannot have");
  if (!dtype) codec::throw_unsupported("NPY header: descr " + frame::python_repr(*value));
  return std::move(*dtype);
}

PythonValue parse_dict(codec::Bytes file, std::size_t header_size) {
  // file[6] is the version. Version 1 has a length of 2 bytes, versions 2 and 3 have one of 4.
  const bool latin1 = file[6] < 3;
  const codec::Bytes bytes = file.first(header_size).subspan(file[6] == 1 ? kVersion1Prefix : 12);
  const std::string text =
      latin1 ? utf8_from_latin1(bytes) : std::string(bytes.begin(), bytes.end());
  std::optional<PythonValue> dict = frame::parse_python_literal(text);
  if (!dict || dict->kind != PythonKind::dict)
    throw_malformed(fmt::format("NPY header: is not a dict, in its {} bytes", bytes.size()));
  // `items` has keys and values: three of each.
  if (dict->items.size() != 6)
    throw_malformed("NPY header: has keys other than descr, fortran_order and shape");
  return std::move(*dict);
}

}  // namespace

std::optional<std::vector<std::uint8_t>> build_npy_header(std::string_view descr,
                                                          bool fortran_order,
                                                          const std::vector<std::int64_t>& shape) {
  std::string text = fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}", descr,
                                 fortran_order ? "True" : "False", shape_text(shape));
  if (!shape.empty()) {
    const std::size_t digits = std::to_string(fortran_order ? shape.back() : shape.front()).size();
    text.append(kGrowthDigits - std::min(digits, kGrowthDigits), ' ');
  }
  std::optional<std::string> latin1 = latin1_from_utf8(text);
  if (!latin1) return std::nullopt;
  // As in NumPy, a header that is aligned already gets 64 blanks more.
  latin1->append(kAlignment - (kVersion1Prefix + latin1->size() + 1) % kAlignment, ' ');
  latin1->push_back('\n');
  if (latin1->size() > kMaxVersion1Text) return std::nullopt;
  std::vector<std::uint8_t> header(kVersion1Prefix + latin1->size());
  std::copy(std::begin(kMagic), std::end(kMagic), header.begin());
  header[6] = 1;
  boost::endian::store_little_u16(&header[8], static_cast<std::uint16_t>(latin1->size()));
  std::copy(latin1->begin(), latin1->end(), header.begin() + kVersion1Prefix);
  return header;
}

bool is_fortran_only(const std::vector<std::int64_t>& shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return false;
  return std::count_if(shape.begin(), shape.end(), [](std::int64_t n) { return n > 1; }) > 1;
}

std::optional<std::int64_t> array_nbytes(const std::vector<std::int64_t>& shape,
                                         std::int64_t itemsize) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t nbytes = itemsize;
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(nbytes, extent, &nbytes)) return std::nullopt;
  }
  return nbytes;
}

std::optional<std::size_t> npy_header_size(codec::Bytes prefix) {
  if (prefix.size() < kNpyPrefix ||
      !std::equal(std::begin(kMagic), std::end(kMagic), prefix.begin()))
    return std::nullopt;
  const std::uint8_t version = prefix[6];
  if (version < 1 || version > 3 || prefix[7] != 0) return std::nullopt;
  const std::size_t text_size = version == 1 ? boost::endian::load_little_u16(&prefix[8])
                                             : boost::endian::load_little_u32(&prefix[8]);
  if (text_size > frame::kMaxPythonLiteral) return std::nullopt;
  return text_size + (version == 1 ? kVersion1Prefix : kVersion1Prefix + 2);
}

NpyHeader parse_npy_header(codec::Bytes file) {
  const std::optional<std::size_t> size = npy_header_size(file);
  if (!size) throw_malformed("NPY header: does not begin as that of versions 1.0 to 3.0");
  if (*size > file.size())
    throw_malformed(fmt::format("NPY header: ends at {}, the file at {}", *size, file.size()));
  const PythonValue dict = parse_dict(file, *size);
  NpyHeader header;
  header.header_size = *size;
  header.dtype = parse_descr(dict.find("descr"));
  header.fortran_order = parse_fortran_order(dict.find("fortran_order"));
  header.shape = parse_shape(dict.find("shape"));
  const std::optional<std::int64_t> nbytes = array_nbytes(header.shape, header.dtype.itemsize);
  if (!nbytes) throw_malformed("NPY header: shape " + shape_text(header.shape) + " overflows");
  header.nbytes = *nbytes;
  return header;
}

std::optional<std::vector<std::uint8_t>> npy_view(const frame::FrameInfo& info) {
  if (!info.array || !info.array->dtype) return std::nullopt;
  const frame::ArrayInfo& array = *info.array;
  const std::optional<NumpyDtype> dtype = parse_numpy_dtype(*array.dtype);
  if (!dtype || dtype->itemsize == 0 || array.shape.size() > kNumpyMaxDimensions)
    return std::nullopt;
  const std::optional<std::int64_t> nbytes = array_nbytes(array.shape, dtype->itemsize);
  if (!nbytes) return std::nullopt;
  // The container of an array that is not stored in blocks may know no item size. Such an array has
  // no padding, so compare the size of its contents.
  const bool agrees =
      info.has_blocked_array() ? dtype->itemsize == info.typesize : *nbytes == info.nbytes;
  if (!agrees) return std::nullopt;
  const bool fortran_order = array.fortran_order && is_fortran_only(array.shape);
  return build_npy_header(dtype->descr, fortran_order, array.shape);
}

}  // namespace bloscfs::fs
