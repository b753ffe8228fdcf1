#pragma once
// What frame_editor is asked to do with a frame, as JSON on its command line.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace bloscfs::test {

struct FrameAction {
  /// read: all contents to `file`. slice: `count` items from `start` on to `file`, by lazy reads.
  /// append: the contents of `file` as one chunk. overwrite: items from `start` on by those in
  /// `file`. remove: chunk `start`. duplicate: chunk `count` again, in front of chunk `start`.
  /// layer: vlmetalayer `name` gets the content of `file`. drop_layer: `name` goes.
  std::string action;
  std::string file;
  std::string name;
  std::int64_t start = 0;
  std::int64_t count = 0;
};

struct FrameRequest {
  std::string path;
  std::int64_t nbytes = 0;  ///< most that read has room for
  std::int32_t typesize = 1;
  bool array = false;  ///< read gives the array's items
  std::vector<FrameAction> actions;
  std::vector<std::string> layers;  ///< vlmetalayers to print, name to content in hex
};

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(FrameAction, action, file, name, start, count)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(FrameRequest, path, nbytes, typesize, array,
                                                actions, layers)

}  // namespace bloscfs::test
