#include "fs/options/mount_flags.hpp"

#include <algorithm>
#include <array>

#include <sys/mount.h>

namespace bloscfs::fs {
namespace {

constexpr std::array<MountFlag, 10> kFlags = {{{"ro", "rw", MS_RDONLY},
                                               {"nosuid", "suid", MS_NOSUID},
                                               {"nodev", "dev", MS_NODEV},
                                               {"noexec", "exec", MS_NOEXEC},
                                               {"sync", "async", MS_SYNCHRONOUS},
                                               {"dirsync", "", MS_DIRSYNC},
                                               {"noatime", "atime", MS_NOATIME},
                                               {"nodiratime", "diratime", MS_NODIRATIME},
                                               {"relatime", "norelatime", MS_RELATIME},
                                               {"strictatime", "", MS_STRICTATIME}}};

}  // namespace

const MountFlag* find_mount_flag(std::string_view option) {
  const auto* const found = std::find_if(kFlags.begin(), kFlags.end(), [&](const MountFlag& flag) {
    return option == flag.set || option == flag.cleared;
  });
  return found == kFlags.end() ? nullptr : found;
}

std::vector<std::string> change_flags(std::vector<std::string> words,
                                      const std::vector<std::string>& changes) {
  for (const std::string& change : changes) {
    const MountFlag* const flag = find_mount_flag(change);
    if (flag == nullptr) continue;
    std::erase_if(words, [&](const std::string& word) { return find_mount_flag(word) == flag; });
    words.push_back(change);
  }
  return words;
}

}  // namespace bloscfs::fs
