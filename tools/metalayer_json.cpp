#include "tools/metalayer_json.hpp"

#include <array>

#include "codec/error.hpp"
#include "frame/header/b2nd.hpp"
#include "frame/header/msgpack_json.hpp"

namespace bloscfs::tools {
namespace {

using nlohmann::ordered_json;

constexpr std::array<const char*, 7> kArrayFields{"version", "ndim",         "shape", "chunks",
                                                  "blocks",  "dtype_format", "dtype"};
/// The last two fields may be missing.
constexpr std::size_t kFewestFields = 5;

/// Returns null if the contents do not describe an array.
ordered_json named_fields(const ordered_json& values, codec::Bytes content) {
  ordered_json fields;
  if (values.is_array() && values.size() >= kFewestFields && values.size() <= kArrayFields.size()) {
    for (std::size_t i = 0; i < values.size(); i++) fields[kArrayFields.at(i)] = values[i];
    return fields;
  }
  try {
    // For an array with 16 dimensions, the description is not valid msgpack.
    const frame::ArrayInfo array = frame::parse_b2nd_shapes(content);
    fields = {{"ndim", array.shape.size()},
              {"shape", array.shape},
              {"chunks", array.chunkshape},
              {"blocks", array.blockshape}};
    if (array.dtype) fields["dtype"] = *array.dtype;
  } catch (const codec::Error&) {
  }
  return fields;
}

}  // namespace

nlohmann::ordered_json fixed_metalayer_to_json(std::string_view name, codec::Bytes content) {
  ordered_json value = frame::metalayer_to_json(content);
  if (name != "b2nd" && name != "caterva") return value;
  ordered_json fields = named_fields(value, content);
  return fields.is_null() ? value : fields;
}

}  // namespace bloscfs::tools
