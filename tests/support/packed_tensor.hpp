#pragma once
// Makes frames as save_tensor() of python-blosc2 writes them.

#include <nlohmann/json.hpp>

#include "tests/support/frame_writer.hpp"

namespace bloscfs::test {

/// Returns a cut with the vlmetalayer of a tensor. `shape` and `dtype` may have any value, also an
/// invalid one.
inline Cut tensor_cut(const nlohmann::json& shape, const nlohmann::json& dtype) {
  nlohmann::json tuple = {"__tuple__"};
  for (const auto& extent : shape) tuple.push_back(extent);
  Cut cut;
  cut.vlmetalayers = {{"__pack_tensor__", nlohmann::json::to_msgpack(nlohmann::json::array(
                                              {"__tuple__", "numpy", tuple, dtype}))}};
  return cut;
}

inline ByteVector tensor_frame(const ByteVector& contents, const nlohmann::json& shape,
                               const nlohmann::json& dtype) {
  return flat_frame(contents, tensor_cut(shape, dtype));
}

}  // namespace bloscfs::test
