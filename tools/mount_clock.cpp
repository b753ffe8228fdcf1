#include "tools/mount_clock.hpp"

namespace bloscfs::tools {

const frame::Clock& mount_clock() { return frame::system_clock(); }

}  // namespace bloscfs::tools
