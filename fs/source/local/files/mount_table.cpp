#include "fs/source/local/files/mount_table.hpp"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>

namespace bloscfs::fs {
namespace {

/// Decodes a field of /proc/PID/mountinfo, in which blanks and similar bytes are octal, such as
/// \040.
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

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words;
  std::istringstream stream(list);
  for (std::string word; std::getline(stream, word, ',');) words.push_back(std::move(word));
  return words;
}

/// Returns the value of a numeric option such as "user_id="; 0 if it is absent.
unsigned number_of(std::string_view name, const std::vector<std::string>& options) {
  unsigned number = 0;
  for (const std::string& option : options)
    if (option.starts_with(name)) {
      const std::string_view value = std::string_view(option).substr(name.size());
      std::from_chars(value.data(), value.data() + value.size(), number);
    }
  return number;
}

/// Returns the absolute path as the mount table has it; empty if it cannot be resolved. Resolves
/// only the parent directory: the mount at the last component may be dead.
std::string name_in_table(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const std::size_t slash = path.rfind('/');
  const std::string name = path.substr(slash + 1);  // the whole path if it has no "/"
  const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  std::error_code error;
  const std::string folder = std::filesystem::canonical(parent, error);
  if (error) return "";
  if (name.empty() || name == "." || name == "..") return std::filesystem::canonical(path, error);
  return (folder == "/" ? folder : folder + "/") + name;
}

}  // namespace

std::vector<MountEntry> mount_table(const std::string& process) {
  std::vector<MountEntry> entries;
  std::ifstream mounts("/proc/" + process + "/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream fields(line);
    std::string parent, root, point, flags, source, separator, options;
    MountEntry entry;
    fields >> entry.id >> parent >> entry.device >> root >> point >> flags;
    while (fields >> separator && separator != "-") continue;  // optional fields
    fields >> entry.type >> source >> options;
    entry.point = unescaped(point);
    entry.source = unescaped(source);
    entry.flags = words_of(flags);
    entry.read_only = !entry.flags.empty() && entry.flags.front() == "ro";
    entry.options = words_of(options);
    entry.user = number_of("user_id=", entry.options);
    entry.group = number_of("group_id=", entry.options);
    entries.push_back(std::move(entry));
  }
  return entries;
}

namespace {

std::optional<MountEntry> last_of_name(const std::string& point) {
  std::optional<MountEntry> found;
  for (MountEntry& entry : mount_table())
    if (entry.point == point) found = std::move(entry);
  return found;
}

}  // namespace

std::optional<MountEntry> mount_at(const std::string& path) {
  if (auto found = last_of_name(name_in_table(path))) return found;
  // Nothing is mounted at the name itself, so it may be a symlink, which cannot be a mount point.
  // Only now is it safe to resolve the path: no dead mount is at that name.
  std::error_code error;
  return last_of_name(std::filesystem::canonical(path, error));
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
    if (entry.type != kMountType || (writable && entry.read_only)) continue;
    std::error_code error;
    if (std::filesystem::equivalent(entry.source, source, error) && !error) return entry;
  }
  return std::nullopt;
}

}  // namespace bloscfs::fs
