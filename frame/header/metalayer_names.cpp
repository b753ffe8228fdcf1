#include "frame/header/metalayer_names.hpp"

#include <algorithm>
#include <array>

#include "frame/header/cframe_format.hpp"
#include "frame/python/python_indexes.hpp"

namespace bloscfs::frame::inline header {
namespace {

constexpr std::array<std::string_view, 13> kKinds = {
    "b2nd",           "caterva",      kEmbedStoreLayer, "b2dict",    "b2tree",
    "b2remote_store", "vlarray",      "batcharray",     "listarray", "b2o",
    "LazyArray",      "proxy-source", kOrderLayer};

}  // namespace

bool defines_frame_kind(std::string_view metalayer) {
  return std::find(kKinds.begin(), kKinds.end(), metalayer) != kKinds.end();
}

bool is_bound_to_frame(std::string_view vlmetalayer) {
  return vlmetalayer == kChecksumLayerName || vlmetalayer == kArrayIndexesLayer;
}

}  // namespace bloscfs::frame::inline header
