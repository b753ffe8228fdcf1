// b2frame recover: brings back what mounts could not commit before they ended.

#include <chrono>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "fs/mount/ended_mounts.hpp"
#include "fs/source/local/files/kept_files.hpp"
#include "fs/source/local/files/mount_lock.hpp"
#include "fs/source/local/files/mount_users.hpp"
#include "fs/source/local/files/rescue_folder.hpp"
#include "fs/source/local/recovery.hpp"
#include "fs/support/printable.hpp"
#include "tools/b2frame_commands.hpp"
#include "tools/input.hpp"

namespace bloscfs::tools {
namespace {

/// Opens the rescue folder. Returns nullopt if the command line gives none and the default folder
/// does not exist.
std::optional<fs::RescueFolder> rescue_folder(const RecoverOptions& options) {
  const std::string source = std::filesystem::canonical(options.source).string();
  const std::string folder = options.rescue.empty() ? fs::default_rescue_folder() : options.rescue;
  std::error_code unreachable;
  if (options.rescue.empty() && !std::filesystem::exists(folder, unreachable)) return std::nullopt;
  try {
    return fs::RescueFolder(fs::open_rescue_folder(folder, fs::IfMissing::fail), folder, source);
  } catch (const fs::RescueFolderUnsafe& error) {
    throw std::runtime_error(
        error.owner ? fmt::format("{0}: cannot be the rescue folder: {1}; run as that user, for "
                                  "example: sudo -u {2} b2frame recover --rescue {0} {3}",
                                  folder, error.what(), fs::user_name(*error.owner), source)
                    : fmt::format("{}: cannot be the rescue folder: {}; run: {}", folder,
                                  error.what(), error.cure));
  }
}

/// Refuses a SOURCE that another user's lock file stands in: the journal in it is theirs.
void require_own(const fs::MountSource& source, const std::string& path) {
  const auto owner = fs::user_of_lock_file(source.root.get(), source.single);
  if (owner && *owner != ::geteuid())
    throw std::runtime_error(
        fmt::format("cannot recover: the lock file belongs to user {0}; run as that user, for "
                    "example: sudo -u {0} b2frame recover {1}",
                    fs::user_name(*owner), path));
}

/// Returns the kept files that the journal names. Does not wait for the lock: if another process
/// has it, reads the journal without the lock.
std::vector<fs::KeptFile> find_kept(const RecoverOptions& options, const fs::MountSource& source) {
  try {
    fs::MountLock lock(source.root.get(), source.single, std::chrono::seconds(0));
    return lock.journal() != nullptr ? lock.journal()->kept() : std::vector<fs::KeptFile>();
  } catch (const fs::SourceInUse&) {
    return fs::kept_files(std::filesystem::canonical(options.source), ::geteuid());
  }
}

/// Prints which files can be recovered, for --dry-run.
/// Returns false if there are none.
bool tell(const RecoverOptions& options, const fs::MountSource& source) {
  bool has_any = false;
  const auto tell_one = [&](const std::string& path, fs::Loss loss) {
    has_any = true;
    fmt::print("{}: can be recovered{}\n", fs::printable(path), fs::text_of(loss));
  };
  for (const fs::KeptFile& kept : find_kept(options, source)) tell_one(kept.path, kept.loss);
  if (source.rescue)
    for (const auto& rescued : source.rescue->rescued()) tell_one(rescued.path, rescued.loss);
  return has_any;
}

/// `folder` is the rescue folder; empty if the default one does not exist.
void report_nothing(const RecoverOptions& options, const std::string& folder) {
  fmt::print("{}: nothing to recover in it{}{}{}\n", fs::printable(options.source),
             folder.empty() ? "" : " or in ", fs::printable(folder),
             options.rescue.empty()
                 ? "; if it was mounted with rescue=DIR, run again with --rescue DIR"
                 : "");
  if (std::error_code error; std::filesystem::is_empty(options.source, error))
    fmt::print("{}: is empty; if it was the mountpoint, run: b2frame recover SOURCE\n",
               fs::printable(options.source));
}

}  // namespace

int run_recover(const RecoverOptions& options) {
  return guarded(options.source, [&] {
    fs::MountSource source = fs::open_source(options.source, false, false);
    source.rescue = rescue_folder(options);
    const std::string folder = source.rescue ? source.rescue->directory() : std::string();
    require_own(source, options.source);
    if (options.is_dry) {
      if (!tell(options, source)) report_nothing(options, folder);
      return 0;
    }
    fs::MountLock lock(source.root.get(), source.single, fs::kMountLockTimeout,
                       fs::WaitNotice(options.source));
    int status = 0;
    bool has_any = false;
    fs::recover_kept(
        std::move(source), lock.journal(),
        [&](const fs::KeptFile& kept, const std::string& path) {
          has_any = true;
          if (path.empty()) {
            complain(options.source + "/" + kept.path,
                     "cannot recover: the file " + kept.temporary + " does not exist any more");
            status = kExitBadData;
          } else {
            fmt::print("{}: recovered as {}{}\n", fs::printable(kept.path), fs::printable(path),
                       fs::text_of(kept.loss));
            if (kept.loss != fs::Loss::none) status = kExitBadData;
          }
        },
        [&](const std::string& reason) {
          has_any = true;
          complain(options.source, reason);
          status = kExitBadData;
        });
    if (!has_any) report_nothing(options, folder);
    return status;
  });
}

}  // namespace bloscfs::tools
