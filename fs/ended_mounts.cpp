#include "fs/ended_mounts.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <thread>

#include "fs/mount_lock.hpp"

namespace bloscfs::fs {
namespace {

namespace filesystem = std::filesystem;

constexpr std::chrono::milliseconds kAskAgain{20};
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
  const auto end = std::chrono::steady_clock::now() + kMountLockPatience;
  std::error_code error;
  // What is waited for may still be without its name.
  for (filesystem::path place = filesystem::weakly_canonical(path, error); !error && !place.empty();
       place = place == place.parent_path() ? "" : place.parent_path()) {
    while (is_locked_by_other(place) && !is_mounted(place) &&
           std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(kAskAgain);
  }
}

}  // namespace bloscfs::fs
