#include "fs/sandbox/unmount.hpp"

#include <cerrno>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frame/store/byte_source.hpp"
#include "frame/store/throw_errno.hpp"

namespace bloscfs::fs {
namespace {

/// The result of fusermount3, which unmounts for ordinary users. `status` is that of waitpid(2), or
/// -1 if the program does not exist.
struct HelperEnd {
  int status = -1;
  std::string complaint;
};

std::string read_all(const frame::UniqueFd& file) {
  constexpr std::size_t kMost = 4096;
  std::string text(kMost, '\0');
  std::size_t size = 0;
  while (size < kMost) {
    const ssize_t got = ::read(file.get(), text.data() + size, kMost - size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

/// Runs a program, and returns its status and what it wrote to stderr.
HelperEnd run_helper(std::vector<std::string> words) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) frame::throw_errno("pipe");
  const frame::UniqueFd complaints(ends[0]);
  frame::UniqueFd its_end(ends[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, its_end.get(), STDERR_FILENO);
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t helper = -1;
  const int error =
      ::posix_spawnp(&helper, arguments[0], &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return {};
  its_end.reset();
  HelperEnd end;
  end.complaint = read_all(complaints);
  end.status = wait_for_end_of(helper);
  return end;
}

/// Returns the last line of a message, without its prefix up to the path.
std::string reason_in(std::string complaint, const std::string& point) {
  while (complaint.ends_with('\n')) complaint.pop_back();
  complaint.erase(0, complaint.rfind('\n') + 1);
  const std::size_t named = complaint.find(point + ": ");
  return named == std::string::npos ? complaint : complaint.substr(named + point.size() + 2);
}

}  // namespace

bool unmount_lazily(const std::string& point) {
  return ::umount2(point.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0 ||
         run_helper({"fusermount3", "-u", "-z", "-q", "--", point}).status == 0;
}

void unmount_unused(const std::string& point) {
  if (::umount2(point.c_str(), UMOUNT_NOFOLLOW) == 0) return;
  if (errno != EPERM) frame::throw_errno();
  const HelperEnd end = run_helper({"fusermount3", "-u", "--", point});
  if (end.status == 0) return;
  if (end.status == -1) throw std::runtime_error("fusermount3 is not installed");
  const std::string reason = reason_in(end.complaint, point);
  if (reason == frame::errno_code(EBUSY).message()) frame::throw_errno(EBUSY);
  throw std::runtime_error(reason.empty() ? "fusermount3 could not unmount it" : reason);
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
