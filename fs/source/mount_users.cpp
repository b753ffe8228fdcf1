#include "fs/source/mount_users.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

namespace bloscfs::fs {
namespace {

namespace filesystem = std::filesystem;

struct Use {
  std::string how, path;
};

/// What a link of /proc leads to; empty where it cannot be told.
std::string target_of(const filesystem::path& link) {
  std::error_code error;
  return filesystem::read_symlink(link, error);
}

bool is_in(const MountEntry& mount, const std::string& path) {
  return path == mount.point || path.starts_with(mount.point + "/");
}

std::optional<Use> use_of_places(const MountEntry& mount, const filesystem::path& process) {
  constexpr std::array<std::pair<const char*, const char*>, 3> kPlaces = {
      {{"cwd", "current directory"}, {"root", "root directory"}, {"exe", "program"}}};
  for (const auto& [link, how] : kPlaces)
    if (std::string path = target_of(process / link); is_in(mount, path)) return Use{how, path};
  return std::nullopt;
}

/// Of an open file; 0 where it cannot be told.
int mount_of(const filesystem::path& description) {
  std::ifstream lines(description);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("mnt_id:")) return std::atoi(line.c_str() + 7);
  return 0;
}

std::optional<Use> use_of_files(const MountEntry& mount, const filesystem::path& process) {
  std::error_code error;
  for (filesystem::directory_iterator entry(process / "fdinfo", error), end; !error && entry != end;
       entry.increment(error))
    if (mount_of(entry->path()) == mount.id)
      return Use{"open file", target_of(process / "fd" / entry->path().filename())};
  return std::nullopt;
}

/// As in /proc/PID/maps: "00:39".
std::string device_in_maps(const MountEntry& mount) {
  unsigned major = 0, minor = 0;
  if (std::sscanf(mount.device.c_str(), "%u:%u", &major, &minor) != 2) return "";
  std::array<char, 2 * 8 + 2> text{};
  std::snprintf(text.data(), text.size(), "%02x:%02x", major, minor);
  return text.data();
}

std::optional<Use> use_of_mappings(const MountEntry& mount, const filesystem::path& process) {
  const std::string device = device_in_maps(mount);
  std::ifstream lines(process / "maps");
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string range, mode, offset, of_device, inode, path;
    fields >> range >> mode >> offset >> of_device >> inode >> std::ws;
    std::getline(fields, path);
    if (of_device == device) return Use{"mapped file", path};
  }
  return std::nullopt;
}

std::optional<MountUser> look_at(const MountEntry& mount, const filesystem::path& process,
                                 pid_t number) {
  auto use = use_of_places(mount, process);
  if (!use) use = use_of_files(mount, process);
  if (!use) use = use_of_mappings(mount, process);
  struct stat st {};
  if (!use || ::stat(process.c_str(), &st) != 0) return std::nullopt;
  std::ifstream name(process / "comm");
  MountUser user{number, st.st_uid, "", use->how, use->path};
  std::getline(name, user.command);
  return user;
}

}  // namespace

std::vector<MountUser> users_of(const MountEntry& mount) {
  std::vector<MountUser> users;
  std::error_code error;
  for (filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    pid_t number = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
    if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size()) continue;
    if (number == ::getpid()) continue;
    if (auto user = look_at(mount, entry->path(), number)) users.push_back(*std::move(user));
  }
  std::sort(users.begin(), users.end(), [](const MountUser& one, const MountUser& other) {
    return one.process < other.process;
  });
  return users;
}

}  // namespace bloscfs::fs
