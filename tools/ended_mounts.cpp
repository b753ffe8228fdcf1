#include "tools/ended_mounts.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>

#include "fs/mount_lock.hpp"

namespace bloscfs::tools {
namespace {

namespace filesystem = std::filesystem;

constexpr std::chrono::milliseconds kPoll{20};
constexpr std::string_view kMountType = " - fuse.bloscfs ";

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

bool is_mounted(const filesystem::path& source) {
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    const std::size_t found = line.find(kMountType);
    if (found == std::string::npos) continue;
    std::string name;
    std::istringstream(line.substr(found + kMountType.size())) >> name;
    std::error_code error;
    if (filesystem::equivalent(unescaped(name), source, error) && !error) return true;
  }
  return false;
}

}  // namespace

void wait_for_ended_mounts(const std::string& path) {
  const auto end = std::chrono::steady_clock::now() + fs::kMountLockPatience;
  std::error_code error;
  for (filesystem::path place = filesystem::canonical(path, error); !error && !place.empty();
       place = place == place.parent_path() ? "" : place.parent_path()) {
    while (fs::is_locked_by_other(place) && !is_mounted(place) &&
           std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(kPoll);
  }
}

}  // namespace bloscfs::tools
