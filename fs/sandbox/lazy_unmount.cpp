#include "fs/sandbox/lazy_unmount.hpp"

#include <array>
#include <cerrno>

#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bloscfs::fs {
namespace {

/// The way for ordinary users.
bool unmount_by_helper(const std::string& point) {
  std::string words[] = {"fusermount3", "-u", "-z", "-q", "--", point};
  std::array<char*, std::size(words) + 1> arguments{};
  for (std::size_t i = 0; i < std::size(words); i++) arguments[i] = words[i].data();
  pid_t helper = -1;
  return ::posix_spawnp(&helper, arguments[0], nullptr, nullptr, arguments.data(), environ) == 0 &&
         wait_for_end_of(helper) == 0;
}

}  // namespace

bool unmount_lazily(const std::string& point) {
  return ::umount2(point.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0 || unmount_by_helper(point);
}

int wait_for_end_of(int process) {
  int status = 0;
  pid_t ended = -1;
  do {
    ended = ::waitpid(process, &status, 0);
  } while (ended < 0 && errno == EINTR);
  return ended == process ? status : -1;
}

}  // namespace bloscfs::fs
