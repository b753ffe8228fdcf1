#include "fs/source/mount_table.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace bloscfs::fs {
namespace {

/// A field of /proc/self/mountinfo, which has blanks and the like as \040.
std::string unescaped(const std::string& field) {
  std::string text;
  for (std::size_t at = 0; at < field.size(); ++at) {
    if (field[at] == '\\' && at + 3 < field.size()) {
      text.push_back(static_cast<char>(std::stoi(field.substr(at + 1, 3), nullptr, 8)));
      at += 3;
    } else {
      text.push_back(field[at]);
    }
  }
  return text;
}

}  // namespace

std::vector<MountEntry> mount_table() {
  std::vector<MountEntry> entries;
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string id, parent, root, point, options, source, separator;
    MountEntry entry;
    fields >> id >> parent >> entry.device >> root >> point >> options;
    while (fields >> separator && separator != "-") continue;  // optional fields
    fields >> entry.type >> source;
    entry.point = unescaped(point);
    entry.source = unescaped(source);
    entry.read_only = options == "ro" || options.starts_with("ro,");
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<std::string> mount_points_below(const std::string& directory) {
  const std::string inside = directory.ends_with('/') ? directory : directory + "/";
  std::vector<std::string> points;
  for (const MountEntry& entry : mount_table())
    if (entry.point.starts_with(inside) && entry.point != inside)
      points.push_back(entry.point.substr(inside.size()));
  return points;
}

std::optional<MountEntry> find_bloscfs_mount(const std::string& source, bool writable) {
  for (const MountEntry& entry : mount_table()) {
    if (entry.type != "fuse.bloscfs" || (writable && entry.read_only)) continue;
    std::error_code error;
    if (std::filesystem::equivalent(entry.source, source, error) && !error) return entry;
  }
  return std::nullopt;
}

}  // namespace bloscfs::fs
