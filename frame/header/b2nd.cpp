#include "frame/header/b2nd.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include <boost/endian/conversion.hpp>
#include <fmt/core.h>

#include "codec/error.hpp"
#include "frame/header/cframe_format.hpp"
#include "frame/python/python_literal.hpp"

namespace bloscfs::frame::inline header {
namespace {

using codec::throw_malformed;

/// Reads the fields of a b2nd metalayer by position. A msgpack parser would fail: the marker of 16
/// extents is 0x90 + 16, which is that of a string in msgpack.
class MetalayerCursor {
 public:
  explicit MetalayerCursor(codec::Bytes bytes) : rest_(bytes) {}

  bool at_end() const { return rest_.empty(); }

  codec::Bytes take(std::size_t size, const char* field) {
    if (rest_.size() < size)
      throw_malformed(fmt::format("b2nd metalayer, {}: {} bytes needed, {} are left", field, size,
                                  rest_.size()));
    const codec::Bytes bytes = rest_.first(size);
    rest_ = rest_.subspan(size);
    return bytes;
  }

  void expect(std::uint8_t marker, const char* field) {
    const std::uint8_t found = take(1, field)[0];
    if (found != marker)
      throw_malformed(fmt::format("b2nd metalayer, {}: marker {:#04x} instead of {:#04x}", field,
                                  found, marker));
  }

  template <typename Int>
  std::vector<Int> take_extents(int count, const char* field) {
    expect(static_cast<std::uint8_t>(0x90 + count), field);
    std::vector<Int> extents;
    for (int i = 0; i < count; ++i) {
      expect(sizeof(Int) == 8 ? kMsgpackInt64 : kMsgpackInt32, field);
      extents.push_back(boost::endian::endian_load<Int, sizeof(Int), boost::endian::order::big>(
          take(sizeof(Int), field).data()));
      if (extents.back() < 0)
        throw_malformed(fmt::format("b2nd metalayer, {}[{}]: {}", field, i, extents.back()));
    }
    return extents;
  }

 private:
  codec::Bytes rest_;
};

/// Returns nullopt for a dtype that is not in NumPy's format, or too long to parse.
std::optional<std::string> take_dtype(MetalayerCursor& cursor) {
  constexpr std::uint8_t kNumpyFormat = 0;
  const std::uint8_t format = cursor.take(1, "dtype format")[0];
  cursor.expect(kMsgpackStr32, "dtype");
  const auto size = boost::endian::load_big_u32(cursor.take(4, "dtype length").data());
  const codec::Bytes text = cursor.take(size, "dtype");
  if (format != kNumpyFormat || size > kMaxPythonLiteral) return std::nullopt;
  return std::string(text.begin(), text.end());
}

/// Returns a * b for factors >= 0. Throws if the product is greater than `limit`.
std::int64_t multiply(std::int64_t a, std::int64_t b, std::int64_t limit, const char* what) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product) || product > limit)
    throw_malformed(fmt::format("b2nd metalayer, {}: {} * {} > {}", what, a, b, limit));
  return product;
}

bool is_empty(const ArrayInfo& array) {
  return std::find(array.shape.begin(), array.shape.end(), 0) != array.shape.end();
}

/// Throws Error for zeros in chunkshape or blockshape that would be divisors. An array without
/// elements may have zeros.
void check_extents(const ArrayInfo& array) {
  const bool empty = is_empty(array);
  for (std::size_t i = 0; i < array.shape.size(); ++i) {
    if (array.blockshape[i] == 0 && array.chunkshape[i] != 0)
      throw_malformed(
          fmt::format("b2nd metalayer, blockshape[{}]: 0 in chunks of {}", i, array.chunkshape[i]));
    if (array.chunkshape[i] == 0 && !empty)
      throw_malformed(fmt::format("b2nd metalayer, chunkshape[{}]: 0", i));
  }
}

void check_against_frame(const ArrayInfo& array, const FrameInfo& frame) {
  const auto compare = [](const char* field, std::int64_t implied, std::int64_t found) {
    if (implied != found)
      throw_malformed(fmt::format("b2nd metalayer: shapes imply a {} of {}, the frame has {}",
                                  field, implied, found));
  };
  if (is_empty(array)) return compare("uncompressed_size", 0, frame.nbytes);
  const ArraySizes implied = array_sizes(array, frame.typesize);
  compare("chunksize", implied.chunksize, frame.chunksize);
  compare("blocksize", implied.blocksize, frame.blocksize);
  compare("uncompressed_size", implied.nbytes, frame.nbytes);
}

