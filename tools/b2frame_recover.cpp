// b2frame recover: gives names to what mounts could not commit before they ended.

#include <filesystem>

#include <fmt/core.h>

#include "fs/mount_lock.hpp"
#include "fs/printable.hpp"
#include "fs/recovery.hpp"
#include "fs/wait_notice.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/input.hpp"

namespace bloscfs::tools {

int run_recover(const RecoverOptions& options) {
  return guarded(options.source, [&] {
    const fs::MountLock lock(std::filesystem::canonical(options.source), fs::kMountLockPatience,
                             fs::WaitNotice(options.source));
    int status = 0;
    fs::recover_kept(fs::open_source(options.source, false), [&](const fs::KeptFile& kept,
                                                                 const std::string& path) {
      if (path.empty()) {
        complain(options.source + "/" + kept.path, "its kept contents are gone: " + kept.temporary);
        status = kExitBadData;
      } else {
        fmt::print("{}: recovered as {}\n", fs::printable(kept.path), fs::printable(path));
      }
    });
    return status;
  });
}

}  // namespace bloscfs::tools
