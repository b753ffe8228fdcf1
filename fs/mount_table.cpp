#include "fs/mount_table.hpp"

#include <cstdio>
#include <fstream>
#include <sstream>

namespace bloscfs::fs {
namespace {

/// Some characters stand in /proc/self/mountinfo as three octal digits.
std::string unescaped(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); at++) {
    unsigned code = 0;
    if (text[at] == '\\' && std::sscanf(text.c_str() + at, "\\%3o", &code) == 1) {
      out += static_cast<char>(code);
      at += 3;
    } else {
      out += text[at];
    }
  }
  return out;
}

std::vector<MountEntry> all_mounts() {
  std::ifstream table("/proc/self/mountinfo");
  std::vector<MountEntry> mounts;
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string id, parent, number, root, place;
    fields >> id >> parent >> number >> root >> place;
    MountEntry mount;
    if (std::sscanf(number.c_str(), "%u:%u", &mount.major, &mount.minor) != 2) continue;
    mount.path = unescaped(place);
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

}  // namespace

std::optional<MountEntry> mount_at(const std::string& path) {
  std::optional<MountEntry> found;
  for (MountEntry& mount : all_mounts())
    if (mount.path == path) found = std::move(mount);
  return found;
}

std::vector<MountEntry> mounts_below(const std::string& path) {
  const std::string inside = path.ends_with('/') ? path : path + "/";
  std::vector<MountEntry> found;
  for (MountEntry& mount : all_mounts())
    if (mount.path.starts_with(inside) && mount.path != inside) found.push_back(std::move(mount));
  return found;
}

}  // namespace bloscfs::fs
