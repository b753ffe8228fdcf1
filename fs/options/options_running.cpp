// Changes options of a running mount.

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

#include "fs/options/options.hpp"

namespace bloscfs::fs {
namespace {

/// Options that a running mount can change.
constexpr std::array<std::string_view, 5> kChangedRunning = {"cache_size", "commit", "dirty_limit",
                                                             "idle_timeout", "sync"};

}  // namespace

std::vector<std::string> change_running(const std::vector<std::string>& own,
                                        const std::vector<std::string>& changes) {
  const MountOptions before = parse_options(own);
  std::vector<std::string> changed = own;
  for (const std::string& change : changes) {
    // Ignores an option that the mount already has.
    if (std::find(changed.begin(), changed.end(), change) != changed.end()) continue;
    const std::string name = change.substr(0, change.find('='));
    if (std::find(kChangedRunning.begin(), kChangedRunning.end(), name) == kChangedRunning.end())
      throw std::invalid_argument(fmt::format(
          "option {}: cannot be changed while it is mounted; unmount it, and mount it again",
          name));
    std::erase_if(changed, [&](const std::string& item) { return item.starts_with(name + "="); });
    changed.push_back(change);
  }
  const MountOptions after = parse_options(changed);
  if (after.cache_size < before.cache_size)
    throw std::invalid_argument(
        fmt::format("option cache_size: is {} bytes, and can only grow while it is mounted",
                    before.cache_size));
  return changed;
}

}  // namespace bloscfs::fs
