#pragma once
// The flags that every filesystem has, as options of mount(8).

#include <string>
#include <string_view>
#include <vector>

namespace bloscfs::fs {

struct MountFlag {
  std::string_view set, cleared;  ///< the options of mount(8)
  unsigned long bit;              ///< of mount(2)
};

/// Returns the flag that an option sets or clears; null if it does neither.
const MountFlag* find_mount_flag(std::string_view option);

/// Returns the options `words` after a remount with the options `changes`: of these, the flags that
/// every filesystem has replace their opposites.
std::vector<std::string> change_flags(std::vector<std::string> words,
                                      const std::vector<std::string>& changes);

}  // namespace bloscfs::fs
