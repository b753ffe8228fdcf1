#include "fs/support/caller.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/store/byte_source.hpp"

namespace bloscfs::fs {
namespace {

constexpr std::string_view kGroups = "\nGroups:\t";

/// Returns the whole text of /proc/THREAD/status. It is longer than a page if the thread has
/// hundreds of groups.
std::string status_of(pid_t thread) {
  const std::string path = "/proc/" + std::to_string(thread) + "/status";
  const frame::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> part;
  while (file) {
    const ssize_t size = ::read(file.get(), part.data(), part.size());
    if (size <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(size));
    if (static_cast<std::size_t>(size) < part.size()) break;
  }
  return text;
}

}  // namespace

// Read for each call (4 us), since a process may change its groups at any moment.
std::optional<std::vector<gid_t>> Caller::groups() const {
  if (thread == 0) return std::nullopt;
  const std::string status = status_of(thread);
  const std::size_t begin = status.find(kGroups);
  if (begin == std::string::npos) return std::nullopt;
  const std::size_t numbers = begin + kGroups.size();
  std::vector<gid_t> found;
  const char* at = status.data() + numbers;
  const char* const end = status.data() + status.size();
  for (gid_t one = 0;;) {
    while (at < end && *at == ' ') at++;
    if (at < end && *at == '\n') break;
    const auto [after, error] = std::from_chars(at, end, one);
    if (error != std::errc()) return std::nullopt;
    found.push_back(one);
    at = after;
  }
  return found;
}

bool Caller::is_in(gid_t wanted) const {
  if (group == wanted) return true;
  const auto others = groups();
  return others && std::find(others->begin(), others->end(), wanted) != others->end();
}

mode_t bits_to_drop(mode_t mode, gid_t group, const Caller& caller) {
  if (!S_ISREG(mode)) return 0;
  mode_t dropped = mode & S_ISUID;
  if ((mode & S_ISGID) == 0) return dropped;
  const bool keeps_group_bit = (mode & S_IXGRP) == 0 && (caller.user == 0 || caller.is_in(group));
  return keeps_group_bit ? dropped : dropped | S_ISGID;
}

}  // namespace bloscfs::fs
