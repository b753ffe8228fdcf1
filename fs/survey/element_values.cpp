#include "fs/survey/element_values.hpp"

#include <cmath>
#include <limits>

#include <boost/endian/conversion.hpp>

#include "fs/numpy/numpy_scalar.hpp"

namespace bloscfs::fs {
namespace {

template <typename Number, boost::endian::order kOrder>
double load(const std::uint8_t* bytes) {
  return static_cast<double>(boost::endian::endian_load<Number, sizeof(Number), kOrder>(bytes));
}

/// Loads an IEEE 754 number of 16 bits, which C++ has no type for.
template <boost::endian::order kOrder>
double load_half(const std::uint8_t* bytes) {
  const std::uint16_t bits = boost::endian::endian_load<std::uint16_t, 2, kOrder>(bytes);
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  double value = 0;
  if (exponent == 31)
    value = fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                          : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    value = std::ldexp(fraction, -24);
  else
    value = std::ldexp(fraction + 1024, exponent - 25);
  return (bits >> 15) != 0 ? -value : value;
}

template <typename Number, boost::endian::order kOrder>
double load_magnitude(const std::uint8_t* bytes) {
  return std::hypot(load<Number, kOrder>(bytes), load<Number, kOrder>(bytes + sizeof(Number)));
}

using Loader = double (*)(const std::uint8_t*);

/// Returns the loader for a NumPy kind and size, such as "f8"; null for types that are no numbers.
template <boost::endian::order kOrder>
Loader find_loader(std::string_view type) {
  if (type == "b1" || type == "u1") return load<std::uint8_t, kOrder>;
  if (type == "u2") return load<std::uint16_t, kOrder>;
  if (type == "u4") return load<std::uint32_t, kOrder>;
  if (type == "u8") return load<std::uint64_t, kOrder>;
  if (type == "i1") return load<std::int8_t, kOrder>;
  if (type == "i2") return load<std::int16_t, kOrder>;
  if (type == "i4") return load<std::int32_t, kOrder>;
  if (type == "i8") return load<std::int64_t, kOrder>;
  if (type == "f2") return load_half<kOrder>;
  if (type == "f4") return load<float, kOrder>;
  if (type == "f8") return load<double, kOrder>;
  if (type == "c8") return load_magnitude<float, kOrder>;
  if (type == "c16") return load_magnitude<double, kOrder>;
  return nullptr;
}

}  // namespace

std::optional<ElementValues> ElementValues::of(std::string_view dtype) {
  const auto scalar = parse_numpy_scalar(dtype);
  if (!scalar || scalar->text.size() < 3) return std::nullopt;
  const bool is_big = scalar->text[0] == '>';
  const std::string_view type = std::string_view(scalar->text).substr(1);
  const Loader loader = is_big ? find_loader<boost::endian::order::big>(type)
                               : find_loader<boost::endian::order::little>(type);
  if (loader == nullptr) return std::nullopt;
  ElementValues values;
  values.read_ = loader;
  values.itemsize_ = scalar->itemsize;
  values.is_complex_ = type[0] == 'c';
  return values;
}

}  // namespace bloscfs::fs
