#include "fs/source/local/files/mount_users.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace bloscfs::fs {
namespace {

namespace filesystem = std::filesystem;

struct Use {
  std::string how, path;
};

/// Returns the target of a symlink in /proc; empty if it cannot be read.
std::string target_of(const filesystem::path& link) {
  std::error_code error;
  return filesystem::read_symlink(link, error);
}

/// How /proc marks a lock of an open file description.
constexpr const char* kLock = "OFDLCK";

/// True if a descriptor, given by its file in /proc/PID/fdinfo, has such a lock.
bool has_lock(const filesystem::path& description) {
  std::ifstream lines(description);
  for (std::string line; std::getline(lines, line);)
    if (line.find(kLock) != std::string::npos) return true;
  return false;
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

/// Returns a number that describes an open file, from its /proc/PID/fdinfo file; 0 if there is
/// none. `name` is such as "mnt_id:".
int described(const filesystem::path& description, std::string_view name) {
  std::ifstream lines(description);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(name)) return std::atoi(line.c_str() + name.size());
  return 0;
}

/// Returns the first open file of a process whose description, a file in /proc/PID/fdinfo, is
/// `wanted`; empty if there is none.
template <typename Wanted>
std::string descriptor_with(const filesystem::path& process, const Wanted& wanted) {
  std::error_code error;
  for (filesystem::directory_iterator entry(process / "fdinfo", error), end; !error && entry != end;
       entry.increment(error))
    if (wanted(entry->path())) return entry->path().filename();
  return "";
}

/// True if the file is open for writing. Its flags are octal: the last digit is the access mode.
bool is_writer(const filesystem::path& description) {
  const int mode = described(description, "flags:") % 10;
  return mode == O_WRONLY || mode == O_RDWR;
}

std::optional<Use> use_of_files(const MountEntry& mount, const filesystem::path& process) {
  const std::string number = descriptor_with(process, [&](const filesystem::path& description) {
    return described(description, "mnt_id:") == mount.id;
  });
  if (number.empty()) return std::nullopt;
  return Use{"open file", target_of(process / "fd" / number)};
}

/// Returns the device number as /proc/PID/maps writes it: "00:39".
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

filesystem::path folder_of(pid_t process) {
  return filesystem::path("/proc") / std::to_string(process);
}

std::string command_of(pid_t process) {
  std::ifstream name(folder_of(process) / "comm");
  std::string command;
  std::getline(name, command);
  return command;
}

/// Returns the real user of a process; nullopt if /proc does not show it.
std::optional<uid_t> user_of(pid_t process) {
  std::ifstream lines(folder_of(process) / "status");
  uid_t user = 0;
  for (std::string word; lines >> word;)
    if (word == "Uid:" && lines >> user) return user;
  return std::nullopt;
}

/// mount(8) starts the program under the name "mount.bloscfs".
bool is_bloscfs(const std::string& command) {
  return command == "bloscfs" || command == "mount.bloscfs";
}

/// Returns the first use of the mount that /proc shows for the process; nullopt if it shows none.
std::optional<MountUser> look_at(const MountEntry& mount, const filesystem::path& process,
                                 pid_t number) {
  auto use = use_of_places(mount, process);
  if (!use) use = use_of_files(mount, process);
  if (!use) use = use_of_mappings(mount, process);
  struct stat st {};
  if (!use || ::stat(process.c_str(), &st) != 0) return std::nullopt;
  return MountUser{number, st.st_uid, command_of(number), use->how, use->path};
}

/// Returns the PIDs of all processes but the caller, sorted.
std::vector<pid_t> other_processes() {
  std::vector<pid_t> processes;
  std::error_code error;
  for (filesystem::directory_iterator entry("/proc", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    pid_t number = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
    if (parsed.ec == std::errc() && parsed.ptr == name.data() + name.size() && number != ::getpid())
      processes.push_back(number);
  }
  std::sort(processes.begin(), processes.end());
  return processes;
}

}  // namespace

std::vector<MountUser> users_of(const MountEntry& mount) {
  std::vector<MountUser> users;
  for (const pid_t process : other_processes())
    if (auto user = look_at(mount, folder_of(process), process)) users.push_back(*std::move(user));
  return users;
}

std::optional<MountUser> writer_in(const MountEntry& mount) {
  for (const pid_t process : other_processes()) {
    const filesystem::path folder = folder_of(process);
    const std::string number = descriptor_with(folder, [&](const filesystem::path& description) {
      return described(description, "mnt_id:") == mount.id && is_writer(description);
    });
    struct stat st {};
    if (!number.empty() && ::stat(folder.c_str(), &st) == 0)
      return MountUser{process, st.st_uid, command_of(process), "open file",
                       target_of(folder / "fd" / number)};
  }
  return std::nullopt;
}

std::vector<pid_t> lock_holders(const struct stat& file) {
  std::vector<pid_t> holders, unseen;
  for (const pid_t process : other_processes()) {
    const filesystem::path folder = folder_of(process);
    const std::string number = descriptor_with(folder, [&](const filesystem::path& description) {
      struct stat st {};
      const auto opened = folder / "fd" / description.filename();
      return ::stat(opened.c_str(), &st) == 0 && st.st_dev == file.st_dev &&
             st.st_ino == file.st_ino && has_lock(description);
    });
    if (!number.empty()) holders.push_back(process);
    // A daemon forbids its own user to look at its descriptors.
    if (::access((folder / "fd").c_str(), R_OK) != 0 && is_bloscfs(command_of(process)) &&
        user_of(process) == ::geteuid())
      unseen.push_back(process);
  }
  return holders.empty() ? unseen : holders;
}

bool is_unlocked_here(const struct stat& file) {
  std::ifstream lines("/proc/locks");
  if (!lines) return false;
  // Only the inode's number is compared: the device may differ from that of stat(2), as on btrfs.
  const std::string inode = ":" + std::to_string(file.st_ino) + " ";
  for (std::string line; std::getline(lines, line);)
    if (line.find(kLock) != std::string::npos && line.find(inode) != std::string::npos)
      return false;
  return true;
}

std::string user_name(uid_t user) {
  const passwd* const entry = ::getpwuid(user);
  return entry != nullptr ? entry->pw_name : std::to_string(user);
}

std::vector<MountUser> holders_of(const MountEntry& mount) {
  std::vector<MountUser> holders;
  std::set<std::string> seen{target_of("/proc/self/ns/mnt")};
  for (const pid_t process : other_processes()) {
    struct stat st {};
    const std::string name_space = target_of(folder_of(process) / "ns/mnt");
    if (name_space.empty() || ::stat(folder_of(process).c_str(), &st) != 0) continue;
    std::string command = command_of(process);
    if (is_bloscfs(command) || !seen.insert(name_space).second) continue;
    const auto table = mount_table(std::to_string(process));
    // The kernel reuses device numbers: in another namespace, the same number may be a younger
    // mount.
    if (std::any_of(table.begin(), table.end(), [&](const MountEntry& entry) {
          return entry.device == mount.device && entry.type == mount.type &&
                 entry.source == mount.source;
        }))
      holders.push_back({process, st.st_uid, std::move(command), "", ""});
  }
  return holders;
}

std::optional<pid_t> daemon_of(const MountEntry& mount) {
  // The minor device number of a FUSE mount is the number of its connection.
  const int connection = std::atoi(mount.device.substr(mount.device.find(':') + 1).c_str());
  for (const pid_t process : other_processes())
    if (connection != 0 && may_serve(mount, process) &&
        !descriptor_with(folder_of(process), [&](const filesystem::path& description) {
           return described(description, "fuse_connection:") == connection;
         }).empty())
      return process;
  return std::nullopt;
}

bool may_serve(const MountEntry& mount, pid_t process) {
  return is_bloscfs(command_of(process)) && user_of(process) == mount.user;
}

}  // namespace bloscfs::fs
