#include "frame/header/packed_tensor.hpp"

#include <vector>

#include "frame/header/msgpack_json.hpp"

namespace bloscfs::frame::inline header {
namespace {

using nlohmann::json;

/// Returns the items of a list or a tuple. python-blosc2 stores a tuple as a list that begins with
/// a mark.
std::vector<json> items_of(const json& value) {
  if (!value.is_array()) return {};
  const bool is_tuple = !value.empty() && value.front() == "__tuple__";
  return {value.begin() + (is_tuple ? 1 : 0), value.end()};
}

/// True if `nbytes` is a multiple of the number of items in the shape.
bool fits(const std::vector<std::int64_t>& shape, std::int64_t nbytes) {
  std::int64_t rest = nbytes;
  for (const std::int64_t extent : shape) {
    if (extent == 0) return nbytes == 0;
    if (rest % extent != 0) return false;
    rest /= extent;
  }
  return rest > 0;
}

}  // namespace

std::optional<ArrayInfo> parse_packed_tensor(codec::Bytes content, std::int64_t nbytes) {
  if (content.size() > kMaxPackedTensor) return std::nullopt;
  const auto value = msgpack_to_json(content);
  // The parts are the library that the array came from, its shape, and NumPy's name of its dtype.
  const std::vector<json> parts = value ? items_of(*value) : std::vector<json>();
  if (parts.size() != 3 || !parts[1].is_array() || !parts[2].is_string()) return std::nullopt;
  ArrayInfo array;
  for (const json& extent : items_of(parts[1])) {
    if (!extent.is_number_unsigned() || extent.get<std::uint64_t>() > INT64_MAX)
      return std::nullopt;
    array.shape.push_back(extent.get<std::int64_t>());
  }
  if (!fits(array.shape, nbytes)) return std::nullopt;
  array.dtype = parts[2].get<std::string>();
  array.in_order = true;
  return array;
}

}  // namespace bloscfs::frame::inline header
