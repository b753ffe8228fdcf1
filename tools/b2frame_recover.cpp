// b2frame recover: gives names to what mounts could not commit before they ended.

#include <stdexcept>
#include <utility>

#include <fmt/core.h>

#include "fs/mount/recovery.hpp"
#include "fs/mount/wait_notice.hpp"
#include "fs/source/mount_lock.hpp"
#include "fs/support/printable.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/input.hpp"

namespace bloscfs::tools {

int run_recover(const RecoverOptions& options) {
  return guarded(options.source, [&] {
    fs::MountSource source = fs::open_source(options.source, false, false);
    fs::MountLock lock(source.root.get(), source.single, fs::kMountLockPatience,
                       fs::WaitNotice(options.source));
    if (!lock.displaced().empty()) throw std::runtime_error("only who has mounted it can recover");
    if (lock.journal() == nullptr) return 0;
    int status = 0;
    fs::recover_kept(
        std::move(source), *lock.journal(), [&](const fs::KeptFile& kept, const std::string& path) {
          if (path.empty()) {
            complain(options.source + "/" + kept.path,
                     "its kept contents are gone: " + kept.temporary);
            status = kExitBadData;
          } else {
            fmt::print("{}: recovered as {}\n", fs::printable(kept.path), fs::printable(path));
          }
        });
    return status;
  });
}

}  // namespace bloscfs::tools
