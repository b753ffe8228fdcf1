// b2frame compact: rewrites frames without the space that no chunk uses.

#include <algorithm>

#include "tools/b2frame_commands.hpp"
#include "tools/frame_file.hpp"
#include "tools/input.hpp"

namespace bloscfs::tools {

int run_compact(const CompactOptions& options) {
  int status = 0;
  for (const std::string& file : options.files)
    status = std::max(status, guarded(file, [&] {
                        edit_frame(file, [](frame::FrameWriter& writer) { writer.compact(); });
                        return 0;
                      }));
  return status;
}

}  // namespace bloscfs::tools
