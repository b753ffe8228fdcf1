#pragma once
// A request to frame_editor for one frame, as JSON on its command line.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace bloscfs::test {

struct FrameAction {
  /// Actions:
  /// - read: writes all contents to `file`
  /// - slice: writes `count` items from `start` on to `file`, with lazy reads
  /// - append: adds the contents of `file` as one chunk
  /// - overwrite: replaces items from `start` on by those in `file`
  /// - remove: removes chunk `start`
  /// - duplicate: inserts a copy of chunk `count` before chunk `start`
  /// - layer: sets vlmetalayer `name` to the contents of `file`
  /// - drop_layer: removes vlmetalayer `name`
  std::string action;
  std::string file;
  std::string name;
  std::int64_t start = 0;
  std::int64_t count = 0;
};

struct FrameRequest {
  std::string path;
  std::int64_t nbytes = 0;  ///< the most bytes that read has room for
  std::int32_t typesize = 1;
  bool array = false;  ///< read writes the array's items
  std::vector<FrameAction> actions;
  std::vector<std::string> layers;  ///< vlmetalayers to print, as name and hexadecimal content
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(FrameAction, action, file, name, start, count)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(FrameRequest, path, nbytes, typesize, array,
                                                actions, layers)

}  // namespace bloscfs::test