template <typename Int>
void put_extents(std::vector<std::uint8_t>& out, const std::vector<Int>& extents) {
  out.push_back(static_cast<std::uint8_t>(0x90 + extents.size()));
  for (const Int extent : extents) {
    out.push_back(sizeof(Int) == 8 ? kMsgpackInt64 : kMsgpackInt32);
    out.resize(out.size() + sizeof(Int));
    boost::endian::endian_store<Int, sizeof(Int), boost::endian::order::big>(
        &out[out.size() - sizeof(Int)], extent);
  }
}

}  // namespace

ArraySizes array_sizes(const ArrayInfo& array, std::int32_t typesize) {
  constexpr std::int64_t kMax32 = std::numeric_limits<std::int32_t>::max();
  constexpr std::int64_t kMax64 = std::numeric_limits<std::int64_t>::max();
  std::int64_t chunk = typesize, block = typesize, chunks = 1, items = 1, padded = 1;
  for (std::size_t i = 0; i < array.shape.size(); ++i) {
    const std::int64_t c = array.chunkshape[i], b = array.blockshape[i];
    if (b <= 0 || c <= 0)
      throw_malformed(
          fmt::format("b2nd metalayer: chunkshape[{0}] {1}, blockshape[{0}] {2}", i, c, b));
    const std::int64_t along = codec::ceil_div(array.shape[i], c);
    items = multiply(items, array.shape[i], kMax64, "shape");
    padded = multiply(padded, multiply(along, c, kMax64, "padded shape"), kMax64, "padded shape");
    chunks = multiply(chunks, along, kMax64, "number of chunks");
    chunk = multiply(chunk, codec::ceil_div(c, b) * b, kMax32, "padded chunk bytes");
    block = multiply(block, b, kMax32, "block bytes");
  }
  // Only checks that the size without padding does not overflow.
  multiply(items, typesize, kMax64, "array bytes");
  return {chunk, block, multiply(chunks, chunk, kMax64, "padded array bytes")};
}

std::vector<std::uint8_t> serialize_b2nd(const ArrayInfo& array) {
  constexpr std::uint8_t kFields = 0x97, kVersion = 0, kNumpyFormat = 0;
  std::vector<std::uint8_t> out{kFields, kVersion, static_cast<std::uint8_t>(array.shape.size())};
  put_extents(out, array.shape);
  put_extents(out, array.chunkshape);
  put_extents(out, array.blockshape);
  if (!array.dtype) return out;
  out.insert(out.end(), {kNumpyFormat, kMsgpackStr32, 0, 0, 0, 0});
  boost::endian::store_big_u32(&out[out.size() - 4],
                               static_cast<std::uint32_t>(array.dtype->size()));
  out.insert(out.end(), array.dtype->begin(), array.dtype->end());
  return out;
}

ArrayInfo parse_b2nd_shapes(codec::Bytes metalayer) {
  MetalayerCursor cursor(metalayer);
  cursor.take(2, "array marker and version");
  const int dimensions = cursor.take(1, "number of dimensions")[0];
  if (dimensions > static_cast<int>(kMaxB2ndDimensions))
    throw_malformed(fmt::format("b2nd metalayer: {} dimensions > {}", dimensions,
                                static_cast<int>(kMaxB2ndDimensions)));
  ArrayInfo array;
  array.shape = cursor.take_extents<std::int64_t>(dimensions, "shape");
  array.chunkshape = cursor.take_extents<std::int32_t>(dimensions, "chunkshape");
  array.blockshape = cursor.take_extents<std::int32_t>(dimensions, "blockshape");
  if (!cursor.at_end()) array.dtype = take_dtype(cursor);
  check_extents(array);
  return array;
}

ArrayInfo parse_b2nd(codec::Bytes metalayer, const FrameInfo& frame) {
  ArrayInfo array = parse_b2nd_shapes(metalayer);
  check_against_frame(array, frame);
  return array;
}

}  // namespace bloscfs::frame::inline header
