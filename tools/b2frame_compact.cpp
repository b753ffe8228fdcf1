// b2frame compact: removes unused space from frames.

#include <algorithm>

#include "tools/b2frame_commands.hpp"
#include "tools/frame_file.hpp"
#include "tools/input.hpp"
#include "tools/progress.hpp"

namespace bloscfs::tools {

int run_compact(const CompactOptions& options) {
  int status = 0;
  Progress total("compact", 0);
  Progress::Summary summary{0};
  for (const std::string& file : options.files)
    status = std::max(status, guarded(file, [&] {
                        edit_frame(file, [&](frame::FrameWriter& writer) {
                          const std::int64_t before = writer.snapshot()->info().stored_bytes();
                          writer.compact();
                          summary.bytes_in += before;
                          summary.bytes_out += writer.snapshot()->info().stored_bytes();
                        });
                        ++summary.files;
                        return 0;
                      }));
  total.finish(summary);
  return status;
}

}  // namespace bloscfs::tools
